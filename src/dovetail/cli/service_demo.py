"""The last scene of the demonstration: a service, two analysts, a price, a race, the public record."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from .terminal import say

if TYPE_CHECKING:
    from rich.console import Console

_BUDGET, _ALLOTMENT, _PRICE, _CLIENTS = "0.8", "0.5", "0.1", 8


def show_service(screen: Console, folder: Path) -> None:
    """Start a service on the Adult data, let two analysts ask, and stop it."""
    from dovetail import datasets
    from dovetail.privacy import Budget
    from dovetail.service.background import background
    from dovetail.service.settings import DeclaredDataset, Settings

    source = datasets.adult()
    assert source.schema is not None
    about = {"title": "Adult census", "public": True}
    declared = DeclaredDataset(
        "adult", {"shipped": "adult"}, Budget.pure(_BUDGET), source.schema, about=about
    )
    settings = Settings(str(folder / "service.ledger"), datasets=(declared,), log_requests=False)
    with background(settings) as start:
        _title(screen, "A service: analysts ask over HTTP and never hold a row")
        say(screen, "address  ", start.address, "dim")
        say(
            screen,
            "budget   ",
            f"epsilon {_BUDGET} for all together; ann and bob may spend {_ALLOTMENT} each",
            "dim",
        )
        keys = [_analyst(start.address, str(start.key), name) for name in ("ann", "bob")]
        _price_and_answer(screen, start.address, keys[0])
        _race(screen, start.address, keys)
        _record(screen, start.address)
    say(screen, "stopped  ", f"its ledger stays: dovetail ledger verify {settings.ledger}", "dim")


def _analyst(address: str, curator: str, name: str) -> str:
    person = _send(address, "/v1/analysts", curator, {"name": name}, f"add {name}")[1]["id"]
    grant = {"person": person, "dataset": "adult", "allotment": {"epsilon": _ALLOTMENT}}
    _send(address, "/v1/grants", curator, grant, f"grant {name}")
    return str(_send(address, "/v1/keys", curator, {"person": person}, f"key {name}")[1]["key"])


def _price_and_answer(screen: Console, address: str, key: str) -> None:
    _title(screen, "Ann asks for the price, then for the answer")
    body = {"question": {"ask": "histogram", "columns": ["sex"]}, "pay": {"within": 20}}
    quote = _send(address, "/v1/datasets/adult/quotes", key, body)[1]
    say(screen, "price    ", quote["text"]["cost"], "dim")
    say(screen, "error    ", quote["text"]["error"], "dim")
    given = _send(address, "/v1/datasets/adult/answers", key, body | {"quote": quote["digest"]}, "ann 1")[1]
    for row in given["answers"][0]["rows"]:
        say(
            screen,
            "answer   ",
            f"{row['keys']['sex']}: {row['value']}, from {row['low']} to {row['high']}",
            "dim",
        )
    same = given["price"] == quote["price"]
    say(
        screen,
        "charged  ",
        f"epsilon {given['price']['epsilon']}, {'as quoted' if same else 'NOT as quoted'}",
        "dim",
    )


def _race(screen: Console, address: str, keys: list[str]) -> None:
    """Let both ask for more than is left, at the same time."""
    _title(screen, f"{2 * _CLIENTS} requests at once, of epsilon {_PRICE} each")

    def ask(number: int) -> tuple[int, Any]:
        body = {
            "question": {"ask": "count", "where": f"age > {number}"},
            "pay": {"spend": {"epsilon": _PRICE}},
        }
        return _send(address, "/v1/datasets/adult/answers", keys[number % 2], body, f"race {number}")

    with ThreadPoolExecutor(_CLIENTS) as pool:
        replies = list(pool.map(ask, range(2 * _CLIENTS)))
    answered = sum(status == 200 for status, _ in replies)
    say(
        screen,
        "answered ",
        f"{answered}, and {len(replies) - answered} refused; nothing was spent for those",
        "dim",
    )
    refused = next(said for status, said in replies if status != 200)
    say(screen, "refusal  ", refused["detail"], "bold red")


def _record(screen: Console, address: str) -> None:
    _title(screen, "The public record, which needs no key")
    said = _send(address, "/v1/record?dataset=adult")[1]
    say(screen, "protects ", said["protects"], "dim")
    say(screen, "spent    ", f"epsilon {said['spent']['epsilon']} of {_BUDGET}", "dim")
    say(screen, "releases ", f"{len(said['releases'])}, each with its noise and its price", "dim")


def _send(
    address: str, path: str, key: str | None = None, body: Any = None, once: str | None = None
) -> tuple[int, Any]:
    """Send a request; return its status and what the reply says."""
    headers = {"Content-Type": "application/json"}
    headers |= {} if key is None else {"Authorization": f"Bearer {key}"}
    headers |= {} if once is None else {"Idempotency-Key": once}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(address + path, data, headers), timeout=60) as reply:
            return reply.status, json.loads(reply.read())
    except HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def _title(screen: Console, text: str) -> None:
    screen.print()
    screen.print(text, style="bold cyan")

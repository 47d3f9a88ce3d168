"""Kill processes of a service under load, again and again, and hold what is left against what was shown.

In each cycle new analysts want more than the budget has left. Something is killed at a random moment. When
all requests have ended, whatever is still reserved on record was hit between reservation and answer: nobody
works on it any more. Then every client sends again, under the same key, what got no final reply.
"""

from __future__ import annotations

import json
import os
import random
import signal
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic, sleep
from typing import Any

import httpx2
from sqlalchemy import select

from dovetail.ledger import Ledger
from dovetail.ledger.schema import events, requests
from dovetail.privacy import Budget
from running_service import PATIENCE, Running, analyst

PRICE = Fraction("0.01")
CLIENTS, ANALYSTS, WANTED = 32, 2, 16
# What two analysts may spend together is less than both want, and less than both were allotted.
ALLOTTED, ADDED = 13 * PRICE, 22 * PRICE
# The kill comes after so many replies, and up to so many seconds later.
EARLIEST, LATEST, DELAY = 1, 14, 0.05


@dataclass
class Question:
    """One request of an analyst, which is sent until it has a final reply."""

    key: str
    name: str
    where: str
    statuses: list[int] = field(default_factory=list)
    reply: dict[str, Any] | None = None

    @property
    def body(self) -> dict[str, Any]:
        question = {"ask": "histogram", "columns": ["sex", "income"], "where": self.where}
        return {"question": question, "pay": {"spend": {"epsilon": str(float(PRICE))}}}

    @property
    def final(self) -> bool:
        return bool(self.statuses) and self.statuses[-1] in (200, 409)


class Campaign:
    """What was killed, and what it hit."""

    def __init__(self, service: Running, ledger: str, seed: int = 1, timeout: float = 60) -> None:
        self.service, self.place, self.curator = service, ledger, service.key
        self.random, self.cap = random.Random(seed), Fraction(0)
        self.kills = self.hits = self.taken_over = 0
        self.statuses: Counter[int] = Counter()
        self.recovery: list[float] = []
        self._number = len(service.workers)
        limits = httpx2.Limits(max_connections=CLIENTS)
        self._http = httpx2.Client(base_url=service.address, timeout=timeout, limits=limits)

    def cycle(self, kill: Callable[[], None], then: Callable[[], None] | None = None) -> int:
        """Load the service, kill something on the way, and check everything; return how many it hit.

        Where nothing was killed, `then` undoes what was done, after every question has its reply. A worker
        that still works may settle by itself what clients no longer wait for: that is no hit.
        """
        wanted = self._questions()
        due, delay = self.random.randint(EARLIEST, LATEST), self.random.uniform(0, DELAY)
        with ThreadPoolExecutor(CLIENTS) as pool:
            waiting = [pool.submit(self._ask, question) for question in wanted]
            for number, done in enumerate(as_completed(waiting), 1):
                done.result()
                if number == due:
                    sleep(delay)
                    kill()
        self.kills += 1
        self._recover()
        hit = self._reserved()
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(self._insist, wanted))
        if then is not None:
            then()
        taken_over = self._check(wanted)
        hit = hit if then is None else hit & taken_over
        assert hit <= taken_over
        self.hits += bool(hit)
        return len(hit)

    def kill_a_worker(self) -> None:
        """Kill one process that answers, or now and then all of them."""
        workers = self.service.workers
        for each in workers if self.random.random() < 0.1 else [self.random.choice(workers)]:
            os.kill(each, signal.SIGKILL)

    def end(self) -> None:
        """Stop the service."""
        self._http.close()
        self.service.stop()

    def _recover(self) -> None:
        """Wait, and do nothing else, until the service is whole again."""
        begun = monotonic()
        self.service.wait()
        while len(self.service.workers) < self._number:
            assert self.service.process.poll() is None
            assert monotonic() < begun + PATIENCE
            sleep(0.05)
        self.recovery.append(monotonic() - begun)

    def _questions(self) -> list[Question]:
        """Raise the budget a little, add analysts, and return what they want to know, in random order."""
        self.cap += ADDED
        with Ledger.open(self.place) as ledger:
            _set_budget(ledger, self.cap)
        keys = [analyst(self.service, self.curator, str(float(ALLOTTED))) for _ in range(ANALYSTS)]
        found = [
            Question(key, f"{self.kills}-{number}", f"age >= {17 + number}")
            for key in keys
            for number in range(WANTED)
        ]
        self.random.shuffle(found)
        return found

    def _ask(self, question: Question) -> None:
        headers = {"Authorization": f"Bearer {question.key}", "Idempotency-Key": question.name}
        try:
            reply = self._http.post("/v1/datasets/adult/answers", json=question.body, headers=headers)
        except httpx2.TransportError:
            # The connection ended with the process.
            question.statuses.append(0)
            return
        question.statuses.append(reply.status_code)
        assert reply.status_code in (200, 202, 409, 503), reply.text
        if reply.status_code == 200:
            said = reply.json()
            assert question.reply is None or _lasting(said) == _lasting(question.reply)
            question.reply = question.reply or said
        elif reply.status_code == 409:
            assert reply.json()["code"] == "budget-exceeded", reply.text

    def _insist(self, question: Question) -> None:
        """Send it again until there is a final reply, as a client does."""
        until = monotonic() + PATIENCE
        while not question.final:
            assert monotonic() < until, question
            self._ask(question)
            if not question.final:
                sleep(0.3)
        # Whoever has an answer gets the same one again.
        if question.reply is not None:
            self._ask(question)
            assert question.statuses[-1] in (0, 200, 503)

    def _reserved(self) -> set[int]:
        """Return what the record holds reserved and not answered."""
        with Ledger.open(self.place) as ledger, ledger.reading() as connection:
            query = select(requests.c.id).where(requests.c.state == "reserved")
            return {row.id for row in connection.execute(query)}

    def _check(self, wanted: list[Question]) -> set[int]:
        """Hold the record against the budget and against every reply; return what was taken over."""
        with Ledger.open(self.place) as ledger:
            ledger.verify()
            with ledger.reading() as connection:
                rows = connection.execute(select(events).order_by(events.c.sequence)).all()
                open_now = connection.execute(select(requests).where(requests.c.state == "reserved")).all()
        assert open_now == []
        record = Record.read(rows)
        # As much was wanted as there is: the budget is spent to its last unit, and not beyond.
        assert record.total == self.cap
        assert all(spent <= ALLOTTED for spent in record.by_person.values())
        assert record.charges == len(record.keys), "a key that was paid twice"
        for question in wanted:
            self.statuses.update(question.statuses)
            if question.reply is None:
                continue
            shown = question.reply["answers"][0]["released"]
            assert record.answers[question.reply["id"]] == [[list(map(int, cell)) for cell in shown]]
            assert Fraction(question.reply["price"]["epsilon"]) == PRICE
        assert len([each for each in wanted if each.reply]) == ADDED / PRICE
        self.taken_over = len(record.taken_over)
        return record.taken_over


@dataclass
class Record:
    """What the events of a ledger say, read by themselves."""

    total: Fraction = Fraction(0)
    charges: int = 0
    by_person: Counter[int] = field(default_factory=Counter)
    keys: set[tuple[int, str]] = field(default_factory=set)
    answers: dict[str, Any] = field(default_factory=dict)
    taken_over: set[int] = field(default_factory=set)

    @classmethod
    def read(cls, rows: Any) -> Record:
        """Add up the events."""
        made, public = cls(), dict[int, str]()
        for row in rows:
            content = json.loads(row.content)
            if row.kind == "reservation":
                charge = Fraction(content["charge"]["epsilon"], 10**9)
                made.total += charge
                made.charges += 1
                made.by_person[content["by"]] += charge  # type: ignore[assignment]
                made.keys.add((content["by"], content["key"]))
                public[row.sequence] = content["public"]
            elif row.kind == "answer":
                assert public[content["request"]] not in made.answers, "two answers to one request"
                made.answers[public[content["request"]]] = json.loads(content["answer"])["cells"]
            elif row.kind == "attempt":
                made.taken_over.add(content["request"])
        return made


def _lasting(reply: dict[str, Any]) -> str:
    """Return what every reply under one key has in common, as it was written."""
    changes = ("stored", "remaining", "versioned")
    return json.dumps(
        [
            {name: value for name, value in part.items() if name not in (*changes, "answers")}
            for part in (reply, *reply["answers"])
        ]
    )


def _set_budget(ledger: Ledger, epsilon: Fraction) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ledger.set_budget("adult", Budget.pure(epsilon))

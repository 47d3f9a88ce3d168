"""`dovetail ledger` for people: analysts, keys, grants, and what each dataset lets them see."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dovetail.cli.budget_syntax import read_budget
from dovetail.cli.ledger_options import Dataset, Place, only_dataset, open_ledger
from dovetail.cli.options import Csv, Table, examples
from dovetail.cli.terminal import note, printable, say, stdout
from dovetail.cli.terminal import table as rows_of
from dovetail.errors import InvalidParameter, InvalidQuery

if TYPE_CHECKING:
    from dovetail.ledger import AnalystStatement

Person: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="A person in the ledger.")]
Expiry: TypeAlias = Annotated[
    str | None, typer.Option(metavar="DATE", help="Until when: 2027-01-31, or with a time, in UTC.")
]


class Role(StrEnum):
    """What somebody may do."""

    CURATOR = "curator"
    ANALYST = "analyst"
    AUDITOR = "auditor"


class Answers(StrEnum):
    """Whose stored answers are given again."""

    SHARED = "shared"
    OWN = "own"


class Access(StrEnum):
    """Who may ask."""

    ANYONE = "anyone"
    GRANTED = "granted"


def add_to(group: typer.Typer) -> None:
    """Add the commands."""
    group.command(
        epilog=examples(
            "dovetail ledger statements clinic.ledger",
            "dovetail ledger statements clinic.ledger --csv > statements.csv",
        )
    )(statements)
    group.command(
        epilog=examples(
            "dovetail ledger analysts clinic.ledger",
            "dovetail ledger analysts clinic.ledger --add ann --address ann@example.org",
            "dovetail ledger analysts clinic.ledger --erase ann",
        )
    )(analysts)
    group.command(
        epilog=examples("dovetail ledger keys clinic.ledger", "dovetail ledger keys clinic.ledger --new ann")
    )(keys)
    group.command(epilog=examples("dovetail ledger grant clinic.ledger ann --allotment epsilon=0.5"))(grant)
    group.command(
        epilog=examples(
            "dovetail ledger revoke clinic.ledger --grant ann",
            "dovetail ledger revoke clinic.ledger --key ID",
        )
    )(revoke)
    group.command(epilog=examples("dovetail ledger policy clinic.ledger --answers own --access granted"))(
        policy
    )


def analysts(
    place: Place,
    add: Annotated[str | None, typer.Option(metavar="NAME", help="Add somebody.")] = None,
    role: Annotated[
        Role | None, typer.Option(help="With --add, what they may do; analyst if left out.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --add, where to reach them.")
    ] = None,
    erase: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Remove a name and address for good; the record keeps a number."),
    ] = None,
    table: Table = None,
) -> None:
    """List the people in the ledger, add somebody, or erase a name."""
    if add is None and (role is not None or address is not None):
        raise InvalidQuery("--role and --address belong to --add.", "Add --add NAME, or leave them out.")
    with open_ledger(place, table) as book:
        if add is not None:
            book.people.add(add, (role or Role.ANALYST).value, address=address)
        if erase is not None:
            book.people.erase(erase)
        shown = rows_of("no.", "name", "role", "address")
        for each in book.people.all():
            shown.add_row(str(each.id), printable(str(each)), each.role, printable(each.address or ""))
        stdout().print(shown)


def statements(place: Place, dataset: Dataset = None, as_csv: Csv = False, table: Table = None) -> None:
    """Show what each analyst asked, was charged and may still spend."""
    from dovetail.answers.csv_format import csv_text

    with open_ledger(place, table) as book:
        listed = book.statements(dataset)
    if as_csv:
        typer.echo(csv_text([_STATEMENT, *map(_line, listed)]), nl=False)
        return
    for each in listed:
        analyst, dataset, answered, failed, unanswered, plans, charged, allotment, rest, latest = _line(each)
        counts = f"{answered} answered, {failed} failed, {unanswered} without an answer, {plans} plans"
        say(
            stdout(), printable(f"{analyst} "), f"about {dataset}: {counts}; last {latest or 'never'}", "bold"
        )
        say(stdout(), "  charged  ", charged, "")
        if allotment:
            say(stdout(), "  remains  ", f"{rest} of {allotment}", "")


_STATEMENT = (
    *("analyst", "dataset", "answered", "failed", "without an answer", "plans", "charged", "allotment"),
    *("remains", "last (UTC)"),
)


def _line(each: AnalystStatement) -> list[str]:
    return [
        each.analyst,
        each.dataset,
        *map(str, (each.answered, each.failed, each.unanswered, each.plans)),
        str(each.charged),
        "" if each.allotment is None else str(each.allotment),
        "" if each.remaining is None else str(each.remaining),
        each.latest[:16].replace("T", " "),
    ]


def keys(
    place: Place,
    new: Annotated[str | None, typer.Option(metavar="NAME", help="Make a key for somebody.")] = None,
    expires: Expiry = None,
    table: Table = None,
) -> None:
    """List the keys, or make one: it is printed once and stored nowhere."""
    if new is None and expires is not None:
        raise InvalidQuery("--expires belongs to --new.", "Add --new NAME, or leave it out.")
    with open_ledger(place, table) as book:
        if new is not None:
            typer.echo(book.people.make_key(new, expires=_moment(expires)).text)
            note("Copy it now: it is not shown again.")
            return
        people, known = {each.id: str(each) for each in book.people.all()}, book.people.keys()
        shown = rows_of("id", "of", "until (UTC)", "state")
        for key in known:
            until = "" if key.expires is None else f"{key.expires.astimezone(UTC):%Y-%m-%d %H:%M}"
            shown.add_row(
                key.public, printable(people[key.principal]), until, "revoked" if key.revoked else ""
            )
        stdout().print(shown)


def grant(
    place: Place,
    name: Person,
    allotment: Annotated[
        str,
        typer.Option(
            metavar="LIMIT", help="What they may spend, of the same kind as the budget: epsilon=0.5."
        ),
    ],
    dataset: Dataset = None,
    expires: Expiry = None,
    table: Table = None,
) -> None:
    """Let somebody ask about a dataset, up to an allotment, or change that allotment."""
    limit = read_budget(allotment)
    with open_ledger(place, table) as book:
        about = dataset or only_dataset(book)
        book.people.grant(name, about, limit, expires=_moment(expires))
        stdout().print(printable(f"{name} may ask about {about}: {limit}."))


def revoke(
    place: Place,
    key: Annotated[str | None, typer.Option(metavar="ID", help="The id of a key.")] = None,
    granted: Annotated[str | None, typer.Option("--grant", metavar="NAME", help="Whose grant.")] = None,
    dataset: Dataset = None,
    table: Table = None,
) -> None:
    """Revoke a key or a grant, from the next request on."""
    if (key is None) == (granted is None):
        raise InvalidQuery("One thing is revoked at a time.", "Add --key ID or --grant NAME.")
    if key is not None and dataset is not None:
        raise InvalidQuery("A key is for every dataset.", "Leave --dataset out, or add --grant NAME.")
    with open_ledger(place, table) as book:
        if key is not None:
            book.people.revoke_key(key)
            stdout().print(printable(f"The key {key} is revoked."))
        elif granted is not None:
            about = dataset or only_dataset(book)
            book.people.revoke_grant(granted, about)
            stdout().print(
                printable(f"{granted} may no longer ask about {about}. What was spent stays counted.")
            )


def policy(
    place: Place,
    dataset: Dataset = None,
    answers: Annotated[
        Answers | None,
        typer.Option(help="Which stored answers an analyst gets: everyone's, or only their own."),
    ] = None,
    access: Annotated[Access | None, typer.Option(help="Who may ask: anyone, or only with a grant.")] = None,
    table: Table = None,
) -> None:
    """Set who may ask about a dataset, and whose stored answers they get."""
    if answers is None and access is None:
        raise InvalidQuery("No policy was given.", "Add --answers or --access.")
    with open_ledger(place, table) as book:
        about = dataset or only_dataset(book)
        book.set_policy(
            about,
            answers=None if answers is None else answers.value,
            access=None if access is None else access.value,
        )
        said = [
            f"{word} {value.value}" for word, value in (("answers", answers), ("access", access)) if value
        ]
        stdout().print(printable(f"The policy of {about}: {', '.join(said)}."))


def _moment(text: str | None) -> datetime | None:
    """Read a date, or a date and a time, in UTC unless it says otherwise."""
    if text is None:
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidParameter("expires", text, "a date such as 2027-01-31") from None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)

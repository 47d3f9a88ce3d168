"""`dovetail serve`: let analysts ask over HTTP."""

from __future__ import annotations

import gc
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli import USUAL_COLLECTION
from dovetail.cli import options as o
from dovetail.cli.budget_syntax import read_budget
from dovetail.cli.data_arguments import ledger_of, read_source, shipped
from dovetail.cli.error_words import option
from dovetail.cli.options import examples
from dovetail.cli.terminal import stdout
from dovetail.errors import DataError, InvalidParameter

if TYPE_CHECKING:
    from dovetail.engines import Source
    from dovetail.service.server import Start
    from dovetail.service.settings import Settings

Data = Annotated[
    str | None, typer.Argument(metavar="[DATA]", help="A file, a folder, postgresql://..., or adult.")
]
Config = Annotated[Path | None, typer.Option(metavar="FILE", help="The settings of a service, in TOML.")]
Host = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Where to listen; 127.0.0.1 if left out.")]
Port = Annotated[int | None, typer.Option(help="The port; 8321 if left out, 0 for any.")]
Certificate = Annotated[Path | None, typer.Option("--tls-certificate", metavar="FILE", help="For HTTPS.")]
CertificateKey = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="For HTTPS.")]
Proxy = Annotated[bool, typer.Option("--behind-proxy", help="A proxy in front of the service handles HTTPS.")]
Workers = Annotated[int | None, typer.Option(help="The number of worker processes.")]
MetricsPort = Annotated[int | None, typer.Option(help="A port for monitoring metrics.")]
Roots = Annotated[
    list[Path] | None,
    typer.Option("--data-root", metavar="FOLDER", help="Curators may add data from here. May be repeated."),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="NAME", help="Another name of this service. May be repeated."),
]
Browser = Annotated[
    bool | None, typer.Option("--open/--no-open", help="Open the console in a browser, or do not.")
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "dovetail serve adult --budget epsilon=1",
            "dovetail serve people.csv --budget epsilon=1,delta=1e-6",
            "dovetail serve --config service.toml",
        )
    )(serve)


def serve(
    data: Data = None,
    config: Config = None,
    budget: o.Budget = None,
    ledger: o.LedgerFile = None,
    schema: o.SchemaFile = None,
    name: o.Name = None,
    table: o.Table = None,
    unit: o.Unit = None,
    max_rows: o.MaxRows = None,
    max_cells: o.MaxCells = None,
    neighbours: o.Neighbours = o.Neighbour.ADD_REMOVE,
    host: Host = None,
    port: Port = None,
    tls_certificate: Certificate = None,
    tls_key: CertificateKey = None,
    behind_proxy: Proxy = False,
    workers: Workers = None,
    metrics_port: MetricsPort = None,
    data_root: Roots = None,
    allow_host: Names = None,
    browser: Browser = None,
) -> None:
    """Let analysts ask over HTTP, each with a key and an allotment.

    The first time it prints a key for the curator, who adds analysts and grants in the console.
    """
    from dovetail.service.server import serve as run

    # A service lives long enough to leave garbage.
    gc.set_threshold(*USUAL_COLLECTION)
    over: dict[str, Any] = {"host": host, "port": port, "workers": workers, "metrics_port": metrics_port}
    over |= {"tls_certificate": tls_certificate, "tls_key": tls_key, "behind_proxy": behind_proxy or None}
    over |= {"hosts": None if allow_host is None else tuple(allow_host)}
    over |= {"data_roots": None if data_root is None else _roots(data_root)}
    given = {key: value for key, value in over.items() if value is not None}
    named = {
        "unit": unit,
        "max_rows": _whole("max_rows", max_rows),
        "max_cells": _whole("max_cells", max_cells),
    }
    if config is not None:
        places = {"DATA": data, "ledger": ledger, "schema": schema, "name": name, "table": table}
        _check_alone(config, {**places, "budget": budget, **named}, neighbours)
        reread = partial(from_file, config, given)
        run(reread(), partial(_tell, browser=browser), reread)
        return
    if data is None:
        raise InvalidParameter("data", None, "given, or a configuration", "For example: dovetail serve adult")
    source = read_source(data, schema, name, table)
    limit = None if budget is None else read_budget(budget)
    declared: dict[str, Any] = {**named, "neighbours": str(neighbours), "budget": limit}
    settings = from_words(data, source, str(ledger or ledger_of(source)), declared, given)
    waiting = None if settings.first is None else settings.first.name
    run(settings, partial(_tell, browser=browser, waiting=waiting))


def _roots(folders: list[Path]) -> dict[str, Path]:
    """Return the data roots by the names under which curators see them."""
    roots: dict[str, Path] = {}
    for folder in folders:
        path = folder.resolve()
        if not path.is_dir():
            raise DataError(f"{folder} is not a folder.")
        if roots.setdefault(path.name, path) != path:
            raise InvalidParameter(
                "data_root",
                str(folder),
                "another folder by its name",
                "A configuration can name each of them.",
            )
    return roots


def _check_alone(config: Path, given: dict[str, Any], neighbours: o.Neighbour) -> None:
    """Refuse what is said about data beside a configuration, which says it of each dataset."""
    said = [name for name, value in given.items() if value is not None]
    said += ["neighbours"] if neighbours != o.Neighbour.ADD_REMOVE else []
    if said:
        words = (name if name == "DATA" else option(name) for name in said)
        allowed = f"given without {' and '.join(words)}: it says that of each dataset"
        raise InvalidParameter("config", str(config), allowed)


def from_file(config: Path, given: dict[str, Any]) -> Settings:
    """Return the settings of a configuration file."""
    from dovetail.service.config_file import read_settings

    return read_settings(config, **given)


def from_words(
    data: str, source: Source, ledger: str, declared: dict[str, Any], given: dict[str, Any]
) -> Settings:
    """Return the settings of a service on one source.

    Where nothing is declared about its columns, they are confirmed in the console before anything is served.
    """
    from dovetail.engines.source import is_address
    from dovetail.service.settings import DeclaredDataset, Settings, UnpublishedSource

    connections: dict[str, str] = {}
    if shipped(data):
        place: dict[str, Any] = {"shipped": source.name}
    elif is_address(data):
        # The address may hold a password: the ledger gets the name of the connection only.
        connections["command line"] = data
        place = {"connection": "command line", "table": source.table}
    else:
        place = {"path": str(Path(data).resolve())} | ({"table": source.table} if source.table else {})
    if source.schema is None:
        for name in ("unit", "max_rows", "max_cells"):
            if declared[name] is not None:
                allowed = "left out where there is no schema yet: the console asks whom the data protect"
                raise InvalidParameter(name, declared[name], allowed)
        if "path" in place:
            # A root that is this file, or folder, alone: nothing beside it can be served.
            path = Path(place["path"])
            given = given | {"data_roots": {**given.get("data_roots", {}), path.name: path}}
            place |= {"root": path.name, "path": "."}
        first = UnpublishedSource(source.name, place, declared["budget"])
        return Settings(ledger, first=first, connections=connections, **given)
    made = DeclaredDataset(source.name, place, schema=source.schema, **declared)
    return Settings(ledger, datasets=(made,), connections=connections, **given)


def _whole(name: str, value: Any) -> int | None:
    from dovetail.check import integer

    return None if value is None else integer(name, value, low=1)


def _tell(start: Start, browser: bool | None, waiting: str | None = None) -> None:
    """Say where the service is and, the first time, how its curator gets in and what waits for a schema."""
    screen = stdout()
    page = start.address if start.code is None else f"{start.address}/#code={start.code}"
    screen.print(f"Dovetail serves at {start.address}. Stop it with Ctrl-C.", soft_wrap=True, highlight=False)
    if start.key is not None:
        screen.print(f"Console      {page}", soft_wrap=True, highlight=False)
        screen.print("             It signs the curator in once, within 15 minutes.", soft_wrap=True)
        screen.print(f"Curator key  {start.key}", soft_wrap=True, highlight=False)
        screen.print("             Keep it: it is shown only now.", soft_wrap=True)
        if waiting is not None:
            todo = f"{waiting} has no schema yet. Confirm its columns in the console; then analysts can ask."
            screen.print(f"Next         {todo}", soft_wrap=True, highlight=False, markup=False)
    screen.file.flush()
    if browser or (browser is None and screen.is_terminal):
        import webbrowser

        webbrowser.open(page)

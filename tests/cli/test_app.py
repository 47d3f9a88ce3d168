"""The frame: help, version, exit codes, streams, and no traceback unless it is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dovetail
from dovetail.cli.app import app
from dovetail.cli.error_report import exit_code, report, worded
from dovetail.errors import BudgetExceeded, DataError, InvalidParameter, LedgerBusy, MissingPrice

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(dovetail.__file__).parents[1])}


def python(*words: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dovetail", *words]
    environment = ENVIRONMENT | more
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=cwd, env=environment)


def test_the_module_runs_as_a_program(tmp_path: Path) -> None:
    done = python("version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"dovetail {dovetail.__version__}\n")


def test_an_error_is_one_line_and_a_hint_on_stderr(tmp_path: Path) -> None:
    done = python("noise", "geometric:nan", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: epsilon='nan' must be a finite number")
    assert second.startswith("Hint:")


def test_debug_shows_where_an_error_came_from(tmp_path: Path) -> None:
    assert "Traceback" in python("--debug", "noise", "geometric:nan", cwd=tmp_path).stderr
    spoken = python("noise", "geometric:nan", cwd=tmp_path, DOVETAIL_DEBUG="1")
    assert "Traceback" in spoken.stderr


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m dovetail noise geometric:1 | true"
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT
    )
    assert done.stderr == ""


def test_a_stream_without_unicode_gets_question_marks_not_a_crash(tmp_path: Path) -> None:
    done = python("noise", "geometric:1", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_help_and_version_load_nothing_heavy() -> None:
    code = (
        "import sys; from dovetail.cli.app import app; "
        "heavy = {'numpy', 'scipy', 'flint', 'duckdb', 'sqlalchemy', 'pyarrow', 'sqlglot', 'matplotlib', "
        "'cryptography'}; print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    "words", ["version", "release adult --by sex --within 10 --budget epsilon=1"], ids=["version", "release"]
)
def test_a_command_ends_without_a_search_for_garbage_and_without_a_word(words: str, tmp_path: Path) -> None:
    code = (
        "import gc, sys; from dovetail.cli import main\n"
        "gc.callbacks.append(lambda phase, told: told['generation'] < 2 or sys.stderr.write('searched'))\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()],
        capture_output=True,
        text=True,
        env=ENVIRONMENT | {"XDG_DATA_HOME": str(tmp_path)},
    )
    # DuckDB's bindings would report what nobody cleared.
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("word", ["nothing", "--nothing", "ledger"])
def test_wrong_usage_is_exit_code_2(run, word: str) -> None:
    assert run(word, code=2).stdout == ""


def test_every_command_has_help_with_an_example(run) -> None:
    names = [command.callback.__name__.rstrip("_") for command in app.registered_commands]
    words = [(name,) for name in names if name != "version"]
    for group in app.registered_groups:
        for command in group.typer_instance.registered_commands:
            words.append((group.name, command.name or command.callback.__name__))
    for command in words:
        text = run(*command, "--help").stdout
        assert "Examples:" in text, command
        assert f"dovetail {' '.join(command)}" in text.split("Examples:")[1], command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidParameter("epsilon", 0, "above 0"), 2),
        (MissingPrice("no price"), 2),
        (BudgetExceeded("too much"), 3),
        (DataError("unreadable"), 4),
        (PermissionError(13, "Permission denied", "x.png"), 4),
        (LedgerBusy("busy"), 5),
        (RuntimeError("row 17 holds 4711"), 1),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: Exception, code: int) -> None:
    assert exit_code(error) == code


def test_an_unforeseen_error_shows_no_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(RuntimeError("row 17 holds 4711"), debug=False) == 1
    assert "4711" not in capsys.readouterr().err


def test_nothing_that_a_terminal_would_obey_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    report(DataError("There is no file \x1b[31mred\x07."), debug=False)
    assert "\x1b" not in capsys.readouterr().err


def test_a_missing_extra_names_the_command_that_brings_it() -> None:
    error = ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
    assert worded(error)[1] == "pip install 'dovetail-dp[plot]'"
    assert exit_code(error) == 2


def test_the_shell_completes_commands_and_options(tmp_path: Path) -> None:
    def completed(words: str) -> list[str]:
        done = python(
            cwd=tmp_path,
            _DOVETAIL_COMPLETE="complete_bash",
            COMP_WORDS=words,
            COMP_CWORD=str(len(words.split()) - 1),
        )
        return done.stdout.split()

    assert completed("dovetail re") == ["release"]
    assert "--within" in completed("dovetail release adult --wi")


def test_no_example_is_wider_than_a_terminal(run) -> None:
    from typer.main import get_command

    top = get_command(app)
    for command in top.commands.values():
        for one in (command, *getattr(command, "commands", {}).values()):
            lines = (one.epilog or "").splitlines()
            assert max(map(len, lines), default=0) <= 78, max(lines, key=len)


def test_options_are_listed_by_what_they_are_about(run) -> None:
    for command in ("release", "sql", "price"):
        lines = run(command, "--help").stdout.splitlines()
        titles = [line for line in lines if line and not line.startswith(" ") and line.endswith(":")]
        assert "How to pay: choose one way:" in titles
        assert "Data, budget, and whom it protects:" in titles
        assert ("The question:" in titles) == (command != "sql")


def test_garbage_is_collected_rarely_but_by_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    import gc

    from dovetail.cli import USUAL_COLLECTION, app
    from dovetail.cli.commands.serve import serve
    from dovetail.errors import InvalidParameter

    set_to: list[tuple[int, ...]] = []
    monkeypatch.setattr(gc, "set_threshold", lambda *given: set_to.append(given))
    monkeypatch.setattr(app, "app_for", lambda words: lambda prog_name: None)
    dovetail.cli.main()
    with pytest.raises(InvalidParameter):
        serve()
    assert set_to[0][0] > 100 * USUAL_COLLECTION[0]
    assert set_to[1:] == [USUAL_COLLECTION]

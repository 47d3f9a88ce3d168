"""Change what guards privacy, money or an interval in one place at a time: do the quick tests notice?

    PYTHONPATH=tests python -m mutants.campaign /tmp/mutants --number 400 --seed 1

For each package, pytest collects the tests of `GUARDS` once. They run once as they are, and which lines each
test reaches is noted. Then every mutant is a fork of that process: the code of one function is replaced, and
the tests that reach its statement are run until one fails: first those of the module's own file, then quick
ones. A mutant costs what its tests cost and nothing else. Mutants of what runs at import (constants,
defaults) are not made, and tests that start a database server or other processes are left out.

The folder gets a copy of the tree, one line of JSON a mutant, and a report; a campaign that was stopped goes
on where it was. With `--again`, the tree is copied again, and what lives is tried with more tests.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import process_time
from types import CodeType, FunctionType
from typing import Any
from zlib import crc32

import coverage
import hypothesis
import pytest

from mutants.mutations import Mutation
from mutants.report import explanations, fate, lines_of, report
from mutants.sample import GUARDS, all_lines, chosen, functions

ROOT = Path(__file__).parents[2]
LEFT_OUT = (
    "test_crashes.py",
    "test_races.py",
    "test_run_processes.py",
    "test_server.py",
    "test_frozen_client.py",
)
QUICK = "not slow and not spark and not browser and not faults"
# Seconds that the tests of one mutant take where it is not mutated, at first and with --again.
ENOUGH, PLENTY = 8.0, 60.0
FEW = 3
MEMORY = Path("/dev/shm")


def mutate(file: str, home: Path, made: Mutation) -> bool:
    """Replace the code of the function that a mutation is in; tell whether it could be found."""
    original = (home / file).read_text(encoding="utf-8")
    module = importlib.import_module("dovetail." + file.removesuffix(".py").replace("/", "."))
    wrong = compile(made.applied(original), module.__file__ or file, "exec", dont_inherit=True)
    for code in functions(wrong):
        if code.co_firstlineno <= made.line <= max(all_lines(code)):
            found = live_functions(module.__name__, code)
            for each in found:
                each.__code__ = code
            return bool(found)
    return False


def live_functions(module: str, code: CodeType) -> list[FunctionType]:
    """Return the functions that were made from the code at this place, whatever wraps or registers them."""
    gc.unfreeze()  # the tests freeze what they have loaded, and what is frozen is not listed
    return [
        each
        for each in gc.get_objects()
        if type(each) is FunctionType
        and each.__module__ == module
        and each.__code__.co_qualname == code.co_qualname
        and each.__code__.co_firstlineno == code.co_firstlineno
        and len(each.__code__.co_freevars) == len(code.co_freevars)
    ]


class Campaign:
    """A plugin of pytest that runs the collected tests once for the map and then for every mutant."""

    def __init__(self, guard: str, folder: Path, wanted: dict[str, Mutation], again: bool) -> None:
        self.name, self.folder, self.wanted, self.again = guard.replace("/", "."), folder, wanted, again
        self.home = folder / "tree/src/dovetail"
        self.failed: str | None = None

    @staticmethod
    def pytest_collection_modifyitems(items: list[Any]) -> None:
        servers = {"postgres_server", "postgres_url"}
        items[:] = [item for item in items if not servers & set(getattr(item, "fixturenames", ()))]
        items[:] = [item for item in items if item.path.stem not in LEFT_OUT]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        reached = self.mapped(session.items)
        for name, made in self.wanted.items():
            line = self.tried(name, made, session.items, reached)
            with (self.folder / "results.jsonl").open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
            print(line["verdict"], name, line["by"], flush=True, file=sys.__stderr__)
        return True

    def mapped(self, items: list[Any]) -> dict[str, Any]:
        """Return of every test that passes how long it takes and which lines it reaches.

        Lines go by their words, so that a map holds while others change; a test that it lacks is run for it.
        """
        place = self.folder / f"map.{self.name}.json"
        known = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
        lacking = [item for item in items if item.nodeid not in known]
        if lacking:
            in_fork(lambda: self.measure(lacking, known, place), 3000)
        return dict(json.loads(place.read_text(encoding="utf-8")))

    def measure(self, items: list[Any], known: dict[str, Any], place: Path) -> int:
        include = [f"{self.home}/{self.name.replace('.', '/')}/*"]
        lines = coverage.Coverage(data_file=None, config_file=False, include=include)
        seconds, wrong = {}, set()
        lines.start()
        for item, following in zip(items, [*items[1:], None], strict=True):
            lines.switch_context(item.nodeid)
            begun = process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds[item.nodeid] = process_time() - begun
            if self.failed:
                wrong.add(item.nodeid)
                self.failed = None
        lines.stop()
        data, found = lines.get_data(), defaultdict[str, dict[str, list[int]]](dict)
        for file in data.measured_files():
            words = line_words(Path(file))
            for line, tests in data.contexts_by_lineno(file).items():
                for test in tests:
                    found[test].setdefault(file.partition("/dovetail/")[2], []).append(words[line - 1])
        told = {test: [spent, found.get(test, {})] for test, spent in seconds.items() if test not in wrong}
        place.write_text(json.dumps(known | told), encoding="utf-8")
        return 0

    def tried(self, name: str, made: Mutation, items: list[Any], reached: dict[str, Any]) -> dict[str, Any]:
        file = name.partition(":")[0]
        first, last = made.lines
        words = set(line_words(self.home / file)[first - 1 : last])
        by_module = grouped(items, reached, lambda lines: not words.isdisjoint(lines.get(file, ())))
        if sum(map(len, by_module.values())) < FEW:
            # What is kept from one call to the next is computed for the first test alone.
            by_module = grouped(items, reached, lambda lines: file in lines)
        picked, total = self.picked(by_module, Path(file).stem)
        note = self.folder / f"killer.{self.name}.txt"
        note.write_text("", encoding="utf-8")
        code = in_fork(lambda: self.run(file, made, picked, note), int(30 + 4 * total)) if picked else 0
        verdict = {0: "survived" if picked else "no test", 1: "killed", 3: "not made"}.get(code, "timeout")
        line = {"id": name, "file": file, "line": made.line, "verdict": verdict}
        return line | {
            "by": note.read_text(encoding="utf-8"),
            "tests": len(picked),
            "of": sum(map(len, by_module.values())),
        }

    def picked(self, by_module: dict[Path, list[tuple[float, Any]]], stem: str) -> tuple[list[Any], float]:
        """Return the tests to run and how long they take: the module's own, then those of quick files."""
        taken, total = list[Any](), 0.0
        for path in sorted(
            by_module,
            key=lambda each: (each.stem != f"test_{stem}", sum(pair[0] for pair in by_module[each])),
        ):
            for seconds, item in sorted(by_module[path], key=lambda pair: pair[0]):
                if total + seconds <= (PLENTY if self.again else ENOUGH) or len(taken) < FEW:
                    taken.append(item)
                    total += seconds
        return taken, total

    def run(self, file: str, made: Mutation, items: list[Any], note: Path) -> int:
        if not mutate(file, self.home, made):
            return 3
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                note.write_text(self.failed, encoding="utf-8")
                return 1
        return 0


def grouped(
    items: list[Any], reached: dict[str, Any], wanted: Callable[[dict[str, list[int]]], bool]
) -> dict[Path, list[tuple[float, Any]]]:
    """Return the tests by file that reach what is wanted, and how long each takes."""
    found = defaultdict[Path, list[tuple[float, Any]]](list)
    for item in items:
        seconds, lines = reached.get(item.nodeid, (0.0, {}))
        if wanted(lines):
            found[item.path].append((seconds, item))
    return found


@cache
def line_words(file: Path) -> list[int]:
    """Return a number for each line of a file that tells its words apart from others'."""
    return [crc32(line.strip()) for line in file.read_bytes().splitlines()]


def in_fork(work: Any, seconds: int) -> int:
    """Do something in a fork that may compute for so long, and return its exit code."""
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            signal.alarm(20 * seconds)  # for those that wait for ever
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = work()
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status)


def collect(guard: str, folder: Path, wanted: dict[str, Mutation], again: bool) -> None:
    """Collect the tests of a package and try its mutants."""
    os.chdir(folder / "tree")
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    # The profile of the tests inherits these: fewer examples, and none is made smaller once it fails.
    examples = 100 if again else 30
    hypothesis.settings.register_profile("few", max_examples=examples, database=None, phases=phases)
    hypothesis.settings.load_profile("few")
    options = ["-q", "-n0", "-m", QUICK, "--capture=no", "--tb=no", "-p", "no:cacheprovider"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning", f"--rootdir={folder / 'tree'}"]
    tests = [f"tests/{each}" for each in dict.fromkeys(GUARDS[guard])]
    pytest.main([*options, *tests], plugins=[Campaign(guard, folder, wanted, again)])


def copied(folder: Path, again: bool) -> Path:
    """Return a copy of the tree that stays as it is while others work on the tree itself."""
    tree = folder / "tree"
    if again:
        shutil.rmtree(tree, ignore_errors=True)
    if not tree.exists():
        ignored = shutil.ignore_patterns(".git", ".venv*", "node_modules", "site", "dist")
        shutil.copytree(ROOT, tree, ignore=ignored)
    return tree


def left(guard: str, folder: Path, wanted: dict[str, Mutation], again: bool) -> dict[str, Mutation]:
    """Return the mutants of a package that are still to be tried."""
    done, why = lines_of(folder), explanations()
    if again:
        done = {name: line for name, line in done.items() if fate(line, why) in ("killed", "explained")}
    return {name: made for name, made in wanted.items() if name not in done}


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("folder", type=Path)
    reading.add_argument("--number", type=int, default=400)
    reading.add_argument("--seed", type=int, default=1)
    reading.add_argument("--again", action="store_true", help="try what lives again, with the tests of today")
    reading.add_argument("--only", choices=GUARDS, help="try the mutants of one package, in this process")
    given = reading.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    tree = folder / "tree" if given.only else copied(folder, given.again)
    wanted = chosen(tree / "src/dovetail", given.number, given.seed)
    if given.only:
        collect(given.only, folder, left(given.only, folder, wanted[given.only], given.again), given.again)
        return
    command = [sys.executable, "-m", "mutants.campaign", str(folder)]
    command += ["--number", str(given.number), "--seed", str(given.seed)] + ["--again"] * given.again
    paths = os.pathsep.join([str(tree / "src"), str(tree / "tests")])
    environment = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    if MEMORY.is_dir():
        environment["TMPDIR"] = str(MEMORY)  # ledgers need not wait for a disk here
    for guard in GUARDS:
        if left(guard, folder, wanted[guard], given.again):
            subprocess.run([*command, "--only", guard], env=environment, check=False)
    found = lines_of(folder)
    text = report([found[name] for listed in wanted.values() for name in listed if name in found])
    (folder / "report.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

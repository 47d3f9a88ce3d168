"""Change what guards privacy, money or an interval in one place at a time: do the quick tests notice?

    PYTHONPATH=tests python -m mutants.campaign /tmp/mutants --number 400 --seed 1
    PYTHONPATH=tests python -m mutants.campaign /tmp/mutants --only pricing query/measures --processes 2

One process collects the tests of the packages in `GUARDS` and the examples in their docstrings. Every file
runs once as it is, in a fork, and which lines each test reaches is noted (and kept: a campaign that was
stopped goes on where it was). Then every mutant is a fork too: the code of one function is replaced, and the
tests that reach its statement are run until one fails: first those of the module's own file, then quick ones.
A mutant costs what its tests cost and nothing else. Mutants of what runs at import (constants, defaults) are
not made, and tests that start a database server or other processes are left out.

The folder gets a copy of the tree, a map for each file of tests, one line of JSON a mutant, and a report.
With `--again`, the tree is copied again, and what lives is tried with more tests.
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
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from time import process_time
from types import CodeType, FunctionType
from typing import Any, TypeVar
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
ENOUGH, PLENTY = 6.0, 60.0
FEW = 3
# Seconds that the map of one file of tests may take: tests that come later are not used.
MAPPED = 30.0
MEMORY = Path("/dev/shm")
MOST_BYTES = 6 << 30


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

    def __init__(self, folder: Path, wanted: dict[str, Mutation], again: bool, processes: int) -> None:
        self.folder, self.wanted, self.again, self.processes = folder, wanted, again, processes
        self.home = folder / "tree/src/dovetail"
        self.failed: str | None = None

    @staticmethod
    def pytest_collection_modifyitems(items: list[Any]) -> None:
        servers = {"postgres_server", "postgres_url"}
        items[:] = [item for item in items if not servers & set(getattr(item, "fixturenames", ()))]
        items[:] = [item for item in items if item.path.name not in LEFT_OUT]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        reached = self.mapped(session.items)
        trials = (Trial(self, name, made, session.items, reached) for name, made in self.wanted.items())
        for trial, code in in_forks(trials, self.processes):
            line = trial.line(code)
            with (self.folder / "results.jsonl").open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
            print(line["verdict"], line["id"], line["by"], flush=True, file=sys.__stderr__)
        return True

    def mapped(self, items: list[Any]) -> dict[str, Any]:
        """Return of every test that passes how long it takes and which lines it reaches.

        Lines go by their words, so that a map holds while others change; a file of tests that has changed is
        run again.
        """
        files = [Map(self, path, list(listed)) for path, listed in groupby(items, lambda item: item.path)]
        for _ in in_forks((each for each in files if not each.place.exists()), self.processes):
            pass
        reached = dict[str, Any]()
        for each in files:
            if each.place.exists():
                reached |= json.loads(each.place.read_text(encoding="utf-8"))
            else:
                print("no map of", each.path, flush=True, file=sys.__stderr__)
        return reached

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


class Map:
    """The lines that the tests of one file reach, measured in a fork and written to a file."""

    def __init__(self, campaign: Campaign, path: Path, items: list[Any]) -> None:
        self.campaign, self.path, self.items = campaign, path, items
        self.seconds = int(2 * MAPPED)
        self.place = campaign.folder / f"maps/{path.stem}.{crc32(path.read_bytes()):08x}.json"

    def run(self) -> int:
        campaign = self.campaign
        include = [f"{campaign.home}/{guard}/*" for guard in GUARDS]
        lines = coverage.Coverage(data_file=None, config_file=False, include=include)
        seconds, wrong, start = {}, set(), process_time()
        lines.start()
        for item, following in zip(self.items, [*self.items[1:], None], strict=True):
            lines.switch_context(item.nodeid)
            begun = process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds[item.nodeid] = process_time() - begun
            if campaign.failed:
                wrong.add(item.nodeid)
                campaign.failed = None
            if process_time() - start > MAPPED:
                break
        lines.stop()
        data, found = lines.get_data(), defaultdict[str, dict[str, list[int]]](dict)
        for file in data.measured_files():
            words = line_words(Path(file))
            for line, tests in data.contexts_by_lineno(file).items():
                for test in tests:
                    found[test].setdefault(file.partition("/dovetail/")[2], []).append(words[line - 1])
        told = {test: [spent, found.get(test, {})] for test, spent in seconds.items() if test not in wrong}
        for test in wrong:
            print("fails as it is:", test, flush=True, file=sys.__stderr__)
        self.place.parent.mkdir(exist_ok=True)
        self.place.with_suffix(".part").write_text(json.dumps(told), encoding="utf-8")
        self.place.with_suffix(".part").rename(self.place)
        return 0


class Trial:
    """One mutant and the tests that should notice it."""

    def __init__(
        self, campaign: Campaign, name: str, made: Mutation, items: list[Any], reached: dict[str, Any]
    ) -> None:
        self.campaign, self.name, self.made = campaign, name, made
        self.file = file = name.partition(":")[0]
        first, last = made.lines
        words = set(line_words(campaign.home / file)[first - 1 : last])
        by_module = grouped(items, reached, lambda lines: not words.isdisjoint(lines.get(file, ())))
        if sum(map(len, by_module.values())) < FEW:
            # What is kept from one call to the next is computed for the first test alone.
            by_module = grouped(items, reached, lambda lines: file in lines)
        self.reaching = sum(map(len, by_module.values()))
        self.items, total = campaign.picked(by_module, Path(file).stem)
        self.seconds = int(20 + 4 * total)
        self.note = campaign.folder / f"killer.{crc32(name.encode()):08x}.txt"

    def run(self) -> int:
        if not mutate(self.file, self.campaign.home, self.made):
            return 3
        for item, following in zip(self.items, [*self.items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.campaign.failed:
                self.note.write_text(self.campaign.failed, encoding="utf-8")
                return 1
        return 0

    def line(self, code: int) -> dict[str, Any]:
        verdict = {0: "survived", 1: "killed", 3: "not made"}.get(code, "timeout")
        by = self.note.read_text(encoding="utf-8") if self.note.exists() else ""
        self.note.unlink(missing_ok=True)
        return {
            "id": self.name,
            "file": self.file,
            "line": self.made.line,
            "verdict": verdict if self.items else "no test",
            "by": by,
            "tests": len(self.items),
            "of": self.reaching,
        }


Work = TypeVar("Work", Map, Trial)


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


def in_fork(work: Callable[[], int], seconds: int) -> int:
    """Do something in a fork that may compute for so long, and return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(forked(work, seconds), 0)[1])


def held_bytes() -> int:
    """Return the size of this process's data: the tests that ran before count, too."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()


def in_forks(works: Iterable[Work], processes: int) -> Iterator[tuple[Work, int]]:
    """Run each in a fork, so many at once, and yield each with its exit code when it has ended."""
    running: dict[int, Work] = {}
    for work in works:
        running[forked(work.run, work.seconds)] = work
        if len(running) >= processes:
            yield ended(running)
    while running:
        yield ended(running)


def ended(running: dict[int, Work]) -> tuple[Work, int]:
    child, status = os.wait()
    return running.pop(child), os.waitstatus_to_exitcode(status)


def forked(work: Callable[[], int], seconds: int) -> int:
    """Start something in a fork that may compute for so long, and return its process."""
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            most = held_bytes() + MOST_BYTES
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
            signal.alarm(20 * seconds)  # for those that wait for ever
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = work()
        finally:
            os._exit(code)
    return child


def collect(tests: list[str], folder: Path, wanted: dict[str, Mutation], again: bool, processes: int) -> None:
    """Collect tests and try mutants."""
    os.chdir(folder / "tree")
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    # The profile of the tests inherits these: fewer examples, and none is made smaller once it fails.
    examples = 100 if again else 30
    hypothesis.settings.register_profile("few", max_examples=examples, database=None, phases=phases)
    hypothesis.settings.load_profile("few")
    options = ["-q", "-n0", "-m", QUICK, "--capture=no", "--tb=no", "-p", "no:cacheprovider"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning", f"--rootdir={folder / 'tree'}"]
    pytest.main([*options, *tests], plugins=[Campaign(folder, wanted, again, processes)])


def copied(folder: Path, again: bool) -> Path:
    """Return a copy of the tree that stays as it is while others work on the tree itself."""
    tree = folder / "tree"
    if again:
        shutil.rmtree(tree, ignore_errors=True)
    if not tree.exists():
        ignored = shutil.ignore_patterns(".git", ".venv*", "node_modules", "site", "dist")
        shutil.copytree(ROOT, tree, ignore=ignored)
    return tree


def left(folder: Path, wanted: dict[str, Mutation], again: bool) -> dict[str, Mutation]:
    """Return the mutants that are still to be tried."""
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
    reading.add_argument("--only", nargs="+", choices=GUARDS, default=list(GUARDS), help="these packages")
    reading.add_argument("--tests", nargs="+", help="these files and folders of tests alone")
    reading.add_argument("--processes", type=int, default=1, help="how many forks run at once")
    reading.add_argument("--copied", action="store_true", help="the tree was copied: try its mutants")
    given = reading.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    tree = folder / "tree" if given.copied else copied(folder, given.again)
    wanted = chosen(tree / "src/dovetail", given.only, given.number, given.seed)
    trying = left(folder, wanted, given.again)
    if given.copied:
        names = given.tests or dict.fromkeys(each for guard in given.only for each in GUARDS[guard])
        tests = [f"src/dovetail/{guard}" for guard in given.only] + [f"tests/{each}" for each in names]
        collect(tests, folder, trying, given.again, given.processes)
        return
    paths = os.pathsep.join([str(tree / "src"), str(tree / "tests")])
    environment = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    if MEMORY.is_dir():
        environment["TMPDIR"] = str(MEMORY)  # ledgers need not wait for a disk here
    if trying:
        command = [sys.executable, "-m", "mutants.campaign", str(folder), *sys.argv[2:], "--copied"]
        subprocess.run(command, env=environment, check=False)
    found = lines_of(folder)
    text = report([found[name] for name in wanted if name in found])
    (folder / "report.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

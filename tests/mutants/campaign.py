"""Change the code that guards privacy, money or an interval in one place at a time: do the tests notice?

    PYTHONPATH=tests python -m mutants.campaign /tmp/mutants --number 400 --seed 1

The folder gets a copy of the tree, one line of JSON a mutant, and a report. A run that was stopped goes on
where it was. A mutant meets the doctests and the tests of its own module first, then files of tests that name
what it defines, then those of its package, and at last some that go through everything; only the quick tests,
as in `make check`. Each file is run in a fork of a process that has loaded all libraries, but nothing of
Dovetail. Which lines a file of tests reaches is noted when it is first run: those that do not reach a mutant
are left out.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from compileall import compile_dir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import coverage

from mutants.mutations import Mutation, mutations

ROOT = Path(__file__).parents[2]
GUARDS = ("privacy", "pricing", "query/measures", "release", "ledger", "online", "service")
# Of a service, what decides who may do what.
SERVICE = (
    "authentication",
    "cookies",
    "gate",
    "oidc",
    "offers",
    "service",
    "bodies",
    "sources",
    "strict_json",
)
THROUGHOUT = (
    "attack/test_compare.py",
    "attack/test_exact_loss.py",
    "attack/test_budgets.py",
    "attack/test_privacy_audit.py",
    "test_session.py",
)
# What other programs are needed for, or many processes: it would make a mutant wait rather than fail.
LEFT_OUT = {"console", "docs", "paper", "examples", "mutants", "packaging", "test_crashes", "test_races"}
LEFT_OUT |= {"test_run_processes", "test_server", "test_postgres", "test_spark", "test_postgresql"}
QUICK = "not slow and not spark and not browser"
LOADED = [
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "scipy.signal",
    "scipy.special",
    "pyarrow",
    "pyarrow.parquet",
    "duckdb",
    "sqlalchemy",
    "sqlglot",
    "flint",
    "cryptography.hazmat.primitives.ciphers",
    "hypothesis",
    "hypothesis.strategies",
    "fastapi",
    "fastapi.testclient",
    "structlog",
    "mpmath",
    "pandas",
    "psycopg",
    "pytest",
    "dp_accounting.pld.privacy_loss_distribution",
]
PROCESSOR, LONGEST = 150, 900  # seconds of a test run: what it computes, and what it takes on a busy machine
_CLOSEST = 5
ENOUGH = 45  # seconds of tests that a mutant has to live through
DEAD = ("killed", "timeout")


@dataclass(frozen=True)
class Mutant:
    """A mutation of a file below src/dovetail."""

    file: str
    number: int
    made: Mutation

    @property
    def id(self) -> str:
        return f"{self.file}#{self.number}"


def guarded(home: Path) -> Iterator[str]:
    """Yield the files of a package that are mutated."""
    for guard in GUARDS:
        for path in sorted((home / guard).rglob("*.py")):
            if path.stem != "__init__" and (guard != "service" or path.stem in SERVICE):
                yield str(path.relative_to(home))


def chosen(home: Path, number: int, seed: int, only: str) -> list[Mutant]:
    """Return a sample of all mutants; small packages get more than their share."""
    every: dict[str, list[Mutant]] = defaultdict(list)
    for file in guarded(home):
        if only in file:
            text = (home / file).read_text(encoding="utf-8")
            every[file.split("/")[0]] += [Mutant(file, n, made) for n, made in enumerate(mutations(text))]
    total = sum(map(len, every.values()))
    print(f"{total} mutants are possible.", flush=True)
    draw, found = random.Random(seed), list[Mutant]()
    for listed in every.values():
        share = (len(listed) / total + 1 / len(every)) / 2
        found += draw.sample(listed, min(len(listed), round(number * share)))
    draw.shuffle(found)
    return found


@cache
def tests_for(file: str, tree: Path, source: Path) -> list[list[str]]:
    """Return what a mutant of a module meets, in four parts: its own, closest, of its package, throughout."""
    tests, package, stem = tree / "tests", file.split("/")[0], Path(file).stem
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in sorted(tests.rglob("test_*.py"))
        if not LEFT_OUT & {*path.parts, path.stem}
    }
    names = public_names(tree / "src/dovetail" / file)
    score = {path: sum(name in text for name in names) for path, text in texts.items()}
    closest = sorted((path for path in texts if score[path]), key=lambda path: -score[path])[:_CLOSEST]
    mirrors = [path for path in texts if path.stem == f"test_{stem}" and package in path.parts]
    others = [path for path in texts if package in path.parts]
    seen: set[Path] = set()
    parts = []
    for part in (
        [source / "dovetail" / file, *mirrors],
        closest,
        others,
        [tests / each for each in THROUGHOUT],
    ):
        part = [path for path in part if path not in seen]
        seen.update(part)
        parts.append([str(path) for path in part])
    return parts


def public_names(path: Path) -> set[str]:
    """Return what a module defines and others may use: functions, classes and their methods."""
    defined = (ast.FunctionDef, ast.ClassDef)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {node.name for node in ast.walk(tree) if isinstance(node, defined)}
    return {name for name in found if not name.startswith("_") and len(name) > 4}


class WithoutServers:
    """Leave out tests that start a database server, which takes longer than all others together."""

    @staticmethod
    def pytest_collection_modifyitems(items: list[Any]) -> None:
        items[:] = [item for item in items if "postgres_server" not in getattr(item, "fixturenames", ())]


def run_tests(tree: Path, source: Path, tests: list[str], out: Path, reached: Path | None) -> None:
    """Run tests in this process, which is a fork, and leave; note in a file which lines they reach."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR + 5))
    os.environ["PYTHONPATH"] = str(source)
    os.chdir(tree)
    sys.path[:0] = [str(tree / "tests"), str(source)]
    sink = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    pytest, hypothesis = map(importlib.import_module, ("pytest", "hypothesis"))
    # The profile of the tests inherits these: fewer examples, and none is made smaller once it fails.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("few", max_examples=30, database=None, phases=phases)
    hypothesis.settings.load_profile("few")
    quiet = ["--tb=line", "-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider"]
    include = [f"{source}/dovetail/{guard}/*" for guard in GUARDS]
    lines = coverage.Coverage(data_file=None, config_file=False, include=include) if reached else None
    if lines is not None:
        lines.start()
    options = ["-q", "-x", "-n0", "-m", QUICK, *quiet, f"--rootdir={tree}", *tests]
    code = int(pytest.main(options, plugins=[WithoutServers()]))
    if lines is not None and reached is not None and code in (0, 5):
        lines.stop()
        data = lines.get_data()
        found = {name.partition("/dovetail/")[2]: data.lines(name) for name in data.measured_files()}
        used = resource.getrusage(resource.RUSAGE_SELF)
        note = {"seconds": used.ru_utime + used.ru_stime, "lines": found}
        reached.write_text(json.dumps(note), encoding="utf-8")
    sys.stdout.flush()
    os._exit(code)


def outcome(
    tree: Path, source: Path, tests: list[str], out: Path, reached: Path | None = None
) -> tuple[str, str]:
    """Return what tests say of a mutant, and which one failed; one that does not end counts as failed."""
    child = multiprocessing.get_context("fork").Process(
        target=run_tests, args=(tree, source, tests, out, reached)
    )
    child.start()
    child.join(LONGEST)
    if child.exitcode is None:
        os.killpg(child.pid or 0, 9)
        child.join()
    if child.exitcode in (0, 5):  # 5: no test was chosen
        return "survived", ""
    if child.exitcode in (1, 2, 3, 4):
        lines = out.read_text(encoding="utf-8", errors="replace").splitlines()
        failed = [line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
        return "killed", (failed or ["collection"])[0]
    return "timeout", ""


_sound: dict[str, bool] = {}


def passes(test: str, tree: Path, out: Path) -> bool:
    """Tell whether a test that failed on a mutant passes on the code as it is."""
    if test not in _sound:
        path = tree / test.partition("[")[0].partition("::")[0].rpartition("../")[2]
        named = test.partition("[")[0] if path.exists() else str(path)
        _sound[test] = outcome(tree, tree / "src", [named], out)[0] == "survived"
    return _sound[test]


def processor_seconds() -> float:
    """Return what all test runs of this worker have computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def written(place: Path, text: str) -> None:
    """Write a module and forget what was compiled of it."""
    place.write_text(text, encoding="utf-8")
    for old in (place.parent / "__pycache__").glob(f"{place.stem}.*"):
        old.unlink()


def ordered(mutant: Mutant, parts: list[list[str]], notes: Path) -> Iterator[tuple[str, Path | None]]:
    """Yield tests, each with the place of its note: a module's own, quick ones that reach it, others."""
    first, last = mutant.made.lines
    known, unknown = list[tuple[float, str, Path]](), list[tuple[str, Path]]()
    yield parts[0][0], None
    for test in (test for part in parts for test in part if test != parts[0][0]):
        note = notes / f"{test.rpartition('/tests/')[2].replace('/', '.')}.json"
        if not note.exists():
            unknown.append((test, note))
            continue
        told = json.loads(note.read_text(encoding="utf-8"))
        if any(first <= line <= last for line in told["lines"].get(mutant.file, [])):
            own = test in parts[0]
            known.append((told["seconds"] * (0.1 if own else 1), test, note))
    yield from ((test, note) for test, note in unknown if test in parts[0])
    yield from ((test, note) for _, test, note in sorted(known))
    yield from ((test, note) for test, note in unknown if test not in parts[0])


def tried(mutant: Mutant, tree: Path, source: Path, out: Path) -> dict[str, Any]:
    """Return what became of a mutant."""
    place = source / "dovetail" / mutant.file
    original = (tree / "src/dovetail" / mutant.file).read_text(encoding="utf-8")
    verdict, by, begun, met = "survived", "", monotonic(), 0
    before = processor_seconds()
    written(place, mutant.made.applied(original))
    try:
        for test, note in ordered(mutant, tests_for(mutant.file, tree, source), out.parent / "reached"):
            if processor_seconds() - before > ENOUGH:
                break
            met += 1
            verdict, by = outcome(tree, source, [test], out, note if note and not note.exists() else None)
            if verdict != "survived":
                if not passes(by or test, tree, out):
                    raise AssertionError(f"{by or test} fails on the code as it is: {out}")
                break
    finally:
        written(place, original)
    spent = round(processor_seconds() - before, 1)
    made = mutant.made
    line = {"id": mutant.id, "file": mutant.file, "line": made.line, "words": made.words, "verdict": verdict}
    return line | {"by": by, "files": met, "seconds": round(monotonic() - begun, 1), "processor": spent}


def report(lines: list[dict[str, Any]]) -> str:
    """Return a table by package, and every mutant that lives."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for line in lines:
        counts[line["file"].split("/")[0]][line["verdict"] in DEAD] += 1
    counts["all"] = [sum(each[place] for each in counts.values()) for place in (0, 1)]
    rows = ["| package | mutants | killed | |", "|---|---|---|---|"]
    for package, (alive, dead) in counts.items():
        rows.append(f"| {package} | {alive + dead} | {dead} | {dead / max(alive + dead, 1):.1%} |")
    rows.append("")
    living = sorted((line for line in lines if line["verdict"] not in DEAD), key=lambda each: str(each["id"]))
    return "\n".join(rows + [f"{line['file']}:{line['line']} {line['words']}" for line in living])


def worker(number: int, folder: Path, wanted: list[Mutant], done: set[str], workers: int) -> None:
    """Try every so-many-th mutant."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False  # tests are compiled once
    for each in LOADED:
        importlib.import_module(each)
    tree, source = folder / "tree", folder / f"source{number}"
    for mutant in wanted[number::workers]:
        if mutant.id not in done:
            line = tried(mutant, tree, source, folder / f"out{number}.txt")
            with (folder / "results.jsonl").open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
            print(line["verdict"], line["seconds"], mutant.id, line["words"], flush=True)


def prepared(folder: Path, workers: int) -> None:
    """Copy the tree, once, and the sources for each worker."""
    tree = folder / "tree"
    if not tree.exists():
        ignored = shutil.ignore_patterns(
            ".git", ".venv*", "node_modules", "__pycache__", "site", "out", "dist"
        )
        shutil.copytree(ROOT, tree, ignore=ignored)
    for number in range(workers):
        source = folder / f"source{number}"
        if not source.exists():
            shutil.copytree(tree / "src", source)
            compile_dir(source, quiet=2)


def lines_of(results: Path) -> dict[str, dict[str, Any]]:
    if not results.exists():
        return {}
    return {line["id"]: line for line in map(json.loads, results.read_text("utf-8").splitlines())}


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("folder", type=Path)
    reading.add_argument("--number", type=int, default=400)
    reading.add_argument("--seed", type=int, default=1)
    reading.add_argument("--only", default="", help="a part of the names of files")
    reading.add_argument("--workers", type=int, default=2)
    given = reading.parse_args()
    folder = given.folder.resolve()
    (folder / "reached").mkdir(parents=True, exist_ok=True)
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    prepared(folder, given.workers)
    wanted = chosen(folder / "tree/src/dovetail", given.number, given.seed, given.only)
    done = set(lines_of(folder / "results.jsonl"))
    context = multiprocessing.get_context("spawn")
    running = [
        context.Process(target=worker, args=(number, folder, wanted, done, given.workers))
        for number in range(given.workers)
    ]
    for process in running:
        process.start()
    while any(process.is_alive() for process in running):
        sleep(1)
    found = lines_of(folder / "results.jsonl")
    text = report([found[each.id] for each in wanted if each.id in found])
    (folder / "report.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

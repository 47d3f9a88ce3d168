"""Mutants can be made, and an explanation of one that lives ends with the line that it is about."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import dovetail
from dovetail.check import positive
from mutants.campaign import in_fork, live_functions
from mutants.mutations import named_mutations
from mutants.report import explanations
from mutants.sample import GUARDS, PARTS

HOME = Path(dovetail.__file__).parent


def test_every_explanation_is_about_a_mutant_of_the_code_as_it_is() -> None:
    by_file = defaultdict[str, set[str]](set)
    for name in explanations():
        by_file[name.partition(":")[0]].add(name)
    for file, names in by_file.items():
        text = (HOME / file).read_text(encoding="utf-8")
        assert names <= {name.rpartition(" #")[0] for name, _ in named_mutations(file, text)}


def test_the_files_and_tests_of_a_campaign_are_there() -> None:
    """A file that was renamed would be left out without a word."""
    files = {HOME / guard / f"{part}.py" for guard, parts in PARTS.items() for part in parts}
    tests = {Path(__file__).parents[1] / each for listed in GUARDS.values() for each in listed}
    assert [each for each in sorted(files | tests) if not each.exists()] == []


def test_the_functions_to_mutate_are_found_in_a_run_of_the_tests() -> None:
    """In a fork, as in a campaign: what the tests have frozen stays frozen here."""
    assert (
        in_fork(lambda: int(positive not in live_functions(positive.__module__, positive.__code__)), 60) == 0
    )

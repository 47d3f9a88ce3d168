"""Which code is mutated, which tests should notice, and which mutants are tried."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from types import CodeType

from mutants.mutations import Mutation, named_mutations

THROUGHOUT = ("attack/test_exact_loss.py", "attack/test_budgets.py", "attack/test_privacy_audit.py")
SESSION = ("test_session.py", "test_session_plans.py", "test_session_prices.py")
# What is mutated, by package, and the tests that should notice.
GUARDS: dict[str, tuple[str, ...]] = {
    "privacy": ("privacy", *THROUGHOUT[:1]),
    "pricing": ("pricing", "query/measures", "answers/test_payment.py", *SESSION[1:], *THROUGHOUT),
    "query/measures": ("query/measures", "workloads", "answers", *THROUGHOUT),
    "release": ("release", *SESSION, "attack/test_compare.py", "pricing", *THROUGHOUT),
    "ledger": ("ledger", "attack/test_ledger_bytes.py", *THROUGHOUT[1:]),
    "online": ("online", "ledger/test_runs.py"),
    "service": ("service", "client", "attack/test_compare_http.py"),
    "workloads": ("workloads", "query/measures", "answers"),
    "answers": ("answers", "query/measures", "workloads"),
}
# Of a service, what decides who may do what; of workloads and answers, what makes a price or an interval.
PARTS = {
    "service": (
        "authentication",
        "cookies",
        "middleware",
        "oidc",
        "served_datasets",
        "service",
        "bodies",
        "sources",
        "strict_json",
    ),
    "workloads": (
        "cutoff",
        "exponential_mechanism",
        "marginals",
        "noise_sums",
        "planning",
        "ranges",
        "ratios",
        "dispersion",
        "strategies",
        "tree_queries",
        "trees",
    ),
    "answers": (
        "answer",
        "consistency",
        "contribution_bounds",
        "formula_values",
        "intervals",
        "marginals",
        "noisy_numbers",
        "noisy_ratios",
        "ranges",
        "threshold",
    ),
}


def guard_of(file: str) -> str:
    """Return the package that a file belongs to."""
    return next(guard for guard in GUARDS if file.startswith(f"{guard}/"))


def chosen(home: Path, guards: list[str], number: int, seed: int) -> dict[str, Mutation]:
    """Return a sample of the mutants of packages by name; small packages get more than their share.

    A larger number adds mutants to a smaller one's, and a change of the code hardly changes the sample.
    """
    every = {guard: dict(_possible(home, guard)) for guard in guards}
    total = sum(map(len, every.values()))
    print(f"{total} mutants are possible.", flush=True)

    def drawn(name: str) -> bytes:
        return sha256(f"{seed} {name}".encode()).digest()

    sample = dict[str, Mutation]()
    for listed in every.values():
        share = (len(listed) / total + 1 / len(every)) / 2
        sample |= {name: listed[name] for name in sorted(listed, key=drawn)[: round(number * share)]}
    # In an order that mixes the packages, so that a campaign which is stopped has looked at all of them.
    return {name: sample[name] for name in sorted(sample, key=drawn)}


def _possible(home: Path, guard: str) -> Iterator[tuple[str, Mutation]]:
    for path in sorted((home / guard).rglob("*.py")):
        if path.stem == "__init__" or path.stem not in PARTS.get(guard, (path.stem,)):
            continue
        text = path.read_text(encoding="utf-8")
        inside = [
            (code.co_firstlineno, max(all_lines(code)))
            for code in functions(compile(text, path.name, "exec"))
        ]
        for name, made in named_mutations(str(path.relative_to(home)), text):
            if any(first < made.line <= last for first, last in inside):
                yield name, made


def functions(code: CodeType) -> Iterator[CodeType]:
    """Yield the functions of a module and the methods of its classes, not what is defined inside of them."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            if const.co_flags & 0x2:  # it has local variables of its own: a function and no class
                yield const
            else:
                yield from functions(const)


def all_lines(code: CodeType) -> set[int]:
    found = {line for _, _, line in code.co_lines() if line is not None}
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found |= all_lines(const)
    return found or {code.co_firstlineno}

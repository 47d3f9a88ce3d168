"""The public names and signatures: fixed, complete, and light to import."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import dovetail
from dovetail.noise import IntegerNoise, RoundedLaplace
from dovetail.noise.real import RealNoise

# Every asking method lists the ways to pay; `queries` (plan so many) is a batch's own word.
PAY_FOR_ONE = (
    "within=None, probability=None, spend=None, noise=None, plan=None, delta=None, clamp=False, fresh=False, "
    "request=None"
)
PAY = PAY_FOR_ONE.replace("plan=None, ", "plan=None, queries=None, ")
SPREAD = "low=None, high=None, step=None, where=None, by=None, keys=None, bins=None"
# Names as a user types them after `dovetail.`, and parameters without their types.
FIXED = {
    "Geometric": "(epsilon)",
    "Laplace": "(epsilon)",
    "GeometricMixture": "(inner, outer, break_point)",
    "LaplaceMixture": "(inner, outer, break_point)",
    "PiecewiseGeometric": "(rates, breaks=())",
    "PiecewiseLaplace": "(rates, breaks=())",
    "DiscreteGaussian": "(sigma)",
    "Staircase": "(epsilon, gamma=None)",
    "TruncatedLaplace": "(epsilon, bound)",
    "TruncatedGeometric": "(epsilon, bound)",
    "PiecewiseLaplace.rounded": "(self)",
    "PiecewiseLaplace.on_lattice": "(self, step)",
    "sampling.replay": "(noise, size, bits)",
    "privacy_loss": "(noise, *, sensitivity=1)",
    "PrivacyLoss.from_pmfs": "(p, q)",
    "PrivacyLoss.delta": "(self, epsilon)",
    "PrivacyLoss.epsilon_at": "(self, delta)",
    "PrivacyLoss.renyi": "(self, order)",
    "PrivacyLoss.tail": "(self, t)",
    "PrivacyLoss.compose": "(self, k)",
    "PrivacyLoss.then": "(self, other)",
    "PrivacyLoss.charge": "(self)",
    "PrivacyLoss.plot": "(self, *, ax=None)",
    "privacy.published_zeta": "(noise)",
    "privacy.equivalent_epsilon": "(noise_family, zeta)",
    "Budget.pure": "(epsilon)",
    "Budget.approximate": "(epsilon, delta)",
    "Budget.zeta": "(zeta, *, max_epsilon)",
    "Budget.allows": "(self, spent, charge)",
    "Goal": "(within, probability=0.95, cells=1)",
    "design": (
        "(*, epsilon=None, delta=None, zeta=None, goals=(), within=None, probability=0.95, cells=1, "
        "queries=1, minimise=None, max_epsilon=None, pieces=8, break_point=None, sensitivity=1, steps=True)"
    ),
    "compare": "(noises, *, at='zeta')",
    "Session": (
        "(source, *, budget=None, ledger=None, name=None, table=None, schema=None, unit=None, max_rows=None, "
        "max_cells=None, neighbours='add-remove', queries=None, analyst='local', vintage=(), version=None, "
        "same_data=None, protects=None)"
    ),
    "Session.count": f"(self, *, where=None, {PAY})",
    "Session.count_distinct": f"(self, *columns, keys=None, bins=None, where=None, {PAY})",
    "Session.histogram": f"(self, *columns, keys=None, bins=None, where=None, {PAY})",
    "Session.sum": f"(self, column, *, {SPREAD}, {PAY})",
    "Session.mean": f"(self, column, *, {SPREAD}, {PAY})",
    "Session.cdf": f"(self, column, *, {SPREAD}, {PAY})",
    "Session.min": f"(self, column, *, {SPREAD}, {PAY})",
    "Session.max": f"(self, column, *, {SPREAD}, {PAY})",
    "Session.ranges": f"(self, column, *, {SPREAD}, {PAY})",
    "Session.quantiles": f"(self, column, qs, *, {SPREAD}, kind='disc', {PAY})",
    "Session.median": f"(self, column, *, {SPREAD}, kind='disc', {PAY})",
    "Session.variance": f"(self, column, *, {SPREAD}, sample=False, {PAY})",
    "Session.std": f"(self, column, *, {SPREAD}, sample=False, {PAY})",
    "Session.linear": f"(self, column, weights, *, step, where=None, {PAY})",
    "Session.marginals": (
        f"(self, *columns, way=2, tables=None, keys=None, bins=None, where=None, strategy=None, {PAY})"
    ),
    "Session.workload": f"(self, queries, *, {PAY_FOR_ONE})",
    "Workload": "(queries)",
    "MarginalsAnswer.table": "(self, *columns, level=None, simultaneous=False)",
    "MarginalsAnswer.consistent": "(self)",
    "MarginalsAnswer.synthetic": "(self, rows=None, *, to=None)",
    "MarginalsAnswer.plot": "(self, *columns, ax=None)",
    "Session.sql": f"(self, text, *, {PAY})",
    "Session.batch": f"(self, queries, *, {PAY_FOR_ONE})",
    "Session.price": f"(self, query, *, {PAY})",
    "Session.quote": f"(self, query, *, {PAY})",
    "Session.answer": "(self, quote)",
    "Session.plan": "(self, design, *, queries, name=None)",
    "Answer.interval": "(self, level=0.95, *, simultaneous=False)",
    "Answer.to_pandas": "(self)",
    "Answer.to_json": "(self)",
    "Answer.plot": "(self, ax=None)",
    "Quote.errors": "(self, level=None, *, simultaneous=False)",
    "Quote.to_dict": "(self)",
    "Quote.to_json": "(self)",
    "datasets.adult": "()",
}
# Part of the plan, not yet of the package; an owner takes a name out when it appears.
NOT_YET: set[str] = set()

EVERY_NOISE = {
    "cdf": "(self, x)",
    "sf": "(self, x)",
    "log_sf": "(self, x)",
    "ppf": "(self, p)",
    "mean_abs": "(self)",
    "variance": "(self)",
    "std": "(self)",
    "entropy": "(self)",
    "expect": "(self, cost)",
    "within": "(self, t)",
    "quantile_abs": "(self, p)",
    "error_bound": "(self, beta, k=1)",
    "sample": "(self, size=None, *, out=None)",
    "stretched": "(self, d)",
    "to_dict": "(self)",
}
NOISES = [
    dovetail.PiecewiseGeometric,
    dovetail.PiecewiseLaplace,
    RoundedLaplace,
    dovetail.DiscreteGaussian,
    type(dovetail.Staircase(1)),
    dovetail.TruncatedGeometric,
    dovetail.TruncatedLaplace,
]
VALUES = {
    dovetail.PrivacyLoss: ("epsilon", "zeta", "mean", "atoms"),
    dovetail.Charge: ("epsilon", "zeta", "renyi", "delta"),
    dovetail.Session: ("remaining",),
    dovetail.Quote: ("asked", "charge", "plan", "slots", "level", "affordable", "remaining", "digest"),
    dovetail.Answer: ("value", "table", "noise", "charge", "remaining", "query", "answered_at"),
}
# What `import dovetail` must never bring along.
HEAVY = (
    *("scipy", "sqlalchemy", "sqlglot", "duckdb", "matplotlib", "pandas", "pyarrow", "polars", "ibis"),
    *("fastapi", "starlette", "uvicorn", "flask", "django", "aiohttp", "typer", "rich", "pyspark"),
)


def signature(thing: object) -> str:
    """Return the parameters without their types."""
    found = inspect.signature(thing)  # type: ignore[arg-type]
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def resolved(path: str) -> object:
    """Return what a user gets by `dovetail.path`, or None."""
    found: object = dovetail
    for name in path.split("."):
        found = getattr(found, name, None)
    return found if callable(found) else None


@pytest.mark.parametrize("name", FIXED)
def test_a_public_signature_is_the_agreed_one(name: str) -> None:
    found = resolved(name)
    if found is None:
        assert name in NOT_YET
    else:
        assert FIXED[name] in (signature(found), None)


@pytest.mark.parametrize("noise", NOISES)
def test_every_noise_offers_the_same_methods(noise: type) -> None:
    for name, expected in EVERY_NOISE.items():
        assert signature(getattr(noise, name)) == expected
    densities = ("pmf", "log_pmf") if issubclass(noise, IntegerNoise) else ("pdf", "log_pdf")
    assert issubclass(noise, IntegerNoise | RealNoise)
    for name in densities:
        assert signature(getattr(noise, name)) in ("(self, k)", "(self, x)")


def test_every_value_is_there() -> None:
    for owner, names in VALUES.items():
        for name in names:
            assert hasattr(owner, name), (owner, name)
    for noise in (dovetail.Geometric(1), dovetail.Laplace(1), dovetail.Laplace(1).rounded()):
        assert noise.rates == (1,)
        assert noise.breaks == ()


def test_the_errors_form_the_agreed_tree() -> None:
    parents = {
        "InvalidParameter": "DovetailError",
        "GoalUnreachable": "DovetailError",
        "InvalidQuery": "DovetailError",
        "UnsupportedSQL": "InvalidQuery",
        "MissingKeys": "InvalidQuery",
        "MissingPrice": "InvalidQuery",
        "BudgetExceeded": "DovetailError",
        "DataError": "DovetailError",
        "LedgerError": "DovetailError",
        "LedgerCorrupt": "LedgerError",
        "LedgerBusy": "LedgerError",
        "RequestConflict": "LedgerError",
        "BudgetMismatch": "LedgerError",
    }
    for child, parent in parents.items():
        assert getattr(dovetail, child).__bases__[0] is getattr(dovetail, parent)


def imported_for_types(package: ModuleType) -> dict[str, str | None]:
    """Return the names that type checkers see in a package, and the module of each."""
    tree = ast.parse(Path(str(package.__file__)).read_text())
    (branch,) = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imported: dict[str, str | None] = {}
    for node in branch.body:
        assert isinstance(node, ast.ImportFrom)
        imported |= {alias.asname or alias.name: node.module for alias in node.names}
    return imported


@pytest.mark.parametrize(
    "name", ["answers", "designer", "ledger", "noise", "privacy", "query", "query.measures", "workloads"]
)
def test_packages_that_load_names_on_demand_list_all_of_them(name: str) -> None:
    package = import_module(f"dovetail.{name}")
    assert imported_for_types(package) == package._HOME
    assert set(package.__all__) >= set(package._HOME)
    assert all(getattr(package, each) is not None for each in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


def test_names_loaded_on_demand_type_checkers_and_the_list_agree() -> None:
    imported = imported_for_types(dovetail)
    packages = {name for name, home in imported.items() if home is None}
    assert packages == set(dovetail._PACKAGES)
    assert {name: home for name, home in imported.items() if name not in packages} == dovetail._HOME
    assert set(dovetail.__all__) == {*imported, "__version__"}
    assert len(dovetail.__all__) == len(set(dovetail.__all__))
    assert set(dir(dovetail)) == set(dovetail.__all__)


def test_every_public_name_can_be_loaded_and_no_other() -> None:
    for name in dovetail.__all__:
        assert getattr(dovetail, name) is not None
    with pytest.raises(AttributeError, match="module 'dovetail' has no attribute 'Gaussian'"):
        dovetail.Gaussian  # noqa: B018


@pytest.mark.parametrize(
    "code",
    ["import dovetail", "import dovetail; dovetail.GeometricMixture(0.2, 1, 5).cdf([1, 2, 3])"],
)
def test_importing_and_using_noise_stays_light(code: str) -> None:
    report = f"import sys; sys.stdout.write(' '.join(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""

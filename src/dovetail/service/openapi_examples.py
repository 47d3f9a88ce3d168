"""Bodies to begin with; the tests send every one of them. PERSON stands for the id of somebody."""

from __future__ import annotations

from typing import Any

_GEOMETRIC = {"kind": "piecewise-geometric", "rates": ["1/10"], "breaks": []}
_MIXTURE = {"kind": "piecewise-geometric", "rates": ["1/5", "1"], "breaks": [5]}
_ASKED: dict[str, Any] = {
    "a count": {
        "question": {"ask": "count", "where": "age >= 40"},
        "pay": {"within": 10, "probability": 0.95},
    },
    "a histogram": {
        "question": {"ask": "histogram", "columns": ["sex", "age"], "bins": {"age": [0, 18, 65, 120]}},
        "pay": {"spend": {"epsilon": "0.1"}},
    },
    "a mean": {
        "question": {"ask": "mean", "column": "age", "low": 0, "high": 100, "step": 1},
        "pay": {"spend": {"epsilon": "0.1"}},
    },
    "a median": {
        "question": {"ask": "median", "column": "age", "low": 0, "high": 100, "step": 1},
        "pay": {"spend": {"epsilon": "0.1"}},
    },
    "SQL": {
        "sql": "SELECT sex, COUNT(*) AS n FROM adult GROUP BY sex ORDER BY n DESC",
        "pay": {"noise": _GEOMETRIC},
    },
}
_RUN = {"columns": ["sex", "race"], "queries": 100, "ways": 2, "spend": {"epsilon": "0.1"}}
REQUESTS: dict[tuple[str, str], dict[str, Any]] = {
    ("post", "/v1/datasets/{name}/quotes"): _ASKED,
    ("post", "/v1/datasets/{name}/answers"): _ASKED,
    ("post", "/v1/datasets/{name}/plans/quotes"): {"a plan": {"noise": _GEOMETRIC, "queries": 2}},
    ("post", "/v1/datasets/{name}/plans"): {"a plan": {"noise": _GEOMETRIC, "queries": 2}},
    ("post", "/v1/datasets/{name}/runs/quotes"): {"a run": _RUN},
    ("post", "/v1/datasets/{name}/runs"): {"a run": _RUN},
    ("post", "/v1/design"): {
        "an accuracy": {"within": 10, "probability": 0.95},
        "a budget": {"epsilon": 1, "delta": "1e-6", "queries": 10},
    },
    ("post", "/v1/compare"): {"two noises": {"noises": {"mixture": _MIXTURE, "geometric": _GEOMETRIC}}},
    ("post", "/v1/certificate"): {"a noise": {"noise": _MIXTURE}},
    ("post", "/v1/analysts"): {"an analyst": {"name": "dora", "address": "dora@example.org"}},
    ("post", "/v1/keys"): {"a key": {"person": "PERSON", "expires": "2127-01-31T00:00:00+00:00"}},
    ("post", "/v1/grants"): {
        "an allotment": {"person": "PERSON", "dataset": "adult", "allotment": {"epsilon": "2"}}
    },
    ("post", "/v1/budgets"): {
        "more": {"dataset": "adult", "budget": {"epsilon": 5}, "reason": "A second study was approved."}
    },
    ("post", "/v1/drafts"): {"data that ship": {"source": {"shipped": "adult"}}},
    ("patch", "/v1/datasets/{name}"): {"a title": {"title": "Adult census", "licence": "CC BY 4.0"}},
}

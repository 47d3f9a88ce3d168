"""The tables of a ledger, schema version 2 (docs/decisions says why they are as they are).

The events are the record. Every other table is an index over them, kept in the same transaction, which
`verify` rebuilds from the events and compares; only people's names, which can be erased, and secrets are kept
beside them. Identifiers are event numbers: a dataset, a grant, a plan or a request is called by the number of
the event that made it. Whoever is outside of the ledger sees `public`, which is random.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = 2

# 64 bits in both stores; SQLite numbers its rows by a column only if that is called INTEGER.
WHOLE = BigInteger().with_variant(Integer(), "sqlite")

metadata = MetaData()
_rows_of: dict[Index, ColumnElement[bool]] = {}


def create_tables(connection: Connection, *, some_kept: bool = False) -> None:
    """Make the tables; where a migration kept some, the others. The database must be locked."""
    for index, where in _rows_of.items():
        # Said now and not where the index is declared: that would load the dialects of both stores.
        index.dialect_options[connection.dialect.name]["where"] = where
    metadata.create_all(connection, checkfirst=some_kept)


def _partial(name: str, *columns: Column[Any], where: ColumnElement[bool], unique: bool = False) -> None:
    """Declare an index of some rows only."""
    _rows_of[Index(name, *columns, unique=unique)] = where


def _number() -> Column[int]:
    """Return the column that calls a row by the event that made it."""
    return Column("id", WHOLE, primary_key=True, autoincrement=False)


# One row: who this ledger is, and the head of its chain. Locking this row is locking the ledger. `state` is
# the digest of all that can still be used (state_digest.py), `witness` the event that last named a witness,
# or 0, and `settings` the last event that changed a dataset or its names, a principal or a grant.
ledger = Table(
    "dovetail_ledger",
    metadata,
    _number(),
    Column("schema_version", WHOLE, nullable=False),
    Column("identity", Text, nullable=False),
    Column("sequence", WHOLE, nullable=False),
    Column("hash", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("witness", WHOLE, nullable=False),
    Column("settings", WHOLE, nullable=False),
    CheckConstraint("id = 1"),
)

# `dataset` is 0 for what concerns the whole ledger.
events = Table(
    "dovetail_events",
    metadata,
    Column("sequence", WHOLE, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("dataset", WHOLE, nullable=False),
    Column("content", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

# The file that receives the head: of this ledger's file (host ''), or on each host of a server's ledger.
witnesses = Table(
    "dovetail_witnesses",
    metadata,
    Column("host", Text, primary_key=True),
    Column("path", Text, nullable=False),
    Column("since", WHOLE, nullable=False),
)

# `retired` is the event after which nothing more is answered. Budgets, policies and the version of the data.
datasets = Table(
    "dovetail_datasets",
    metadata,
    _number(),
    Column("budget", Text, nullable=False),
    Column("protects", Text),
    Column("answers", Text, nullable=False),
    Column("access", Text, nullable=False),
    Column("vintages", Text, nullable=False),
    Column("version", Text),
    Column("retired", WHOLE),
    Column("secret", LargeBinary, nullable=False),
    CheckConstraint("answers IN ('shared', 'own') AND access IN ('anyone', 'granted')"),
    CheckConstraint("vintages IN ('shared', 'disjoint')"),
)

# What was spent of a budget (subject: the dataset) or of an allotment (subject: the grant); vintage 0 bears
# what all vintages share. Amounts count 1e-9 (delta: 1e-18); NULL means without bound. A cap that is NULL
# does not apply to the currency. Each check is written so that NULL fails it: SQL lets an unknown comparison
# pass.
balances = Table(
    "dovetail_balances",
    metadata,
    Column("subject", WHOLE, nullable=False),
    Column("vintage", WHOLE, nullable=False),
    Column("epsilon", WHOLE),
    Column("zeta", WHOLE),
    Column("delta", WHOLE, nullable=False),
    Column("renyi", Text, nullable=False),
    Column("cap_epsilon", WHOLE),
    Column("cap_zeta", WHOLE),
    Column("cap_delta", WHOLE, nullable=False),
    Column("latest", WHOLE, nullable=False),
    PrimaryKeyConstraint("subject", "vintage"),
    CheckConstraint("cap_epsilon IS NULL OR (epsilon IS NOT NULL AND epsilon <= cap_epsilon)"),
    CheckConstraint("cap_zeta IS NULL OR (zeta IS NOT NULL AND zeta <= cap_zeta)"),
    CheckConstraint("delta <= cap_delta"),
    CheckConstraint("delta >= 0 AND (epsilon IS NULL OR epsilon >= 0) AND (zeta IS NULL OR zeta >= 0)"),
)

# A dataset is shown by the name with the greatest `shown`; the others still find it.
names = Table(
    "dovetail_names",
    metadata,
    Column("name", Text, primary_key=True),
    Column("dataset", WHOLE, nullable=False),
    Column("shown", WHOLE, nullable=False),
)

sources = Table(
    "dovetail_sources",
    metadata,
    Column("source", Text, nullable=False),
    Column("dataset", WHOLE, nullable=False),
    PrimaryKeyConstraint("source", "dataset"),
)

# Which rows: a file, a partition, a month. `complete` is the event after which no row enters it any more.
vintages = Table(
    "dovetail_vintages",
    metadata,
    _number(),
    Column("dataset", WHOLE, nullable=False),
    Column("label", Text, nullable=False),
    Column("complete", WHOLE),
    Column("version", Text),
    UniqueConstraint("dataset", "label"),
)

principals = Table(
    "dovetail_principals",
    metadata,
    _number(),
    Column("public", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    CheckConstraint("role IN ('curator', 'analyst', 'auditor')"),
)

# The only table that knows a person's name. The record holds a hash of the row; once the row is removed, the
# nonce is gone with it, and nothing tells the name any more.
people = Table(
    "dovetail_people",
    metadata,
    Column("principal", WHOLE, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("address", Text),
    Column("nonce", LargeBinary, nullable=False),
)

keys = Table(
    "dovetail_keys",
    metadata,
    _number(),
    Column("public", Text, nullable=False, unique=True),
    Column("principal", WHOLE, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("expires", Text),
    Column("revoked", WHOLE),
)
_partial(
    "dovetail_keys_of",
    keys.c.principal,
    where=keys.c.revoked.is_(None),
)

grants = Table(
    "dovetail_grants",
    metadata,
    _number(),
    Column("principal", WHOLE, nullable=False),
    Column("dataset", WHOLE, nullable=False),
    Column("allotment", Text, nullable=False),
    Column("expires", Text),
    Column("revoked", WHOLE),
)
_partial(
    "dovetail_grants_of",
    grants.c.principal,
    grants.c.dataset,
    unique=True,
    where=grants.c.revoked.is_(None),
)

# `question` is the hash of the plan's body. Of an online run, `left` counts updates neither used nor held.
plans = Table(
    "dovetail_plans",
    metadata,
    _number(),
    Column("public", Text, nullable=False, unique=True),
    Column("dataset", WHOLE, nullable=False),
    Column("vintages", Text, nullable=False),
    Column("owner", WHOLE, nullable=False),
    Column("shared", WHOLE, nullable=False),
    Column("name", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("slots", WHOLE, nullable=False),
    Column("left", WHOLE, nullable=False),
    UniqueConstraint("dataset", "owner", "name", "question", "slots", "vintages"),
    CheckConstraint('"left" >= 0 AND "left" <= slots'),
)

_partial("dovetail_plans_left", plans.c.id, where=plans.c.left > 0)

# The private thresholds of an online run: never exported; a commitment with this nonce binds them.
runs = Table(
    "dovetail_runs",
    metadata,
    Column("plan", WHOLE, primary_key=True, autoincrement=False),
    Column("above", WHOLE, nullable=False),
    Column("below", WHOLE, nullable=False),
    Column("nonce", LargeBinary, nullable=False),
)

# `closing` is the event that answered or failed the request; NULL while it is only reserved. `question` is
# the hash of what is asked without its noise, where that was told, and then the hash of the whole body.
requests = Table(
    "dovetail_requests",
    metadata,
    _number(),
    Column("public", Text, nullable=False, unique=True),
    Column("dataset", WHOLE, nullable=False),
    Column("vintages", Text, nullable=False),
    Column("version", Text),
    Column("principal", WHOLE, nullable=False),
    Column("key", Text),
    Column("plan", WHOLE),
    Column("question", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("closing", WHOLE),
    CheckConstraint(
        "state IN ('reserved', 'answered', 'failed') AND (closing IS NULL) = (state = 'reserved')"
    ),
)
# Only requests that carry a key are in it.
_partial(
    "dovetail_request_keys",
    requests.c.dataset,
    requests.c.principal,
    requests.c.key,
    unique=True,
    where=requests.c.key.is_not(None),
)
Index("dovetail_questions", requests.c.dataset, requests.c.question)
Index("dovetail_requests_of", requests.c.principal, requests.c.id)
_partial(
    "dovetail_requests_from",
    requests.c.plan,
    requests.c.id,
    where=requests.c.plan.is_not(None),
)

# Reservations that are not closed: who works on one, until when, and (`held`) with how many updates of which
# run. The number of the attempt fences off a worker that was given up.
attempts = Table(
    "dovetail_attempts",
    metadata,
    Column("request", WHOLE, primary_key=True, autoincrement=False),
    Column("attempt", WHOLE, nullable=False),
    Column("until", Text, nullable=False),
    Column("plan", WHOLE),
    Column("held", WHOLE, nullable=False),
    CheckConstraint("held IN (0, 1)"),
)

# Which events measured something for an online run: its hypothesis is rebuilt from them.
firings = Table(
    "dovetail_firings",
    metadata,
    _number(),
    Column("plan", WHOLE, nullable=False),
    Column("request", WHOLE, nullable=False),
)
Index("dovetail_firings_of", firings.c.plan, firings.c.id)

"""The tables of a ledger.

The events are the record. Every other table is an index over them, kept in the same transaction, which
`verify` rebuilds from the events and compares. Identifiers are event numbers: a dataset, a plan or a request
is called by the number of the event that made it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)

SCHEMA_VERSION = 1

# 64 bits in both stores; SQLite numbers its rows by a column only if that is called INTEGER.
WHOLE = BigInteger().with_variant(Integer(), "sqlite")

metadata = MetaData()

# One row: who this ledger is, and the head of its chain. Locking this row is locking the ledger.
ledger = Table(
    "dovetail_ledger",
    metadata,
    Column("id", WHOLE, primary_key=True, autoincrement=False),
    Column("schema_version", WHOLE, nullable=False),
    Column("identity", Text, nullable=False),
    Column("sequence", WHOLE, nullable=False),
    Column("hash", Text, nullable=False),
    CheckConstraint("id = 1"),
)

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

# Amounts count 1e-9 (delta: 1e-18); NULL means without bound. A cap that is NULL does not apply to the
# currency. Each check is written so that NULL fails it: SQL would let an unknown comparison pass.
datasets = Table(
    "dovetail_datasets",
    metadata,
    Column("id", WHOLE, primary_key=True, autoincrement=False),
    Column("budget", Text, nullable=False),
    Column("epsilon", WHOLE),
    Column("zeta", WHOLE),
    Column("delta", WHOLE, nullable=False),
    Column("renyi", Text, nullable=False),
    Column("cap_epsilon", WHOLE),
    Column("cap_zeta", WHOLE),
    Column("cap_delta", WHOLE, nullable=False),
    Column("latest", WHOLE, nullable=False),
    Column("secret", LargeBinary, nullable=False),
    CheckConstraint("cap_epsilon IS NULL OR (epsilon IS NOT NULL AND epsilon <= cap_epsilon)"),
    CheckConstraint("cap_zeta IS NULL OR (zeta IS NOT NULL AND zeta <= cap_zeta)"),
    CheckConstraint("delta <= cap_delta"),
    CheckConstraint("delta >= 0 AND (epsilon IS NULL OR epsilon >= 0) AND (zeta IS NULL OR zeta >= 0)"),
)

names = Table(
    "dovetail_names",
    metadata,
    Column("name", Text, primary_key=True),
    Column("dataset", WHOLE, nullable=False),
    Column("since", WHOLE, nullable=False),
)

sources = Table(
    "dovetail_sources",
    metadata,
    Column("source", Text, nullable=False),
    Column("dataset", WHOLE, nullable=False),
    PrimaryKeyConstraint("source", "dataset"),
)

plans = Table(
    "dovetail_plans",
    metadata,
    Column("id", WHOLE, primary_key=True, autoincrement=False),
    Column("dataset", WHOLE, nullable=False),
    Column("slots", WHOLE, nullable=False),
    Column("left", WHOLE, nullable=False),
    CheckConstraint('"left" >= 0 AND "left" <= slots'),
)

# `closing` is the event that answered or failed the request; NULL while it is only reserved.
requests = Table(
    "dovetail_requests",
    metadata,
    Column("id", WHOLE, primary_key=True, autoincrement=False),
    Column("dataset", WHOLE, nullable=False),
    Column("analyst", Text, nullable=False),
    Column("key", Text),
    Column("question", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("closing", WHOLE),
    CheckConstraint(
        "state IN ('reserved', 'answered', 'failed') AND (closing IS NULL) = (state = 'reserved')"
    ),
)
# Only requests that carry a key are in it.
Index(
    "dovetail_keys",
    requests.c.dataset,
    requests.c.analyst,
    requests.c.key,
    unique=True,
    sqlite_where=requests.c.key.is_not(None),
    postgresql_where=requests.c.key.is_not(None),
)
Index("dovetail_questions", requests.c.dataset, requests.c.question)

"""Retry keys of a service's requests: one claim wins, its reply is kept, and an erased name is gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from dovetail.ledger import Ledger
from dovetail.ledger.replies import Claimed, KeyClaim

CLAIM = KeyClaim(1, "POST /v1/analysts", "one", "digest")


def test_a_claim_is_made_kept_and_given_up(ledger: Ledger) -> None:
    assert ledger.replies.claim(CLAIM) is None
    assert ledger.replies.claim(CLAIM) == Claimed("digest", None)
    ledger.replies.keep(CLAIM, '{"id": "x"}')
    assert ledger.replies.claim(CLAIM) == Claimed("digest", '{"id": "x"}')
    ledger.replies.release(CLAIM)
    assert ledger.replies.claim(CLAIM) is None
    ledger.verify()


def test_one_of_many_claims_wins(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: ledger.replies.claim(CLAIM), range(8)))
    assert found.count(None) == 1


def test_an_erased_name_is_erased_from_replies(ledger: Ledger) -> None:
    dora = ledger.people.add("dora", "analyst")
    for key, reply in (("one", f'{{"id": "{dora.public}", "name": "dora"}}'), ("two", "{}")):
        claim = KeyClaim(1, "POST /v1/analysts", key, "digest")
        ledger.replies.claim(claim)
        ledger.replies.keep(claim, reply)
    ledger.people.erase("dora")
    assert ledger.replies.claim(CLAIM) is None
    assert ledger.replies.claim(KeyClaim(1, "POST /v1/analysts", "two", "digest")) == Claimed("digest", "{}")

"""An account as one analyst sees it: the budget is the allotment, and nothing tells what others spent."""

from __future__ import annotations

from sqlalchemy import Connection

from dovetail.answers.quote import Standing

from .account import DatasetAccount
from .balances import dataset_row
from .grants import permitted
from .principals import number_of
from .store import Store
from .text import composed


class AllottedAccount(DatasetAccount):
    """The account of a dataset for one analyst; charges go to the allotment and to the dataset as ever.

    Quotes, answers and refusals that are made from its standing speak of the allotment only. Where access
    needs no grant, and answers are shared anyway, the standing is that of the dataset.
    """

    def __init__(self, store: Store, dataset: int, name: str, analyst: str) -> None:
        super().__init__(store, dataset, name)
        self.analyst = composed("analyst", analyst)

    def _standing(self, connection: Connection, plans_of: str | None) -> Standing:
        """Return the allotment and what was spent of it, and the plans that the analyst may use."""
        principal, row = number_of(connection, self.analyst), dataset_row(connection, self._dataset)
        grant = permitted(connection, principal, row)
        limit, subject = (row["budget"], row["id"]) if grant is None else (grant["allotment"], grant["id"])
        return self._stands(connection, row, limit, subject, None if plans_of is None else self.analyst)

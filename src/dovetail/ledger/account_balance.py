"""What one dataset may still spend, as those who ask about some vintages see it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

from sqlalchemy import Connection

from dovetail.answers.quote import Standing
from dovetail.errors import LedgerError
from dovetail.privacy.budget import Budget, Remaining
from dovetail.privacy.charge import Charge
from dovetail.release.account import PlanState
from dovetail.release.plans import stored_plans

from . import vintages
from .balances import Row, balance, balances_read, budget_of, dataset_row, most_spent, spent_of, write_sums
from .expected_reads import Expectations
from .grants import grant_row, permitted
from .plans import usable_plans
from .prepared_statements import Read
from .principals import number_of
from .record_writer import RecordWriter
from .refusals import refuse_charge
from .registry import check_protects
from .store import Store
from .text import composed
from .vintage_declarations import DeclaringVintages
from .vintages import Chosen


class AccountBalance(DeclaringVintages):
    """The budget of one dataset, what was charged to it, and who may charge it."""

    def __init__(self, store: Store, dataset: int, name: str, protects: str | None = None) -> None:
        super().__init__(store, dataset)
        # For whom whoever asks here computes charges; None where that was not said.
        self.protects = protects
        self._vintages: tuple[str, ...] = ()
        self.name = name
        self._expectations = Expectations()
        # Whose sums were read last to tell where the budget stands.
        self._stood: int | None = None

    def _standing_reads(self) -> list[Read]:
        """Return what `_standing` will probably read."""
        return [] if self._stood is None or self._vintages else [balances_read(self._stood)]

    def __repr__(self) -> str:
        return f"<account of {self.name!r} in {self._store.place}>"

    def about(self, *vintage: str) -> Self:
        """Return this account as questions about some vintages see it; they must be declared.

        What remains, plans, stored answers and charges are then those of these vintages.
        """
        if not vintage:
            return self
        made = copy(self)
        made._vintages = vintage
        made._expectations = Expectations()
        with self._store.reading() as connection:
            vintages.choose(connection, dataset_row(connection, self._dataset), vintage, None)
        return made

    @property
    def budget(self) -> Budget:
        """Return the budget as it stands now; its curator may change it."""
        return self.position()[0]

    @property
    def secret(self) -> bytes:
        """Return the dataset's secret key: 32 random bytes, fixed for its life, never exported."""
        with self._store.reading() as connection:
            return bytes(dataset_row(connection, self._dataset)["secret"])

    def standing(self, plans_of: str | None = None) -> Standing:
        """Return the budget and everything charged so far, and the plans that an analyst may use."""
        with self._store.reading() as connection:
            return self._standing(connection, plans_of)

    def _standing(self, connection: Connection, plans_of: str | None) -> Standing:
        row = dataset_row(connection, self._dataset)
        return self._stands(connection, row, row["budget"], row["id"], plans_of)

    def _stands(
        self, connection: Connection, dataset: Row, limit: str, subject: int, plans_of: str | None
    ) -> Standing:
        """Return where a budget or an allotment stands, whose sums are those of a subject."""
        self._stood = subject
        states = self._usable(connection, dataset, plans_of)
        return Standing(budget_of(limit), self._borne(connection, dataset, subject), stored_plans(states))

    def _borne(self, connection: Connection, dataset: Row, subject: int) -> Charge:
        """Return what a budget or an allotment has borne for the vintages that are meant, the most of any."""
        if not self._vintages:
            return most_spent(connection, subject)
        bearing = vintages.choose(connection, dataset, self._vintages, None).bearing
        return Charge.largest(*(spent_of(balance(connection, subject, each)) for each in bearing))

    def _usable(self, connection: Connection, dataset: Row, analyst: str | None) -> list[PlanState]:
        """Return the plans for these vintages that an analyst may use; None is nobody."""
        if analyst is None:
            return []
        about = vintages.numbers(connection, dataset["id"], self._vintages)
        return usable_plans(connection, dataset["id"], number_of(connection, analyst), about)

    def spent(self) -> Charge:
        """Return everything charged so far, open reservations included; of disjoint vintages, the most."""
        return self.position()[1]

    def remaining(self) -> Remaining:
        """Return what can still be paid."""
        budget, spent = self.position()
        return budget.remaining(spent)

    def position(self, vintage: Sequence[str] = ()) -> tuple[Budget, Charge]:
        """Return the budget and everything charged so far (to some vintages), as they stood at one moment."""
        account = self.about(*vintage) if vintage else self
        with self._store.reading() as connection:
            row = dataset_row(connection, self._dataset)
            return budget_of(row["budget"]), account._borne(connection, row, self._dataset)

    @property
    def version(self) -> str | None:
        """The state of the data, as their curator last said."""
        with self._store.reading() as connection:
            return self._chosen(connection, dataset_row(connection, self._dataset)).version

    def allotted(self, analyst: str) -> Remaining | None:
        """Return what remains of an analyst's allotment; None where nothing was granted to them."""
        with self._store.reading() as connection:
            number = number_of(connection, composed("analyst", analyst))
            grant = None if number is None else grant_row(connection, number, self._dataset)
            if grant is None:
                return None
            return budget_of(grant["allotment"]).remaining(most_spent(connection, grant["id"]))

    def _chosen(
        self, connection: Connection, row: Row, labels: Sequence[str] = (), version: str | None = None
    ) -> Chosen:
        """Return what a question is about: the vintages that it names, else those of this account."""
        return vintages.choose(connection, row, labels or self._vintages, version)

    def _asking(self, connection: Connection, analyst: str) -> tuple[Row, int | None, Row | None]:
        """Return the dataset, who asks (None: nobody known yet) and the grant that is charged."""
        row = dataset_row(connection, self._dataset)
        if row["retired"] is not None:
            raise LedgerError(f"{self.name!r} was retired: its record is kept, nothing more is answered.")
        # It may have been changed before the first charge, while somebody had the old one in mind.
        check_protects(row, self.name, self.protects)
        principal = number_of(connection, analyst)
        return row, principal, permitted(connection, principal, row)

    def _pay(
        self, writer: RecordWriter, dataset: Row, grant: Row | None, chosen: Chosen, charge: Charge
    ) -> dict[str, Any]:
        """Add a charge to budget and allotment if both filters allow it; return what the event says of it."""
        limits = [(dataset["id"], budget_of(dataset["budget"]))]
        if grant is not None:
            limits.append((grant["id"], budget_of(grant["allotment"])))
        sums: list[tuple[Row, Charge]] = []
        # The allotment is asked first: a refusal by the budget tells what others left, and who cannot pay
        # anyway could sound it out for nothing.
        for subject, limit in reversed(limits):
            own, found = subject == dataset["id"], []
            for vintage in chosen.bearing:
                row = balance(writer.connection, subject, vintage)
                spent = spent_of(row)
                if not limit.allows(spent, charge):
                    hidden = own and dataset["answers"] == "own"
                    refuse_charge(self.name, limit, spent, charge, allotted=not own, hidden=hidden)
                found.append((row, spent + charge))
            sums = found + sums
        return {"charge": charge.to_units(), "on": write_sums(writer, sums)}

"""What a curator declares about the rows of a dataset: which there are, and which state of them."""

from __future__ import annotations

from . import vintages
from .balances import dataset_row
from .principals import named_number
from .store import Store
from .vintages import Vintage


class DeclaringVintages:
    """The part of a dataset's account that its curator uses each month; `by` is the curator's name."""

    def __init__(self, store: Store, dataset: int) -> None:
        self._store = store
        self._dataset = dataset

    def vintages(self) -> list[Vintage]:
        """Return the vintages that were declared, oldest first."""
        with self._store.reading() as connection:
            return vintages.listed(connection, self._dataset)

    @property
    def disjoint(self) -> bool:
        """Whether each row was declared to lie in one vintage."""
        with self._store.reading() as connection:
            return bool(dataset_row(connection, self._dataset)["vintages"] == "disjoint")

    def declare_vintage(self, label: str, *, complete: bool = False, by: str | None = None) -> None:
        """Declare some of the rows as a vintage; `complete` if no row will enter it any more."""
        with self._store.writing() as writer:
            vintages.declare(writer, self._dataset, label, complete, named_number(writer.connection, by))

    def complete_vintage(self, label: str, *, by: str | None = None) -> None:
        """Record that no row will enter a vintage any more."""
        with self._store.writing() as writer:
            vintages.complete(writer, self._dataset, label, named_number(writer.connection, by))

    def declare_disjoint(self, *, by: str | None = None) -> None:
        """Declare that each row lies in one vintage, so that charges on different ones do not add up.

        Only where rows are protected, and for good.
        """
        with self._store.writing() as writer:
            vintages.declare_disjoint(writer, self._dataset, named_number(writer.connection, by))

    def set_version(self, version: str, *, vintage: str | None = None, by: str | None = None) -> None:
        """Record which state of the data is there from now on; answers about another one become stale."""
        with self._store.writing() as writer:
            vintages.set_version(writer, self._dataset, version, vintage, named_number(writer.connection, by))

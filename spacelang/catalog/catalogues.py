"""Catalogues: those in sight of one file, and what a name means among them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from spacelang.catalog.catalogue import Catalogue, CatalogueEntry


@dataclass(frozen=True)
class Catalogues:
    """scikit-learn's catalogue, whose operators have plain names, and those that the file uses.

    An operator of a used catalogue is called `catalogue.Operator`, or by its plain name where no other catalogue has
    that. `refused` names those that the file may not use: what is known of one all the same, is in sight, so that the
    rest of the file can be judged; no space comes of it.
    """

    own: Catalogue
    used: Mapping[str, Catalogue] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The name of the catalogue that every file has."""
        return self.own.name

    @property
    def scorers(self) -> Mapping[str, str]:
        """The scorers, which are scikit-learn's."""
        return self.own.scorers

    def get(self, name: str) -> CatalogueEntry | None:
        """The operator that a name as written stands for; None where it stands for none or for several."""
        if name in self.own:
            return self.own.get(name)
        catalogue, dot, operator = name.partition(".")
        if dot:
            return self.entry(catalogue, operator) if catalogue in self.used else None
        found = self._by_plain_name.get(name, ())
        return self.used[found[0]].get(name) if len(found) == 1 else None

    def entry(self, catalogue: str, operator: str) -> CatalogueEntry | None:
        """The operator of exactly this catalogue; None where the catalogue is not in sight or does not have it."""
        found = self.own if catalogue == self.own.name else self.used.get(catalogue)
        return None if found is None else found.get(operator)

    def meanings(self, name: str) -> tuple[str, ...]:
        """The full names of what a plain name may stand for among the used catalogues, in the order of their `use`."""
        return tuple(f"{catalogue}.{name}" for catalogue in self._by_plain_name.get(name, ()))

    def is_refused(self, name: str) -> bool:
        """Whether a name, as written, is one of a refused catalogue of which nothing is known."""
        package = name.partition(".")[0]
        return package in self.refused and package not in self.used

    def __iter__(self) -> Iterator[str]:
        """The names by which operators can be called: plain where that is enough, full where it is not."""
        yield from self.own
        for name, catalogues in self._by_plain_name.items():
            if name not in self.own and len(catalogues) == 1:
                yield name
            else:
                yield from self.meanings(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    @cached_property
    def _by_plain_name(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for catalogue, operators in self.used.items():
            for name in operators:
                found[name] = (*found.get(name, ()), catalogue)
        return found

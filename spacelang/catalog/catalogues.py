"""The catalogues available in one file, and the lookup of operator names in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from spacelang.catalog.catalogue import Catalogue, CatalogueEntry


@dataclass(frozen=True)
class Catalogues:
    """The catalogue of scikit-learn, whose operators have plain names, and the catalogues that a file uses.

    An operator of a used catalogue has the name `catalogue.Operator`, or its plain name if no other catalogue has an
    operator with it. `refused` are the packages that the file may not use. If a catalogue for one of them is known
    nevertheless, it is in `used`, so that the rest of the file can be checked; the check yields no space.
    """

    default: Catalogue
    used: Mapping[str, Catalogue] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The name of the catalogue that every file uses."""
        return self.default.name

    @property
    def scorers(self) -> Mapping[str, str]:
        """The scorers of scikit-learn."""
        return self.default.scorers

    def get(self, name: str) -> CatalogueEntry | None:
        """Return the operator for a name as written; None if it is unknown or ambiguous."""
        if name in self.default:
            return self.default.get(name)
        catalogue, dot, operator = name.partition(".")
        if dot:
            return self.entry(catalogue, operator) if catalogue in self.used else None
        found = self._by_plain_name.get(name, ())
        return self.used[found[0]].get(name) if len(found) == 1 else None

    def entry(self, catalogue: str, operator: str) -> CatalogueEntry | None:
        """Return the operator of exactly this catalogue; None if the catalogue or the operator is not available."""
        found = self.default if catalogue == self.default.name else self.used.get(catalogue)
        return None if found is None else found.get(operator)

    def full_names(self, name: str) -> tuple[str, ...]:
        """Return the full names that a plain name may refer to in the used catalogues, in the order of `use` lines."""
        return tuple(f"{catalogue}.{name}" for catalogue in self._by_plain_name.get(name, ()))

    def is_refused(self, name: str) -> bool:
        """Return True if a name (as written) belongs to a refused catalogue whose operators are unknown."""
        package = name.partition(".")[0]
        return package in self.refused and package not in self.used

    def __iter__(self) -> Iterator[str]:
        """Iterate over all names of operators: plain names, and full names where plain ones are ambiguous."""
        yield from self.default
        for name, catalogues in self._by_plain_name.items():
            if name not in self.default and len(catalogues) == 1:
                yield name
            else:
                yield from self.full_names(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    @cached_property
    def _by_plain_name(self) -> dict[str, tuple[str, ...]]:
        """The used catalogues that have an operator, by the plain name of the operator."""
        found: dict[str, tuple[str, ...]] = {}
        for catalogue, operators in self.used.items():
            for name in operators:
                found[name] = (*found.get(name, ()), catalogue)
        return found

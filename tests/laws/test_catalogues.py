"""Names among several catalogues: scikit-learn's are plain, others are while only one catalogue has them."""

from hypothesis import given
from hypothesis import strategies as st

from spacelang.catalog import Catalogue, CatalogueEntry, OperatorRole
from spacelang.catalog.catalogue import FileCatalogues

NAMES = ("A", "B", "C", "D")
PACKAGES = ("one", "two", "three")


def catalogue(package: str, names: frozenset[str]) -> Catalogue:
    operators = {
        name: CatalogueEntry(name, f"{package}.part", frozenset({OperatorRole.TRANSFORMER})) for name in sorted(names)
    }
    return Catalogue(package, package, "1", operators)


some_names = st.frozensets(st.sampled_from(NAMES))
catalogues = st.builds(
    lambda own, used, refused: FileCatalogues(
        catalogue("sklearn", own),
        {package: catalogue(package, names) for package, names in used.items()},
        refused,
    ),
    some_names,
    st.dictionaries(st.sampled_from(PACKAGES), some_names),
    st.frozensets(st.sampled_from(PACKAGES)),
)


@given(catalogues)
def test_a_plain_name_is_scikit_learns_or_that_of_the_only_catalogue_that_has_it(found: FileCatalogues) -> None:
    for name in NAMES:
        homes = [package for package, known in found.used.items() if name in known]
        expected = "sklearn" if name in found.default else homes[0] if len(homes) == 1 else None
        entry = found.get(name)
        assert (entry.catalogue if entry else None) == expected
        assert found.full_names(name) == tuple(f"{package}.{name}" for package in homes)


@given(catalogues)
def test_a_full_name_always_says_which(found: FileCatalogues) -> None:
    for package in PACKAGES:
        for name in NAMES:
            entry = found.get(f"{package}.{name}")
            known = package in found.used and name in found.used[package]
            assert (entry is not None) == known
            if entry is not None:
                assert (entry.catalogue, entry.name) == (package, name)
                assert found.entry_in_catalogue(entry.catalogue, entry.name) is entry


@given(catalogues)
def test_the_listed_names_are_the_shortest_of_all_operators(found: FileCatalogues) -> None:
    listed = [found.get(name) for name in found]
    assert all(entry is not None for entry in listed)
    everything = [*found.default.operators.values()]
    everything += [entry for known in found.used.values() for entry in known.operators.values()]
    assert {id(entry) for entry in listed} == {id(entry) for entry in everything}
    assert len(listed) == len(everything)
    for name in found:
        assert ("." not in name) == (found.get(name.rpartition(".")[2]) is found.get(name))


@given(catalogues)
def test_of_what_is_refused_and_unknown_nothing_is_in_sight(found: FileCatalogues) -> None:
    for package in PACKAGES:
        unknown = package in found.refused and package not in found.used
        for name in NAMES:
            assert found.is_in_refused_catalogue(f"{package}.{name}") == unknown
            assert not unknown or (found.get(f"{package}.{name}"), found.entry_in_catalogue(package, name)) == (
                None,
                None,
            )
            assert not found.is_in_refused_catalogue(name)

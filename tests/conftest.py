"""Fixtures, and the selection of tests in the reduced form. Pytest adds this folder to the path, for helper modules."""

import gc
import signal
from collections.abc import Iterator, Mapping
from zlib import crc32

import pytest
from hypothesis import settings
from trying import IS_FULL, few

# A shell that starts the tests in the background ignores some signals, and child processes would inherit that.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# The reduced form draws the same cases in every run, so that a failure is due to the change; with SPACELANG_FULL each
# run draws new ones. No case has a deadline, because a busy machine may be slow.
settings.register_profile("reproducible", derandomize=not IS_FULL, deadline=None, max_examples=few())
settings.load_profile("reproducible")

TAKING_TURNS = {
    "workers": "",
    "space": "TestOptimizers::",
    "objective": "TestOptimizers::",
    "size": "TestOptimizers::",
    "times": "TestOptimizers::",
    "scale": "::test_failures_are_trained",
    "name": "TestBounding::test_a_",
    "branches": "",
}
"""Parameters that take turns, with a part of the names of the tests in which they do."""
AMONG_TESTS = {"branches"}
"""Parameters of which a test without other parameters also gets only one value."""


OBJECTS_BETWEEN_COLLECTIONS = 5000
"""The threshold of the garbage collector; with Python's 700 it took an eighth of the time of the tests."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without garbage collections, and exempt the thousands of tests and their modules from later ones."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
        gc.enable()


@pytest.fixture
def quick_zygotes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the zygotes of searches from a process that has already imported everything.

    For tests of searches, not of zygotes: otherwise three quarters of their time are imports of scikit-learn.
    """
    start_quickly(monkeypatch)


@pytest.fixture(scope="module")
def quick_zygotes_of_all() -> Iterator[None]:
    """Do the same as `quick_zygotes` for a module whose tests share executors."""
    with pytest.MonkeyPatch.context() as patch:
        start_quickly(patch)
        yield


def start_quickly(patch: pytest.MonkeyPatch) -> None:
    from commands import zygote

    from spacelang.runtime.executors._processes.zygote_connection import ZygoteConnection

    patch.setattr(ZygoteConnection, "_start_process", zygote)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests of the reduced form: those that are marked `full` are left out.

    A parameter that takes turns has one value for each combination of the others, the same in every run.
    """
    if IS_FULL:
        return
    taking = [_taking_turns(item) for item in items]
    numbers = _Numbers()
    places = [numbers.of(item) for item in items]  # numbers all values, which the loop counts
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item, parameters, place in zip(items, taking, places, strict=True):
        is_short = item.get_closest_marker("full") is None
        values = {each: numbers.values(item, each) for each in parameters}
        (kept if is_short and _has_its_turn(item, place, values) else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


class _Numbers:
    """Numbers of the values of each parameter of a test, in the order of their appearance."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[int, int]] = {}

    def of(self, item: pytest.Item) -> Mapping[str, int]:
        """Return the numbers of the values of a case, by parameter."""
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        return {each: self._number(_name(item), each, id(value)) for each, value in parameters.items()}

    def values(self, item: pytest.Item, parameter: str) -> int:
        """Return the number of different values of a parameter so far."""
        return len(self._known[_name(item), parameter])

    def _number(self, name: str, parameter: str, value: int) -> int:
        known = self._known.setdefault((name, parameter), {})
        return known.setdefault(value, len(known))


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _taking_turns(item: pytest.Item) -> list[str]:
    """Return the parameters of a test that take turns; none if it has no others, except those of `AMONG_TESTS`."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    marked = [mark.args[0] for mark in item.iter_markers("takes_turns")]
    taking = [*marked, *(each for each, part in TAKING_TURNS.items() if part in _name(item))]
    found = [each for each in taking if each in parameters]
    return found if len(found) < len(parameters) or AMONG_TESTS.issuperset(found) else []


def _has_its_turn(item: pytest.Item, places: Mapping[str, int], values: Mapping[str, int]) -> bool:
    """Return True if each parameter that takes turns has the value that is drawn for the other parameters.

    `values` are the parameters that take turns, with their numbers of values.
    """
    others = sorted(each for each in places.items() if each[0] not in values)
    drawn = {each: crc32(repr((_name(item), each, others)).encode()) % number for each, number in values.items()}
    return all(places[each] == place for each, place in drawn.items())

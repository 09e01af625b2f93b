"""Where pytest finds this file it puts the folder on the path: helper modules of all tests lie beside it."""

import gc
import signal
from collections.abc import Iterator, Mapping
from zlib import crc32

import pytest
from hypothesis import settings
from trying import IS_FULL, few

# Who starts the tests in the background has some signals ignored, and all that they start would inherit that.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# Here every run draws the same, so that a change fails by what it changes; with SPACELANG_FULL each run draws anew. No
# case has a deadline: what a busy machine is slow at is right all the same.
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
"""Parameters that take turns, each in the tests that have this in their names."""
AMONG_TESTS = {"branches"}
"""Those that take turns among tests, too: a test that has no other parameter is tried with one value of these."""


OBJECTS_BETWEEN_COLLECTIONS = 5000
"""Python looks for circles of garbage after 700 new objects: an eighth of what tests in this process took."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests, and all that they import, are no garbage: they are looked at neither meanwhile nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
        gc.enable()


@pytest.fixture
def quick_zygotes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a search in this process starts to evaluate trials is forked off one that has imported what it needs.

    For tests that are about searches, not about zygotes: three quarters of such a test are imports of scikit-learn.
    """
    start_quickly(monkeypatch)


@pytest.fixture(scope="module")
def quick_zygotes_of_all() -> Iterator[None]:
    """The same for a file whose tests share executors."""
    with pytest.MonkeyPatch.context() as patch:
        start_quickly(patch)
        yield


def start_quickly(patch: pytest.MonkeyPatch) -> None:
    from commands import zygote

    from spacelang.runtime.executors._processes.zygote_connection import ZygoteConnection

    patch.setattr(ZygoteConnection, "_start_process", zygote)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What the reduced form has of all tests: those that are marked `full` are left out.

    Parameters that take turns have for each combination of the others one of their values, drawn the same in every run.
    """
    if IS_FULL:
        return
    taking = [_taking_turns(item) for item in items]
    numbers = _Numbers()
    places = [numbers.of(item) for item in items]  # of all, before it is known how many values there are
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item, parameters, place in zip(items, taking, places, strict=True):
        is_short = item.get_closest_marker("full") is None
        values = {each: numbers.values(item, each) for each in parameters}
        (kept if is_short and _has_its_turn(item, place, values) else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


class _Numbers:
    """The values of each parameter of a test, numbered as they appear; what pytest numbers may be whole cases."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[int, int]] = {}

    def of(self, item: pytest.Item) -> Mapping[str, int]:
        """Which value of each parameter a case has."""
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        return {each: self._number(_name(item), each, id(value)) for each, value in parameters.items()}

    def values(self, item: pytest.Item, parameter: str) -> int:
        """How many values of a parameter have appeared."""
        return len(self._known[_name(item), parameter])

    def _number(self, name: str, parameter: str, value: int) -> int:
        known = self._known.setdefault((name, parameter), {})
        return known.setdefault(value, len(known))


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _taking_turns(item: pytest.Item) -> list[str]:
    """The parameters of a test that take turns; none where there would be no other, but for `AMONG_TESTS`."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    marked = [mark.args[0] for mark in item.iter_markers("takes_turns")]
    taking = [*marked, *(each for each, part in TAKING_TURNS.items() if part in _name(item))]
    found = [each for each in taking if each in parameters]
    return found if len(found) < len(parameters) or AMONG_TESTS.issuperset(found) else []


def _has_its_turn(item: pytest.Item, places: Mapping[str, int], values: Mapping[str, int]) -> bool:
    """Whether each of some parameters, which have so many values, has the one that is drawn for the others."""
    others = sorted(each for each in places.items() if each[0] not in values)
    drawn = {each: crc32(repr((_name(item), each, others)).encode()) % number for each, number in values.items()}
    return all(places[each] == place for each, place in drawn.items())

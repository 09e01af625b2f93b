"""Errors are the same again in another process: with their message, and with what they say beside it."""

import pickle
from collections.abc import Callable

import pytest

import spacelang as sl
from spacelang.analysis.surroundings import BindingError
from spacelang.api.compiling import RefusalError
from spacelang.plugins import UnknownPluginError
from spacelang.runtime.errors import DataError, OtherSearchError
from spacelang.runtime.storing.store_faults import StoreError


def fails(error: Exception) -> Callable[[], object]:
    def raised() -> object:
        raise error

    return raised


@pytest.mark.parametrize(
    ("does", "kind"),
    [
        (lambda: sl.parse("stage estimator = SVCC"), sl.SpaceError),
        (lambda: sl.load("blds_table1").compile("nothing"), UnknownPluginError),
        (lambda: sl.load("blds_table1").bind(n_rows=3), BindingError),
        (fails(RefusalError(())), RefusalError),
        (fails(DataError("no file", "give one")), DataError),
        (fails(StoreError("another run", "give a new one", ("the seed",))), StoreError),
        (fails(OtherSearchError(3)), OtherSearchError),
    ],
)
def test_an_error_is_the_same_in_another_process(does: Callable[[], object], kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        does()
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value)
    assert (str(again), again.args) == (str(caught.value), caught.value.args)
    assert repr(again.__dict__) == repr(caught.value.__dict__)

"""A compiled space says what it is, and refuses to decode anything that is no encoding, with an example of one."""

import pickle
from typing import Any

import pytest

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.targets import TARGETS
from spacelang.targets._checked_decoding import MAX_SHOWN_CHARACTERS, DecodingError, one_line_repr

SPACE = """\
space small
stage scaler = none | StandardScaler
stage estimator = GaussianNB | LogisticRegression { C : float[1e-4, 1e4] log = 1 }
"""
WRONG: tuple[Any, ...] = (3, "x", None, {}, {"a": 1}, [1, 2], Configuration({"scaler": "none"}))


@pytest.fixture(scope="module")
def space() -> sl.Space:
    return sl.parse(SPACE)


@pytest.mark.parametrize("target", TARGETS.names())
def test_what_is_no_encoding_is_refused_with_an_example(
    target: str, space: sl.Space, capsys: pytest.CaptureFixture[str]
) -> None:
    form = space.compile(target)
    for wrong in WRONG:
        with pytest.raises(DecodingError) as raised:
            form.decode(wrong)
        assert one_line_repr(form.encode(space.default())) in str(raised.value)
        assert f"not {one_line_repr(wrong)}" in str(raised.value)
    assert capsys.readouterr().out == ""
    again = pickle.loads(pickle.dumps(form))
    assert again.decode(again.encode(space.default())) == space.default()
    with pytest.raises(DecodingError):
        again.decode(None)


@pytest.mark.parametrize("target", TARGETS.names())
def test_a_compiled_space_has_a_readable_representation(target: str, space: sl.Space) -> None:
    form = space.compile(target)
    title = form.form.to_text().partition("\n")[0].removeprefix("# ")
    assert repr(form) == f"<compiled space, {target}: {title}>"
    assert repr(form.form) == f"<{type(form.form).__name__} {title}>"


def test_long_values_are_cut_in_messages() -> None:
    assert len(one_line_repr([0] * 999)) == MAX_SHOWN_CHARACTERS + 1

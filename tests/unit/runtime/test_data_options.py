"""How the data of a run was given is kept with the run, and read again; what a stranger wrote there is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from storing import header

from spacelang.runtime.data.read_options import DataOptions, ReadOptions, parse_data_options
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.run_header import header_from_texts, header_to_texts

READINGS = st.builds(
    ReadOptions,
    st.sampled_from([",", ";", "\t", " "]),
    st.sampled_from(["utf-8", "cp1252", "utf-16"]),
    st.sampled_from([".", ","]),
    st.lists(st.text(max_size=4), max_size=3).map(tuple),
)
SHARES = st.floats(0, 1, exclude_min=True, exclude_max=True)
NAMES = st.none() | st.text(max_size=5)
OPTIONS = st.builds(DataOptions, NAMES, st.none() | SHARES, READINGS, NAMES, NAMES)


@given(OPTIONS)
def test_a_store_gives_back_how_the_data_was_given(said: DataOptions) -> None:
    kept = header_from_texts(header_to_texts(header(data_options=said.as_texts)))
    assert parse_data_options(kept.data_options) == said
    assert kept == header(), "runs are told apart by their data, not by how it was given"


WRONG = ({"test": "2"}, {"test": "nan"}, {"test": "/etc/passwd"}, {"sep": ";;"}, {"encoding": "no"}, {"decimal": "x"})
NO_NAMES = ({"drop_columns": text} for text in ("1", "[1]", "x", '{"a": "b"}'))


@pytest.mark.parametrize("texts", [*WRONG, *NO_NAMES])
def test_what_no_run_has_written_is_refused(texts: dict[str, str]) -> None:
    with pytest.raises(InputError, match="the store has invalid data options"):
        parse_data_options(texts)

"""The ways to write a domain as numbers, by the example of the room's docstring."""

import numpy as np
import pytest

from spacelang.encodings.mixed_integer_encoding import MixedIntegerEncoding
from spacelang.encodings.row_encodings import DomainEncoding, exact_encoding, unit_interval_encoding
from spacelang.ir.domain import Categorical, Grid, Real, Union
from spacelang.ir.domain_properties import unencodable_domains
from spacelang.ir.space import Hyperparameter, Operator, Space
from spacelang.sampling.batch_builder import encode_values
from spacelang.sampling.value_codes import decode_values

DOMAIN = Union((Categorical((None,)), Grid(1, 100, log=True)))
VALUES = (None, 1, 10, 100)


@pytest.mark.parametrize(
    ("coding", "rows"),
    [
        (exact_encoding(DOMAIN), [(0, 0), (1, 1), (1, 10), (1, 100)]),
        (unit_interval_encoding(DOMAIN), [(0, np.nan), (1, 0), (1, 0.5), (1, 1)]),
    ],
    ids=["selected", "parted"],
)
def test_the_example(coding: DomainEncoding, rows: list[tuple[float, ...]]) -> None:
    assert np.allclose(coding.encode(encode_values(DOMAIN, VALUES)), rows, equal_nan=True)
    assert decode_values(DOMAIN, coding.decode(np.array(rows, float))) == [*VALUES]


def test_the_place_among_all_members() -> None:
    whole, numbers = MixedIntegerEncoding(DOMAIN, DOMAIN).encode(encode_values(DOMAIN, VALUES))
    assert (whole.tolist(), numbers) == ([0, 1, 10, 100], [])


def test_what_lies_between_members_is_the_nearest_the_upper_one_of_two() -> None:
    few = Grid(0, 4)
    assert decode_values(
        few, unit_interval_encoding(few).decode(np.array([[0.124], [0.125], [0.9], [-3.0], [7.0]]))
    ) == [
        0,
        1,
        4,
        0,
        4,
    ]
    open_ = Real(0.0, 1.0, lower_open=True, upper_open=True)
    least, greatest = decode_values(open_, unit_interval_encoding(open_).decode(np.array([[0.0], [1.0]])))
    assert (least, greatest) == (5e-324, 0.9999999999999999)


def test_what_floats_do_not_tell_apart_is_named() -> None:
    domains = {"a": Grid(0, 2**53 - 2), "b": Grid(0, 2**53), "c": Union((Grid(0.0, 1.0, step=1e-17),))}
    nodes = tuple(Hyperparameter(name, name, name, domain, domain.representative) for name, domain in domains.items())
    found = [node.name for node, _ in unencodable_domains(Space("s", Operator("A", "toy.A", nodes)))]
    assert found == ["b", "c"]

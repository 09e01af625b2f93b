"""Priors: their names, numbers and checks."""

from pathlib import Path

import pytest

import spacelang
from spacelang.ir.prior import (
    PRIORS,
    Normal,
    Prior,
    Uniform,
    describe,
    expected_arguments,
    make_prior,
    name_and_parameters,
    usage,
)


@pytest.mark.parametrize("prior", [Normal(0.5, 0.1), Normal(-3, 2), Uniform()])
def test_a_prior_is_its_name_and_its_numbers(prior: Prior) -> None:
    assert make_prior(*name_and_parameters(prior)) == prior
    assert name_and_parameters(prior)[0] in PRIORS


@pytest.mark.parametrize(
    ("name", "numbers"), [("normal", (0, 0)), ("normal", (1,)), ("normal", ()), ("uniform", (1,)), ("made_up", (1, 2))]
)
def test_numbers_fit_their_distribution(name: str, numbers: tuple[float, ...]) -> None:
    assert make_prior(name, numbers) is None


def test_a_prior_is_written_as_the_language_has_it() -> None:
    assert [describe(Normal(0.5, 0.25)), describe(Uniform())] == ["@prior(normal, 0.5, 0.25)", "@prior(uniform)"]


def test_mistakes_in_arguments_are_named() -> None:
    assert expected_arguments("made_up", ()) == "`normal, mean, deviation` or `uniform`"
    assert expected_arguments("normal", (1,)) == usage(Normal) == "`normal, mean, deviation`"
    assert expected_arguments("normal", (1, 0)) == "`deviation` greater than 0"
    assert expected_arguments("uniform", (1,)) == usage(Uniform) == "`uniform` without numbers"
    assert expected_arguments("normal", (1, 2)) is None


def test_the_reference_describes_each_prior() -> None:
    reference = (Path(spacelang.__file__).parents[1] / "grammars" / "REFERENCE.md").read_text(encoding="utf-8")
    assert all(f"`@prior({name}" in reference for name in PRIORS)

"""The arms of BOASF: worked numbers, and what is told of bad options.

See spacelang/optimizers/README.md, section "BOASF: arms".
"""

import time

import numpy as np
import pytest

import spacelang
from spacelang.analysis import CheckSettings, check
from spacelang.files import resource_folder
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Union
from spacelang.plugins import OptionError
from spacelang.serialization.space_text import space_to_text
from spacelang.solver.counting import Structures
from spacelang.targets._boasf import describe_piece, split_into_pieces
from spacelang.targets.boasf import ArmSpaces, Boasf
from spacelang.text import Source

DATA = CheckSettings({"n_samples": 400, "n_features": 30, "n_classes": 2})


def structures_of(text: str) -> Structures:
    found = check(Source("a.space", text), DATA)
    assert found.structures is not None, found.diagnostics
    return found.structures


def bundled(name: str) -> Structures:
    return structures_of((resource_folder("spaces") / f"{name}.space").read_text(encoding="utf-8"))


def arms_of(structures: Structures, target: Boasf) -> ArmSpaces:
    return target.lower(structures).form


def names_of(text: str, target: Boasf) -> list[str]:
    return [arm.name for arm in arms_of(structures_of(text), target).arms]


PIECES = [
    (Real(0.0, 1.0, lower_open=True), 2, ["(0, 0.5)", "[0.5, 1]"]),
    (Real(0.0, 1.0, upper_open=True), 3, ["[0, 0.333333)", "[0.333333, 0.666667)", "[0.666667, 1)"]),
    (Real(1e-4, 1e4, log=True), 2, ["[0.0001, 1)", "[1, 10000]"]),
    (Grid(0.0, 0.3, step=0.1), 3, ["0..0.1 step 0.1", "0.2", "0.3"]),
    (Grid(2, 5), 2, ["2..3", "4..5"]),
    (Grid(0, 9_999_999), 2, ["0..4999999", "5000000..9999999"]),
    (Grid(1, 10**18, log=True), 3, ["1..999999", "1000000..999999999999", "1000000000000..1000000000000000000"]),
    (Real(1.0, 1.0000000000000002), 2, ["[1, 1]"]),
    (Real(-1.7e308, 1.7e308, lower_open=True, upper_open=True), 2, ["(-1.7e+308, 0)", "[0, 1.7e+308)"]),
    (Grid(2, 21), 2, ["2..11", "12..21"]),
    (Grid(1, 21), 2, ["1..11", "12..21"]),
    (Grid(1, 3), 5, ["1", "2", "3"]),
    (Grid(2, 10, step=4), 2, ["2..6 step 4", "10"]),
    (Grid(1, 100, log=True), 2, ["1..9", "10..100"]),
    (Categorical(("a", "b", "c", "d", "e")), 2, ["{a, b, c}", "{d, e}"]),
    (Ordinal(("a", "b")), 4, ["a", "b"]),
    (Categorical((True,)), 2, ["true"]),
    (Union((Categorical((None,)), Grid(2, 50))), 2, ["none", "2..50"]),
    (Union((Categorical((None,)), Grid(2, 50))), 3, ["none", "2..26", "27..50"]),
    (Union((Categorical(("a",)), Grid(1, 2), Real(3.0, 4.0))), 2, ["a | 1..2", "[3, 4]"]),
    (
        Union((Categorical(("a", "b")), Real(0.0, 1.0))),
        4,
        ["{a, b}", "[0, 0.333333)", "[0.333333, 0.666667)", "[0.666667, 1]"],
    ),
]


@pytest.mark.parametrize(("domain", "number", "pieces"), PIECES)
def test_domains_are_cut_as_the_paper_says(domain: Domain, number: int, pieces: list[str]) -> None:
    assert [describe_piece(piece) for piece in split_into_pieces(domain, number)] == pieces


def test_the_arms_of_the_worked_example() -> None:
    text = "stage e = RandomForestClassifier { max_features : float(0, 1], min_samples_leaf : int[2, 5] }"
    assert names_of(text, Boasf("subspaces")) == [
        "max_features (0, 0.5), min_samples_leaf 2..3",
        "max_features (0, 0.5), min_samples_leaf 4..5",
        "max_features [0.5, 1], min_samples_leaf 2..3",
        "max_features [0.5, 1], min_samples_leaf 4..5",
    ]


@pytest.mark.parametrize(
    ("name", "target", "number"),
    [
        ("boasf_random_forest", Boasf("subspaces"), 32),
        ("boasf_random_forest", Boasf("subspaces", k=1), 1),
        ("boasf_random_forest", Boasf("subspaces", k=3), 2 * 3 * 3 * 3 * 2),
        ("boasf_random_forest", Boasf(), 1),
        ("boasf_logistic_regression", Boasf("subspaces"), 8),
        ("boasf_models", Boasf(), 16),
        ("admm_table_a2", Boasf(), 11),
        ("admm_table_a2", Boasf(stage="selector"), 7),
    ],
)
def test_the_bundled_spaces_have_as_many_arms_as_the_paper(name: str, target: Boasf, number: int) -> None:
    arms = arms_of(bundled(name), target)
    assert len(arms.arms) == number
    rng = np.random.default_rng(0)
    for index, configuration in arms.sample(20, rng):
        assert arms.index_of(configuration) == index
        assert arms.accepts((index, configuration))


def test_hyperparameters_of_different_algorithms_are_not_crossed() -> None:
    text = """\
stage scaler    = none | MinMaxScaler | RobustScaler { with_centering : bool }
stage estimator =
  | GaussianNB
  | SVC { C : float[0.01, 100] log }
  | KNeighborsClassifier { n_neighbors : int[1, 4], p : {1, 2} }
"""
    assert names_of(text, Boasf("subspaces")) == [
        f"{scaler}, {estimator}"
        for scaler in (
            "none or MinMaxScaler",
            "RobustScaler, with_centering true",
            "RobustScaler, with_centering false",
        )
        for estimator in (
            "GaussianNB",
            "SVC, C [0.01, 1)",
            "SVC, C [1, 100]",
            "KNeighborsClassifier, n_neighbors 1..2, p 1",
            "KNeighborsClassifier, n_neighbors 1..2, p 2",
            "KNeighborsClassifier, n_neighbors 3..4, p 1",
            "KNeighborsClassifier, n_neighbors 3..4, p 2",
        )
    ]


def test_what_is_not_active_lies_in_the_arm_of_the_first_piece() -> None:
    text = "stage e = SVC { kernel : {rbf, poly, sigmoid} = rbf, degree : int[2, 5] = 3 when kernel == poly }"
    names = names_of(text, Boasf("subspaces"))
    assert names == ["kernel {rbf, poly}, degree 2..3 or inactive", "kernel poly, degree 4..5", "kernel sigmoid"]
    (first, second, third) = arms_of(structures_of(text), Boasf("subspaces")).arms
    assert "degree : int[2, 3] = 3 when kernel == poly" in space_to_text(first.space)
    assert "degree : int[4, 5] = 4\n" in space_to_text(second.space)
    assert "degree" not in space_to_text(third.space)


def test_split_says_into_how_many_pieces() -> None:
    text = "stage e = SVC { C : float[0.01, 100] log @split(4), shrinking : bool @split(1), tol : float[0.1, 0.2] }"
    arms = arms_of(structures_of(text), Boasf("subspaces", k=3))
    assert len(arms.arms) == 4 * 3
    assert "shrinking" not in arms.arms[0].name


def test_constraints_empty_no_arm() -> None:
    text = """\
stage e = RandomForestClassifier { max_depth : int[1, 8] = 2, min_samples_leaf : int[1, 8] = 2 }
require e.RandomForestClassifier.max_depth + e.RandomForestClassifier.min_samples_leaf <= 8
"""
    assert names_of(text, Boasf("subspaces")) == [
        "max_depth 1..4, min_samples_leaf 1..4",
        "max_depth 1..4, min_samples_leaf 5..8",
        "max_depth 5..8, min_samples_leaf 1..4",
    ]


@pytest.mark.parametrize(
    ("target", "message", "help_"),
    [
        (
            Boasf("subspaces"),
            "the space would have 77,568,150 arms, more than the maximum of 1,024 (`cap`)",
            "`--set k=1` cuts only where `@split(n)` is given, `@split(1)` keeps one of the 92 hyperparameters whole, "
            "or allow more arms with `--set cap=…`",
        ),
        (
            Boasf(stage="estimater"),
            "unknown stage `estimater`",
            "did you mean `estimator`? the stages are `scaler`, `transformer`, `selector`, `estimator`",
        ),
        (
            Boasf(cap=4),
            "the space would have 11 arms, more than the maximum of 4 (`cap`)",
            "choose another stage with `--set stage=…`, or allow more arms with `--set cap=…`",
        ),
    ],
)
def test_what_a_space_cannot_be_cut_into_is_said(target: Boasf, message: str, help_: str) -> None:
    with pytest.raises(OptionError) as caught:
        target.lower(bundled("admm_table_a2"))
    assert (caught.value.message, caught.value.help) == (message, help_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "`k` cannot be 0"),
        ({"cap": -1}, "`cap` cannot be -1"),
        ({"arms": "subspaces", "stage": "estimator"}, "`stage` has no effect with `arms=subspaces`"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        Boasf(**options)  # type: ignore[arg-type]
    assert caught.value.message == message
    assert caught.value.help


def test_a_huge_k_is_refused_before_anything_is_cut() -> None:
    started = time.process_time()
    with pytest.raises(OptionError, match=r"the space would have 1,000,000,000 arms"):
        Boasf("subspaces", k=10**9).lower(bundled("boasf_random_forest"))
    assert time.process_time() - started < 5


def test_a_space_without_a_stage_is_one_arm() -> None:
    structures = structures_of("pipeline = SVC { C : float[1, 2], shrinking : bool }")
    assert len(arms_of(structures, Boasf()).arms) == 1
    assert len(arms_of(structures, Boasf("subspaces")).arms) == 4


def test_nothing_is_listed_of_a_space_with_many_structures() -> None:
    """A space of 10^13 structures has its arms at once; only what is asked for is made."""
    stages = "\n".join(f"stage s{number} = none | A{number} | B{number}" for number in range(28))
    names = "\n".join(f"abstract {letter}{number}" for letter in "AB" for number in range(28))
    structures = structures_of(f"{names}\n{stages}\n")
    arms = arms_of(structures, Boasf())
    assert [arm.name for arm in arms.arms] == ["none", "A27", "B27"]
    assert arms.arms[1].structures.count == 3**27


def test_the_text_has_arms_with_structures_and_pieces() -> None:
    text = arms_of(bundled("boasf_logistic_regression"), Boasf("subspaces")).to_text()
    assert text.startswith(
        """\
boasf_logistic_regression: 8 arms, pieces of 3 hyperparameters

   1  l1_ratio 0.0, C [0.0001, 5000), max_iter 50..275
      1 structure
      estimator.l1_ratio  0.0
      estimator.C         [0.0001, 5000)
      estimator.max_iter  50..275

   2  l1_ratio 0.0, C [0.0001, 5000), max_iter 276..500
"""
    )
    graph = arms_of(bundled("boasf_models"), Boasf()).to_dot()
    assert '"space" -> "16";' in graph
    assert '"16" [label="KNeighborsClassifier"];' in graph


def test_the_report_says_whether_domains_are_cut() -> None:
    space = spacelang.load("boasf_logistic_regression")
    for arms, word in (("models", "unchanged"), ("subspaces", "piece")):
        told = {entry.construct: entry.message for entry in space.compile("boasf", arms=arms).report}
        assert word in told["float ranges"]
        assert word in told["integer ranges"]

"""Random draws of the libraries compared with the distribution of the space's random draws."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spacelang as sl
from spacelang.api.compilation import verify
from spacelang.cli._app import run_command_line
from spacelang.reductions.case_splits import CaseSplit, all_parts, unfold_into_case_splits
from spacelang.reductions.case_weights import CaseWeights
from spacelang.targets.sklearn import Sklearn

UNEVEN = sl.parse(
    """space s
stage scaler = none | StandardScaler @default
stage e = GaussianNB | BaggingClassifier { estimator : GaussianNB | SVC { C : float[1, 9] = 1 } | LogisticRegression }
forbid scaler is none and e is GaussianNB
"""
)
RELATED = sl.parse(
    "stage e = SVC { degree : int[1, 9] = 3, coef0 : int[0, 9] = 0 }\nforbid e.SVC.degree > 2 and e.SVC.coef0 > 1"
)
CONNECTED = sl.parse(
    """abstract M
stage scaler = none | MinMaxScaler { clip : bool = false }
stage e = M { a : int[1, 9] = 1, b : int[1, 9] = 1, c : int[1, 9] = 1 } | GaussianNB
require e.M.a + e.M.b <= 10
"""
)


def draw_entries(space: sl.Space, target: str) -> list[tuple[str, str]]:
    """Return the status and the message of each entry about random draws in the report of a compiled space."""
    report = space.compile(target).report
    return [(entry.status.value, entry.message) for entry in report if entry.construct == "random draws"]


def test_weights_are_numbers_of_structures() -> None:
    forks = {
        part.node.key: part
        for part in all_parts(unfold_into_case_splits(UNEVEN.counted))
        if isinstance(part, CaseSplit) and part.node
    }
    shares = CaseWeights(UNEVEN.counted).case_probabilities(forks["scaler"])
    assert sorted(shares or ()) == pytest.approx([3 / 7, 4 / 7])
    assert CaseWeights(UNEVEN.counted).case_probabilities(forks["e.estimator"]) is None


def test_values_that_constraints_connect_are_weighted_by_their_number() -> None:
    (fork,) = (
        part
        for part in all_parts(unfold_into_case_splits(RELATED.counted))
        if isinstance(part, CaseSplit) and len(part.cases) > 1
    )
    assert sorted(CaseWeights(RELATED.counted).case_probabilities(fork) or ()) == pytest.approx([14 / 34, 20 / 34])


@pytest.mark.parametrize("target", ["hyperopt", "configspace", "random"])
def test_weighted_choices_follow_the_law(target: str) -> None:
    found = UNEVEN.verify(target, count=20)
    assert found.holds
    assert found.distances is not None
    assert not found.distances.large_distances
    assert found.distances.draw_count == 3_000


@pytest.mark.parametrize("part", ["int[7, 7]", "int[3, n_features]", "int[1, 1] step 2 | {z}"])
def test_parts_of_a_union_are_equally_likely_whatever_their_sizes(part: str) -> None:
    space = sl.parse(f"abstract A\nstage e = A {{ x : {{a, b, c}} | {part} = a }}", bind={"n_features": 3})
    found = space.verify("sklearn", count=20)
    assert found.holds
    assert found.distances is not None
    assert not found.distances.large_distances


def test_even_choices_of_optuna_are_declared_with_their_distance() -> None:
    found = UNEVEN.verify("optuna", count=20)
    assert found.holds
    assert found.distances is not None
    assert found.distances.large_distances.keys() == found.distances.declared_reasons.keys() == {"e", "scaler"}
    assert found.distances.large_distances["e"] == pytest.approx(6 / 7 - 0.75, abs=0.03)
    (entry,) = (entry for entry in UNEVEN.compile("optuna").report if entry.construct == "random draws")
    assert "`e` differs by 0.25" in entry.message


def test_the_report_names_what_may_deviate_and_why() -> None:
    (entry,) = draw_entries(CONNECTED, "optuna")
    assert entry == (
        "rewritten",
        "draws of `RandomSampler` may not follow the distribution of the space's random draws for `e.a`, `e.b`: values "
        "that constraints connect are drawn one after the other",
    )
    assert [status for status, _ in draw_entries(CONNECTED, "hyperopt")] == ["exact"]
    assert [status for status, _ in draw_entries(UNEVEN, "configspace")] == ["rewritten"]
    assert not draw_entries(UNEVEN, "blds")


def test_measured_distances_replace_what_the_target_declares() -> None:
    form = UNEVEN.compile("optuna")
    found = UNEVEN.draw_distances("optuna", draws=2_000, seed=1)
    assert found is not None
    assert (found.draw_count, found.large_distances.keys()) == (2_000, {"e", "scaler"})
    (entry,) = (each for each in found.added_to(form.report) if each.construct == "random draws")
    assert entry.status == "rewritten"
    assert entry.message.startswith(f"2,000 draws of `RandomSampler` differ by up to {found.distances['e']:.3f} from ")
    assert UNEVEN.draw_distances("blds") is None
    with pytest.raises(ValueError, match="give at least 1"):
        UNEVEN.draw_distances("optuna", draws=0)


def test_compile_measures_draws_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "uneven.space"
    path.write_text("stage e = GaussianNB | SVC", encoding="utf-8")
    assert run_command_line(["compile", str(path), "--target", "random", "--draws", "2000"]) == 0
    assert (
        "exact        random draws: 2,000 draws of the sampler of the space differ by up to " in capsys.readouterr().out
    )
    assert run_command_line(["compile", str(path), "--target", "blds", "--draws", "2000"]) == 0
    assert "`--draws` has no effect" in capsys.readouterr().err


def test_few_draws_neither_accuse_nor_overrule() -> None:
    exact, uneven = UNEVEN.draw_distances("random", draws=60), UNEVEN.draw_distances("optuna", draws=60)
    assert exact is not None
    assert uneven is not None
    assert not exact.large_distances
    assert not uneven.large_distances
    of_exact, of_uneven = (
        [each for each in found.added_to(UNEVEN.compile(target).report) if each.construct == "random draws"]
        for found, target in ((exact, "random"), (uneven, "optuna"))
    )
    (entry,) = of_exact
    assert entry.status == "exact"
    assert entry.message.endswith(f", where differences up to {exact.highest_limit:.3f} may be chance")
    assert 0.2 < exact.highest_limit < 0.35
    assert [each.status for each in of_uneven] == ["rewritten", "exact"]
    assert "may not follow" in of_uneven[0].message


def test_an_undeclared_distance_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sklearn, "random_draws", replace(Sklearn.random_draws, deviations=()))
    found = UNEVEN.verify("sklearn", count=20)
    assert not found.holds
    assert found.laws[-1].broken_by.startswith("the shares of ")


def test_wrong_weights_break_the_law_where_no_reason_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CaseWeights, "case_probabilities", lambda *_: None)
    found: Any = UNEVEN.verify("hyperopt", count=20)
    assert not found.holds
    assert not found.distances.declared_reasons


@pytest.mark.parametrize("target", ["optuna", "hyperopt", "configspace"])
def test_a_reason_is_declared_only_for_the_variables_that_it_concerns(target: str) -> None:
    form: Any = CONNECTED.compile(target, **({"relations": "cases"} if target == "hyperopt" else {}))
    declared = form.origin[0].random_draws.deviation_reasons(form.form)
    assert {"e.a", "e.b"} <= declared.keys()
    assert not declared.keys() & {"scaler", "scaler.clip", "e.c"}


def test_the_numbers_of_a_chain_are_even_and_therefore_not_reported() -> None:
    chain = sl.parse("stage step = PCA | StandardScaler\nstage e = GaussianNB\npipeline = repeat(step, 0, 2) -> e")
    assert draw_entries(chain, "optuna") == [
        ("exact", "draws of `RandomSampler` follow the distribution of the space's random draws")
    ]
    assert not chain.verify("optuna", count=20).distances.large_distances


def test_lost_guidance_is_no_distance() -> None:
    weighted = sl.parse("stage e = GaussianNB @weight(9) | SVC { C : float[1, 9] = 1 @prior(normal, 1, 1) }")
    found: Any = weighted.verify("optuna", count=20).distances
    assert not found.large_distances


def test_nothing_is_drawn_without_draws() -> None:
    form = UNEVEN.compile("optuna")
    assert verify(form, UNEVEN.counted, count=20, draws=0).distances is None
    assert verify(replace(form, origin=None), UNEVEN.counted, count=20).distances is None


ACTIVE_RELATED = sl.parse(
    """abstract M
stage e = M { n : int[1, 2] = 1, w1 : int[1, 9] = 1, w2 : int[1, w1] = 1 when n == 2, u : int[1, 9], v : int[1, u] }
  | GaussianNB
"""
)


@pytest.mark.parametrize("target", ["configspace", "hyperopt", "nevergrad", "optuna", "sklearn"])
def test_what_decides_which_quantiles_are_active_is_declared(target: str) -> None:
    form: Any = ACTIVE_RELATED.compile(target, relations="quantiles")
    reasons = form.origin[0].random_draws.deviation_reasons(form.form)
    assert {"e.n", "e.w1", "e.w2"} <= reasons.keys()
    if target != "sklearn":
        assert reasons.keys() == {"e.n", "e.w1", "e.w2"}


def test_rejection_draws_alternatives_with_relations_less_often_and_declares_it() -> None:
    found = CONNECTED.verify("optuna", count=20, draws=1_000, relations="rejection")
    assert found.holds
    assert found.distances is not None
    assert found.distances.declared_reasons["e"] == "draws that constraints exclude are repeated"

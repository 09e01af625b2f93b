"""Where ADMM begins."""

import pytest

from spacelang.analysis import CheckSettings, check
from spacelang.files import resource_folder
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid
from spacelang.ir.expr import And, BranchTest
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import SKIPPED_STEP, Branch, Space
from spacelang.optimizers._admm.iterations import starting_point_of_search
from spacelang.solver.counting import Structures
from spacelang.targets.admm import Admm, AdmmForm
from spacelang.testing.small_spaces import FINITE, branch, choice, forbid, hyperparameter, make_space
from spacelang.text import Source


def form_of(space: Space) -> AdmmForm:
    return Admm().lower(Structures(space)).form


def first(space: Space, *initial: Configuration) -> Configuration:
    form = form_of(space)
    return form.decode(starting_point_of_search(form, initial))


@pytest.mark.parametrize("name", ["admm_table_a2", "admm_table_a3"])
def test_the_papers_first_pipeline_is_naive_bayes(name: str) -> None:
    text = (resource_folder("spaces") / f"{name}.space").read_text(encoding="utf-8")
    space = check(Source(name, text), CheckSettings({})).space
    assert space is not None
    found = first(space)
    stages = {stage.key: found[stage.key] for stage in space.stages}
    assert set(stages.values()) == {"none", "GaussianNB"}
    assert stages["estimator"] == "GaussianNB"


def test_constraints_are_kept_and_all_else_is_at_its_default() -> None:
    scaler = choice("scaler", "Std", Branch("none", SKIPPED_STEP), "MinMax")
    neighbours = branch("KNN", hyperparameter("estimator.KNN.k", Grid(1, 9), 5))
    rule = forbid(And((BranchTest("scaler", ("none",)), BranchTest("estimator", ("GaussianNB",)))))
    space = make_space(
        "first", scaler, choice("estimator", neighbours, "GaussianNB"), choice("last", "a", "b", default=1)
    )
    assert first(space) == Configuration({"scaler": "none", "estimator": "GaussianNB", "last": "b"})
    kept = make_space("first", scaler, choice("estimator", neighbours, "GaussianNB"), constraints=(rule,))
    assert first(kept) == Configuration({"scaler": "none", "estimator": "KNN", "estimator.KNN.k": 5})


@pytest.mark.parametrize("space", FINITE, ids=lambda space: space.name)
def test_it_is_a_member(space: Space) -> None:
    assert first_exclusion(space, first(space)) is None


def test_what_a_user_gives_is_first() -> None:
    space = make_space("given", choice("e", "GaussianNB", "f"))
    assert first(space, Configuration({"e": "f"}), Configuration({"e": "GaussianNB"})) == Configuration({"e": "f"})

"""Every bundled space is compiled to every target, and the libraries of the exported forms draw members of it."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bundles import NAMES
from commands import document, spacelang
from goldens import LOSSY

import spacelang as sl
from spacelang.api.space import Space
from spacelang.targets import TARGETS
from spacelang.targets._lowering import SourceForm
from spacelang.targets._lowering import compiled_document as written

PCS = Path(__file__).parents[3] / "shared" / "data" / "pcs" / "mosaic_1_0.pcs"
"""The MOSAIC space as it was published; it stands beside the repository where there is one."""

IS_FULL = bool(os.environ.get("SPACELANG_FULL"))
SAMPLES = 1_000 if IS_FULL else 100
SLOW = {} if IS_FULL else {"hyperopt": 30, "nevergrad": 10}
"""How often a slow library draws in the reduced form: hyperopt takes about 10 s for a thousand samples of one space."""
ALL = (*NAMES, "imported")


@pytest.fixture(scope="module", params=ALL)
def space(request: pytest.FixtureRequest) -> Space:
    if request.param != "imported":
        return sl.load(request.param)
    if not PCS.exists():
        pytest.skip("the published MOSAIC space is not beside the repository")
    return sl.import_space(PCS).space


@pytest.fixture(scope="module", params=TARGETS.names())
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.takes_turns("space")
def test_each_space_is_held_by_each_target_and_its_own_draws_are_members(space: Space, target: str) -> None:
    lowered = space.compile(target)
    assert all(entry.status.value != "refused" for entry in lowered.report)
    for encoding in lowered.sample(SLOW.get(target, SAMPLES), np.random.default_rng(0)):
        configuration = lowered.decode(encoding)
        assert configuration in space, space.exclusion(configuration)


@pytest.mark.takes_turns("target")  # the goldens of targets have members of all spaces
def test_members_of_each_space_are_reached_and_come_back(space: Space, target: str) -> None:
    lowered = space.compile(target)
    for configuration in [space.default(), *space.sample(20 if IS_FULL else 8, seed=1)]:
        encoding = lowered.encode(configuration)
        assert lowered.accepts(encoding), configuration
        found = lowered.decode(encoding)
        assert found == configuration or (target in LOSSY and lowered.decode(lowered.encode(found)) == found)


@pytest.mark.takes_turns("space")
def test_each_form_is_written_in_each_format(space: Space, target: str) -> None:
    lowered = space.compile(target)
    assert json.loads(json.dumps(written(target, space.checked, lowered), allow_nan=False))["target"] == target
    assert lowered.form.to_text().strip()
    assert lowered.form.to_dot().startswith("digraph ")
    if isinstance(lowered.form, SourceForm):
        compile(lowered.form.to_python(), "<form>", "exec")


def test_the_papers_figures_are_recognised(tmp_path: Path) -> None:
    def compiled(*arguments: str) -> Any:
        return document(spacelang("compile", *arguments, "--format", "json", folder=tmp_path), 0)

    blds = compiled("blds_table1", "--target", "blds")
    assert (blds["leaves"], blds["neighbours"]["1"], blds["neighbours"]["2"]) == (3072, 26, 252)
    admm = compiled("admm_table_a2", "--target", "admm")
    assert sorted(len(block["alternatives"]) for block in admm["z"] if len(block["alternatives"]) > 1) == [7, 8, 11, 11]
    assert len(admm["theta_c"]) + len(admm["theta_d"]) == 93
    mosaic = compiled("mosaic", "--target", "mosaic")
    assert mosaic["structures"] == 5940
    assert len(mosaic["root"]) == 16
    assert sum(action["structures"] for action in mosaic["root"]) == 5940
    forest = compiled("boasf_random_forest", "--target", "boasf", "--set", "arms=subspaces")
    regression = compiled("boasf_logistic_regression", "--target", "boasf", "--set", "arms=subspaces", "--set", "k=2")
    assert (len(forest["arms"]), len(regression["arms"])) == (32, 8)
    assert len(compiled("boasf_models", "--target", "boasf")["arms"]) == 16


def test_an_arm_is_a_space_of_its_own(tmp_path: Path) -> None:
    found = spacelang("compile", "boasf_models", "--target", "boasf", "--format", "json", folder=tmp_path)
    for number, arm in enumerate(document(found, 0)["arms"][:3]):
        (tmp_path / f"arm_{number}.space").write_text(arm["space"], encoding="utf-8")
        assert spacelang("check", f"arm_{number}.space", folder=tmp_path).returncode == 0
        assert spacelang("compile", f"arm_{number}.space", "--target", "blds", folder=tmp_path).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="paths in the message")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "boasf", "--set", "k=0"), "k"),
        (("--target", "boasf", "--set", "stage=nowhere"), "estimator"),
        (("--target", "admm", "--set", "conditions=melt"), "flatten"),
        (("--target", "nowhere"), "unknown target `nowhere`"),
        (("--target", "mosaic", "--set", "colour=red"), "colour"),
        (("--target", "mosaic", "--format", "python"), "no output in Python"),
    ],
)
def test_wrong_words_are_answered_with_the_right_ones(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = spacelang("compile", "blds_table1", *arguments, folder=tmp_path)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_strict_refuses_what_is_kept_in_part(tmp_path: Path) -> None:
    ended = spacelang("compile", "admm_table_a3", "--target", "blds", "--strict", folder=tmp_path)
    assert ended.returncode == 1
    assert "error[SL902]" in ended.stderr
    assert "admm_table_a3" in ended.stderr
    strict = spacelang("compile", "blds_table1", "--target", "blds", "--strict", folder=tmp_path)
    assert strict.returncode == 0

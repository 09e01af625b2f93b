"""The law of meaning of the target `configspace`: ConfigSpace itself takes exactly the members of a space."""

import json
import os
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ConfigSpace import Configuration as Theirs
from ConfigSpace import ConfigurationSpace
from ConfigSpace.types import NotSet
from hypothesis import example, given, settings
from hypothesis import strategies as st

import spacelang
from spacelang.importers._import_steps import import_space
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures
from spacelang.targets._configspace import space_planner as _configspace_planning
from spacelang.targets._configspace.encoded_domains import DECIMALS, round_like_configspace
from spacelang.targets._lowering import LoweringResult, Preservation, RefusedError
from spacelang.targets.configspace import Configspace
from spacelang.testing import small_spaces
from spacelang.text import Source

from . import brute
from .settings import EXAMPLES, LAW
from .spaces import finite_spaces, general_spaces
from .test_whole import checked
from .whole import Drawn, drawings

BUNDLED = (
    "blds_table1",
    "blds_table1_hpo",
    "admm_table_a2",
    "admm_table_a3",
    "mosaic",
    "boasf_models",
    "boasf_random_forest",
    "boasf_logistic_regression",
)
PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "pcs" / "mosaic_1_0.pcs"
DRAWS = 1_000 if os.environ.get("SPACELANG_FULL") else 100


def lowered(space: Space) -> LoweringResult[Any, Any]:
    return Configspace().lower(Structures(space))


def members(theirs: ConfigurationSpace) -> Iterator[dict[str, Any]]:
    """All configurations that ConfigSpace takes, with the conditions and clauses looked at by itself."""
    partial: list[dict[str, Any]] = [{}]
    for name in theirs:
        conditions = theirs.parent_conditions_of[name]
        partial = [
            {**values, name: value}
            for values in partial
            for value in (_values(theirs[name]) if all(c.satisfied_by_value(values) for c in conditions) else [NotSet])
        ]
        assert len(partial) < 200_000
    for values in partial:
        given_ = {name: value for name, value in values.items() if value is not NotSet}
        if accepts(theirs, given_):
            yield given_


def accepts(theirs: ConfigurationSpace, values: dict[str, Any]) -> bool:
    try:
        Theirs(theirs, values=values)
    except ValueError:
        return False
    return True


def _values(parameter: Any) -> list[Any]:
    for name in ("choices", "sequence"):
        if hasattr(parameter, name):
            return list(getattr(parameter, name))
    return [parameter.value] if hasattr(parameter, "value") else list(range(parameter.lower, parameter.upper + 1))


@settings(LAW)
@given(finite_spaces(), st.integers(0, 2**32 - 1))
def test_configspace_takes_exactly_the_members(space: Space, seed: int) -> None:
    if Structures(space).count:
        form = check_members_accepted(space)
        check_draws(space, form, seed)
        check_json(form.form)
        names: dict[str, Any] = {}
        exec(form.form.to_python(), names)
        assert names["space"] == form.form.native
        for values in members(form.form.native):
            assert Configuration(names["decode"](values)) == form.decode(values)


@settings(LAW)
@given(small_spaces.spaces(), st.integers(0, 2**32 - 1))
def test_the_module_of_any_space_decodes_as_the_form_does(space: Space, seed: int) -> None:
    if Structures(space).count:
        form, names = lowered(space), dict[str, Any]()
        exec(form.form.to_python(), names)
        for values in form.sample(3, np.random.default_rng(seed)):
            assert Configuration(names["decode"](values)) == form.decode(values)


@settings(LAW)
@given(small_spaces.spaces(), st.integers(0, 2**32 - 1))
def test_configspace_takes_exactly_the_members_of_nested_spaces(space: Space, seed: int) -> None:
    if Structures(space).count:
        check_draws(space, check_members_accepted(space), seed)


@settings(LAW)
@given(finite_spaces())
def test_groups_that_are_unfolded_have_the_same_members(space: Space) -> None:
    """Every group that something ties together, as if ConfigSpace could say nothing of it."""
    if Structures(space).count:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                _configspace_planning.ConfigSpacePlanner, "_is_worth_trying", lambda _, group: not group.factors
            )
            check_members_accepted(space)


def check_members_accepted(space: Space) -> LoweringResult[Any, Any]:
    form = lowered(space)
    found = [brute.text(form.decode(values).to_dict()) for values in members(form.form.native)]
    assert len(found) == len(set(found))
    assert set(found) == brute.configurations(space)
    return form


def check_draws(space: Space, form: LoweringResult[Any, Any], seed: int) -> None:
    form.form.native.seed(seed)
    for drawn in form.form.native.sample_configuration(10):
        drawn.check_valid_configuration()
        configuration = form.decode(drawn)
        assert first_exclusion(space, configuration) is None
        assert form.encode(configuration) == {name: plain(value) for name, value in dict(drawn).items()}


def check_json(form: Any) -> None:
    """The JSON is what ConfigSpace writes."""
    buffer = StringIO()
    form.native.to_json(buffer)
    theirs, ours = json.loads(buffer.getvalue()), json.loads(json.dumps(form.configuration_space_document))
    for part in ("hyperparameters", "conditions", "forbiddens"):
        assert sorted(map(canonical, theirs[part])) == sorted(map(canonical, ours[part]))
    assert ours["name"] == theirs["name"]


@settings(LAW)
@given(general_spaces(), st.integers(0, 2**32 - 1))
def test_configspace_takes_members_of_any_space(space: Space, seed: int) -> None:
    try:
        structures = Structures(space)
        if not structures.count:
            return
        form = lowered(space)
    except (UndecidableError, RefusedError):
        return
    rng = np.random.default_rng(seed)
    try:
        drawn = Sampler(structures).batch(10, rng).configurations()
    except SamplingFailedError:
        drawn = []
    for configuration in drawn:
        assert form.accepts(form.encode(configuration))
        assert form.decode(form.encode(configuration)) == configuration
    for encoding in form.sample(5, rng):
        assert form.accepts(encoding)
        assert first_exclusion(space, form.decode(encoding)) is None


def canonical(item: dict[str, Any]) -> str:
    return json.dumps(item, sort_keys=True)


def plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


# ---- the spaces that ship, and the one that MOSAIC's authors published


@pytest.fixture(scope="module", params=[*BUNDLED, "mosaic_1_0"])
def real(request: pytest.FixtureRequest) -> spacelang.Space:
    if request.param != "mosaic_1_0":
        return spacelang.load(request.param)
    if not PUBLISHED.is_file():
        pytest.skip("../shared/data is absent")
    return spacelang.import_space(PUBLISHED).space


def test_what_configspace_draws_of_a_real_space_is_a_member(real: spacelang.Space) -> None:
    form = lowered(real.checked)
    theirs = form.form.native
    theirs.seed(0)
    for drawn in theirs.sample_configuration(DRAWS):
        drawn.check_valid_configuration()
        assert form.decode(drawn) in real
    for ours in real.sample(DRAWS, seed=0):
        assert form.accepts(form.encode(ours))
        assert form.decode(form.encode(ours)) == ours
    assert form.decode(theirs.get_default_configuration()) == real.default()


def test_the_json_of_a_real_space_is_imported_again(real: spacelang.Space, tmp_path: Path) -> None:
    form = Configspace(choices=True).lower(Structures(real.checked))
    file = tmp_path / "again.json"
    file.write_text(json.dumps(form.form.to_json()["configuration_space"]), encoding="utf-8")
    again = spacelang.import_space(file)
    assert again.space.structures == real.structures
    for ours in real.sample(min(50, DRAWS // 6), seed=0):
        assert again.decode(form.encode(ours)) in again.space
    for theirs in again.space.sample(min(50, DRAWS // 6), seed=0):
        assert form.decode(again.encode(theirs)) in real


@settings(LAW)
@given(finite_spaces())
def test_the_json_is_imported_with_as_many_members(space: Space) -> None:
    if not Structures(space).count:
        return
    form = Configspace(choices=True).lower(Structures(space)).form
    again, diagnostics = import_space(Source("again.json", json.dumps(form.configuration_space_document)))
    assert again is not None, [diagnostic.message for diagnostic in diagnostics]
    members_ = {Configuration.from_json(text) for text in brute.configurations(spacelang.parse(again.text).checked)}
    assert {brute.text(form.decode(again.encode(member)).to_dict()) for member in members_} == brute.configurations(
        space
    )


# ---- texts of every construct


@settings(LAW, max_examples=EXAMPLES // 2)
@given(drawings(), st.integers(0, 2**32 - 1))
def test_configspace_takes_exactly_what_a_text_says(drawn: Drawn, seed: int) -> None:
    found = checked(drawn)
    if found.space is None or found.structures is None:
        return
    form = Configspace().lower(found.structures)
    taken = [brute.text(form.decode(values).to_dict()) for values in members(form.form.native)]
    assert len(taken) == len(set(taken))
    assert set(taken) == {brute.text(json.loads(member)) for member in drawn.oracle.configurations()}, drawn
    check_draws(found.space, form, seed)
    assert {entry.status for entry in form.report} <= {
        Preservation.EXACT,
        Preservation.REWRITTEN,
        Preservation.APPROXIMATED,
    }


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.5e-13)
@example(1.5e-13)
@example(1e300)
def test_numbers_are_rounded_as_configspace_rounds_them(number: float) -> None:
    with np.errstate(over="ignore"):
        assert round_like_configspace(number) == np.round(number, DECIMALS)

"""Laws of the lowerings of relations, on random ranges that comparisons connect."""

from fractions import Fraction
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from optuna.trial import FixedTrial
from scipy import stats

import spacelang as sl
from spacelang.api.compilation import code_length_warning
from spacelang.ir.membership import first_exclusion
from spacelang.reductions.quantile_reduction import reduce_to_quantiles
from spacelang.reductions.range_distributions import FloatRange
from spacelang.sampling.sampler import SamplingFailedError
from spacelang.targets._lowering import LoweringResult
from spacelang.testing.small_spaces import draw_integer, draw_one

from .related_draws import DRAWS, LEAST_P_VALUE
from .settings import LAW

RANGES = (
    "int[1, 6]", "int[0, 8] step 2", "int[1, 40] log", "float[0, 1] step 0.25", "int[1, 2000]",
    "float[0, 5]", "float[0.01, 10] log", "float(0, 4]",
)  # fmt: skip
RELATIONS = ("{0} <= {1}", "{0} < {1}", "{0} >= {1} + 1", "2 * {0} <= {1} + 5", "{0} + {1} <= 6", "{0} - {1} <= 1/2")


@st.composite
def related_texts(draw: Any) -> str:
    """Return the text of a space with two to four ranges and comparisons of neighbours, or a limit on their sum."""
    size = draw_integer(draw, 2, 4)
    kinds = draw_one(draw, (RANGES[:5], RANGES[5:], RANGES))
    lines = [f"  x{n} : {draw_one(draw, kinds)}" for n in range(size)]
    if draw_one(draw, (False, False, True)):
        lines = ["  count : int[1, 4]", *(f"{line} when count >= {n}" for n, line in enumerate(lines))]
    if draw_one(draw, (False, False, True)):
        lines.append(f"  require sum({', '.join(f'x{n}' for n in range(size))}) <= {draw_integer(draw, 4, 9)}")
    else:
        pairs = [(f"x{n}", f"x{n + 1}")[:: draw_one(draw, (1, -1))] for n in range(size - 1)]
        lines += [f"  require {draw_one(draw, RELATIONS).format(*pair)}" for pair in pairs]
    return "\n".join(["space related", "abstract M", "stage model = M {", *lines, "}"])


def checked_space(text: str) -> sl.Space:
    """Return the space of a text that has configurations."""
    try:
        space = sl.parse(text)
        assume(space.counted.count)
    except (sl.SpaceError, SamplingFailedError):
        reject()
    return space


def assert_members_and_nothing_else(form: LoweringResult[Any, Any], space: sl.Space) -> None:
    """Check that members are encoded and decoded, and that draws of the form are members."""
    for member in (space.default(), *space.sample(8, seed=0)):
        encoding = form.encode(member)
        assert form.accepts(encoding), member
        assert form.decode(encoding) == member
    for encoding in form.sample(12, np.random.default_rng(0)):
        assert form.accepts(encoding)
        assert first_exclusion(space.checked, form.decode(encoding)) is None


@settings(LAW)
@given(text=related_texts())
def test_bounds_of_optuna_leave_exactly_the_members(text: str) -> None:
    space = checked_space(text)
    try:
        form = space.compile("optuna", relations="native")
    except sl.SpaceError:
        reject()
    assert_members_and_nothing_else(form, space)
    names = {name for encoding in form.sample(20, np.random.default_rng(1)) for name in encoding}
    assert names <= {variable.key for variable in space.checked.variables.values()}
    module: dict[str, Any] = {}
    exec(form.form.to_python(), module)  # what users run
    for encoding in form.sample(6, np.random.default_rng(2)):
        assert module["suggest"](FixedTrial(encoding)) == form.decode(encoding).to_dict()


@pytest.mark.parametrize(
    "lines",
    [
        "lo : int[1, 1000]\nhi : int[lo, 1000]",
        "a : float[0, 1]\nb : float[0, 1 - a]\nc : float[0, 1 - a - b]",
        "hi : int[1, 91] step 3\nlo : int[1, 91] step 3\nmid : int[lo, hi] step 3",
        "n : int[1, 3]\na : int[16, 512] log\nb : int[16, a] log when n >= 2\nc : int[16, b] log when n >= 3",
    ],
)
def test_plain_relations_become_one_line_for_each_hyperparameter(lines: str) -> None:
    space = sl.parse(f"space s\nabstract M\nstage m = M {{\n{lines}\n}}")
    form = space.compile("optuna", relations="native")
    ((status, message),) = [(e.status, e.message) for e in form.report if e.construct == "relations"]
    assert (status, message.partition(":")[0]) == ("exact", "native")
    asked = form.form.to_python().count("trial.suggest")
    assert asked == len(space.checked.hyperparameters)


TARGETS = ("configspace", "hyperopt", "irace", "nevergrad", "optuna", "ray", "sklearn")


def assert_nearly_equal(found: Any, member: Any) -> None:
    """Check that numbers agree up to the 12th digit, and everything else is equal."""
    assert found.keys() == member.keys()
    for key, value in member.items():
        assert found[key] == (pytest.approx(value, rel=1e-10, abs=1e-10) if isinstance(value, float) else value)


@pytest.mark.parametrize("target", TARGETS)
@settings(LAW)
@given(text=related_texts())
def test_quantiles_are_members_with_one_name_for_each_hyperparameter(target: str, text: str) -> None:
    space = checked_space(text)
    try:
        form = space.compile(target, relations="quantiles")
    except sl.SpaceError:
        reject()
    for member in (space.default(), *space.sample(8, seed=0)):
        assert form.accepts(form.encode(member)), member
        assert_nearly_equal(form.decode(form.encode(member)), member)
    drawn = form.sample(12, np.random.default_rng(0))
    for encoding in drawn:
        assert first_exclusion(space.checked, form.decode(encoding)) is None
    assert {name for each in drawn for name in each} <= {node.key for node in space.checked.variables.values()}


@settings(LAW)
@given(text=related_texts())
def test_uniform_quantiles_follow_the_law_of_draws(text: str) -> None:
    space = checked_space(text)
    reduction = reduce_to_quantiles(space.counted)
    assume(reduction.groups and not space.checked.conditions)
    rng = np.random.default_rng(0)
    keys = reduction.groups[0].keys
    shares = [dict(zip(keys, each, strict=True)) for each in rng.random((DRAWS, len(keys))).tolist()]
    found = [reduction.decode(sl.Configuration({"model": "M", **each})) for each in shares]
    law = space.sample(3 * DRAWS, seed=1)
    for key in keys:
        mine, theirs = ([each[key] for each in several] for several in (found, law))
        assert stats.ks_2samp(mine, theirs).pvalue > LEAST_P_VALUE
    total = [sum(each[key] * place for place, key in enumerate(keys, 1)) for each in found]
    assert stats.ks_2samp(total, [sum(e[k] * p for p, k in enumerate(keys, 1)) for e in law]).pvalue > LEAST_P_VALUE


@settings(LAW)
@given(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3), st.booleans())
def test_a_float_is_the_same_limit_as_its_decimal(numbers: list[float], strict: bool) -> None:
    lower, number, upper = sorted(numbers)
    mine = FloatRange(lower, upper)
    for limit in (mine.last_at_most, mine.first_at_least):
        assert limit(number, strict=strict) == limit(Fraction(repr(number)), strict=strict)


@settings(LAW)
@given(text=related_texts())
def test_rejection_gives_members_only_and_prunes_the_others(text: str) -> None:
    space = checked_space(text)
    try:
        form = space.compile("optuna", relations="rejection")
    except sl.SpaceError:
        reject()
    assert_members_and_nothing_else(form, space)
    module: dict[str, Any] = {}
    exec(form.form.to_python(), module)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    trial, found = form.form.ask(study)
    assert first_exclusion(space.checked, sl.Configuration(found)) is None
    assert module["violations"](found) == [0.0] * len(space.checked.constraints)
    for each in study.trials[: trial.number]:
        assert each.state is optuna.trial.TrialState.PRUNED
        assert max(each.constraints.values()) > 0
        with pytest.raises(optuna.TrialPruned):
            module["suggest"](FixedTrial(each.params))
        assert module["violations"](module["decode"](each.params)) == pytest.approx([*each.constraints.values()])
    assert max(study.trials[trial.number].constraints.values()) <= 0


def test_rejection_asks_for_all_choices_under_one_name() -> None:
    space = sl.parse(
        """stage scaler = none | StandardScaler @default
stage e = SVC { kernel : {rbf, poly} = rbf, degree : int[2, 5] = 3 } | KNeighborsClassifier | GaussianNB
forbid scaler is none and e is SVC
forbid e.SVC.kernel == poly and e.SVC.degree > 3
"""
    )
    narrowed, whole = (space.compile("optuna", relations=each) for each in ("auto", "rejection"))
    names = [[e.message[:2] for e in form.report if e.construct == "names"] for form in (narrowed, whole)]
    assert names == [["5 "], ["4 "]]
    assert_members_and_nothing_else(whole, space)
    trial = FixedTrial({"scaler": "none", "e": "SVC", "e.kernel": "poly", "e.degree": 5})
    with pytest.raises(optuna.TrialPruned):
        whole.form.native(trial)
    module: dict[str, Any] = {}
    exec(whole.form.to_python(), module)
    assert module["violations"](module["ask"](trial)) == [1.0, 1.0]
    assert module["suggest"](FixedTrial(module["default"])) == space.default().to_dict()
    assert space.verify("optuna", relations="rejection", count=20, draws=500).holds


def test_rejection_keeps_amounts_as_an_attribute_before_optuna_5() -> None:
    class OldTrial(FixedTrial):
        set_constraint = property()  # as if it did not exist

    form = sl.parse("space s\nabstract M\nstage m = M {\nlo : int[1, 9]\nhi : int[lo, 9] }").compile(
        "optuna", relations="rejection"
    )
    trial = OldTrial({"m.lo": 7, "m.hi": 3})
    with pytest.raises(optuna.TrialPruned):
        form.form.native(trial)
    assert trial.user_attrs["constraints"] == [4.0]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("a : float[0, 1] = 0\nb : float[0, 1] = 0\nrequire a + b <= 1 / 500", "fewer than one draw in 10,000"),
        ("a : int[1, 5] = 1\nb : int[1, 5] = 1\nrequire a * b <= 9", "only test comparisons of sums"),
    ],
)
def test_rejection_is_refused_with_the_reason(lines: str, reason: str) -> None:
    space = sl.parse(f"space s\nabstract M\nstage m = M {{\n{lines}\n}}")
    with pytest.raises(sl.SpaceError, match=reason):
        space.compile("optuna", relations="rejection")


def test_only_a_function_of_many_cases_is_longer_than_ten_lines_for_each_variable() -> None:
    space = sl.parse("space s\nabstract M\nstage m = M {\nlo : int[1, 100]\nhi : int[lo, 100] }")
    several = {each: space.compile("optuna", relations=each) for each in ("native", "quantiles", "rejection", "cases")}
    warnings = {each: code_length_warning(form, space.checked) for each, form in several.items()}
    assert [each for each, warning in warnings.items() if warning] == ["cases"]
    assert several["native"].form.function_line_count == 7


@pytest.mark.parametrize(("target", "told"), [("optuna", "cases"), ("configspace", "native"), ("irace", "native")])
def test_the_report_says_how_relations_are_expressed_but_not_other_constraints(target: str, told: str) -> None:
    lines = "a : int[1, 9] = 3\nb : int[1, 9] = 4\nkind : {x, y} = x\nforbid a > 5 and kind == y"
    option = {"relations": told} if target == "optuna" else {}
    space = sl.parse(f"space s\nabstract M\nstage m = M {{\n{lines}\nrequire a != b\n}}")
    entries = [each for each in space.compile(target, **option).report if each.construct == "relations"]
    assert [(each.message.partition(":")[0], each.lines) for each in entries] == [(told, (8,))]
    plain = sl.parse(f"space s\nabstract M\nstage m = M {{\n{lines}\n}}")
    for relations in ("native", "quantiles") if target == "optuna" else ("native",):
        assert not any(each.construct == "relations" for each in plain.compile(target, relations=relations).report)

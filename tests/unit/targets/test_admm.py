"""The variables of ADMM: the papers' counts, P_D in numbers, orders, flattening, and what is printed."""

import json
import time
from typing import Any

import numpy as np
import pytest

from spacelang.analysis import CheckSettings, check
from spacelang.files import resource_folder
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, Union, grid
from spacelang.ir.expr import And, Arithmetic, BranchTest, Compare, Constant, Reference
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Constraint, Space
from spacelang.solver.bucket_elimination import TooManyJointStatesError
from spacelang.solver.counting import Structures
from spacelang.solver.statistics import statistics
from spacelang.targets._lowering import LoweringResult, Preservation
from spacelang.targets.admm import Admm, AdmmForm, AdmmPoint, AdmmPoints
from spacelang.testing.small_spaces import branch, choice, forbid, hyperparameter, make_space, plain_space
from spacelang.text import Source

BUNDLED = sorted(path.stem for path in resource_folder("spaces").glob("*.space"))
CLASSIFIERS = """
stage scaler = none | StandardScaler
stage estimator =
  | GaussianNB
  | SVC {
      kernel : {linear, rbf, poly} = rbf
      C      : float[0.01, 100] log = 1
      gamma  : float[0.001, 1] log = 0.1 when kernel in {rbf, poly}
      degree : int[2, 5] = 3 when kernel == poly
      shrinking : bool = true when scaler is none
    }
"""


def read(text: str, **bindings: int) -> Space:
    found = check(Source("read.space", text), CheckSettings(bindings or {"n_samples": 400, "n_features": 30}))
    assert found.space is not None, found.diagnostics
    return found.space


def bundled(name: str) -> Space:
    found = check(
        Source(name, (resource_folder("spaces") / f"{name}.space").read_text(encoding="utf-8")), CheckSettings({})
    )
    assert found.space is not None
    return found.space


def lowered(space: Space, mode: Any = "mask") -> LoweringResult[AdmmForm, AdmmPoint]:
    return Admm(mode).lower(Structures(space))


def form_of(space: Space, mode: Any = "mask") -> AdmmForm:
    return lowered(space, mode).form


def one(domain: Any, default: Any, *rules: Constraint) -> AdmmForm:
    """The form of a space with a single hyperparameter `x`."""
    return form_of(make_space("one", hyperparameter("x", domain, default), constraints=rules))


# ---- P_D (4.2)


@pytest.mark.parametrize(
    ("given", "wanted"), [(11.7, 10), (-3.0, 0), (2.5, 3), (2.49, 2), (3.4, 3), (2.6, 3), (10, 10)]
)
def test_delta_min_clips_and_rounds_half_up(given: float, wanted: int) -> None:
    box = one(Grid(0, 10), 3).theta_d
    assert box.nearest(np.array([given])).tolist() == [wanted]


def test_delta_min_is_the_nearest_member_of_d() -> None:
    rule = forbid(And((Compare(">", Reference("x"), Constant(3)), Compare("<", Reference("x"), Constant(8)))))
    form = one(Grid(0, 10), 3, rule)
    members = [0, 1, 2, 3, 8, 9, 10]
    assert form.theta_d.lattice[0].tolist() == members
    places = np.random.default_rng(0).uniform(-3, 13, 500)
    found = form.theta_d.nearest(places[:, None])[:, 0]
    for place, nearest in zip(places, found, strict=True):
        assert abs(nearest - place) == min(abs(member - place) for member in members)
    assert form.theta_d.nearest(np.array([5.5])).tolist() == [8]  # half up
    assert not form.accepts(AdmmPoint(np.zeros(0, np.int8), np.zeros(0), np.array([5])))
    assert form.to_json()["theta_d"][0]["excluded"] == [4, 5, 6, 7]  # type: ignore[index]
    assert "without 4, 5, 6, 7" in form.to_text()


def test_what_is_no_number_becomes_the_default() -> None:
    assert one(Grid(0, 10), 3).theta_d.nearest(np.array([np.nan])).tolist() == [3]
    form = one(Real(0.0, 1.0, lower_open=True), 0.5)
    assert form.project(AdmmPoint(np.zeros(0), np.array([np.nan]), np.zeros(0))).theta_c.tolist() == [0.5]
    assert form.project(AdmmPoint(np.zeros(0), np.array([-4.0]), np.zeros(0))).theta_c.tolist() == [5e-324]


def test_units() -> None:
    space = make_space(
        "units",
        hyperparameter("a", Grid(50, 500), 100),
        hyperparameter("b", Grid(4, 4), 4),
        hyperparameter("c", Grid(0, 1), 0),
    )
    assert form_of(space).theta_d.penalty_scales.tolist() == [450, 1, 1]


def test_what_is_moved_between_integers_stays_there_and_stands_for_the_nearest() -> None:
    form = one(Grid(0, 9), 3)
    point = form.encode(Configuration({"x": 3}))
    assert (point.theta_c.dtype, point.theta_d.dtype) == (np.float64, np.float64)
    for moved, value in ((3.7, 4), (3.5, 4), (3.49, 3), (-2.0, 0), (12.5, 9), (9.0, 9)):
        point.theta_d[0] = moved
        assert point.theta_d.tolist() == [moved]
        assert form.decode(point) == Configuration({"x": value})
        assert form.accepts(point) == (moved == value)


# ---- codes


@pytest.mark.parametrize(
    ("domain", "bounds", "codes"),
    [
        (Grid(3, 9), (3, 9), {3: 3, 9: 9}),
        (Grid(2, 11, step=3), (0, 3), {2: 0, 8: 2}),
        (grid(0.0, 0.3, 0.1, lower_open=True), (0, 2), {0.1: 0, 0.3: 2}),
        (Categorical(("a", True, 1, None)), (0, 3), {"a": 0, None: 3}),
        (Union((Categorical((None, "auto")), Grid(5, 8))), (0, 5), {None: 0, "auto": 1, 5: 2, 8: 5}),
        (Union((Grid(-2, 2), Grid(10, 14, step=2))), (0, 7), {-2: 0, 2: 4, 10: 5, 14: 7}),
        (Grid(1 - 2**53, -2), (1 - 2**53, -2), {2 - 2**53: 2 - 2**53}),
        (Grid(0, 2**52, step=2**49), (0, 8), {3 * 2**49: 3}),
        (Grid(1, 2**53 - 1), (1, 2**53 - 1), {2**53 - 2: 2**53 - 2}),
    ],
)
def test_finite_domains_are_one_integer(domain: Any, bounds: tuple[int, int], codes: dict[Any, int]) -> None:
    form = one(domain, domain.representative)
    assert (form.theta_d.lower.tolist(), form.theta_d.upper.tolist()) == ([bounds[0]], [bounds[1]])
    assert len(form.theta_c) == 0
    for value, code in codes.items():
        point = form.encode(Configuration({"x": value}))
        assert point.theta_d.tolist() == [code]
        assert form.decode(point) == Configuration({"x": value})
        assert form.accepts(point)


def test_true_and_1_are_different_members() -> None:
    form = one(Categorical((1, True, 1.5)), 1.5)
    for code, value in enumerate((1, True, 1.5)):
        assert form.encode(Configuration({"x": value})).theta_d.tolist() == [code]
        assert form.decode(form.encode(Configuration({"x": value})))["x"] is value


def test_a_union_with_a_range_is_an_integer_and_a_number() -> None:
    form = one(Union((Categorical(("scale", "auto")), Real(0.5, 2.0), Grid(5, 6))), "auto")
    assert (form.theta_d.lower.tolist(), form.theta_d.upper.tolist()) == ([0], [4])
    assert (form.theta_c.lower.tolist(), form.theta_c.upper.tolist()) == ([0.5], [2.0])
    word, range_, integer = (form.encode(Configuration({"x": value})) for value in ("auto", 0.75, 6))
    assert (word.theta_d.tolist(), range_.theta_d.tolist(), integer.theta_d.tolist()) == ([1], [2], [4])
    assert range_.theta_c.tolist() == [0.75]
    assert form.active_mask(word).theta_c.tolist() == [False]
    assert form.active_mask(range_).theta_c.tolist() == [True]
    assert form.decode(range_) == Configuration({"x": 0.75})
    assert "range" in form.to_json()["theta_d"][0]["parts"][1]  # type: ignore[index]


def test_scales_are_logarithmic_where_the_space_says_so() -> None:
    form = form_of(
        make_space(
            "scales",
            hyperparameter("a", Real(1e-4, 1.0, log=True), 0.01),
            hyperparameter("b", Grid(1, 100, log=True), 10),
            hyperparameter("c", Grid(10, 1000, log=True, step=10), 100),
            hyperparameter("d", Union((Categorical((None,)), Grid(1, 64, log=True))), None),
        )
    )
    assert form.theta_c.log.tolist() == [True]
    assert form.theta_d.log.tolist() == [True, True, False]
    assert form.theta_c.to_unit(np.array([0.01])).tolist() == pytest.approx([0.5])
    units = form.theta_d.to_unit(np.array([10.0, 9.0, 8.0]))
    assert units[:2].tolist() == pytest.approx([0.5, 0.5])  # the index 9 stands for 100
    assert units[2] == pytest.approx(0.5 + 0.5 * np.log(8 / 0.5) / np.log(64.5 / 0.5))
    assert form.theta_d.to_unit(np.array([1.0, 0.0, 0.0])).tolist() == pytest.approx([0.0, 0.0, 0.25])
    places = np.random.default_rng(0).random((200, 3))
    inside = form.theta_d.from_unit(places)
    assert ((inside >= form.theta_d.lower) & (inside <= form.theta_d.upper)).all()
    assert np.allclose(form.theta_d.to_unit(inside)[:, :2], places[:, :2])


# ---- the papers' spaces


@pytest.mark.parametrize(("name", "sizes"), [("admm_table_a2", (8, 11, 7, 11)), ("admm_table_a3", (6, 3, 6))])
def test_the_papers_blocks_and_hyperparameters(name: str, sizes: tuple[int, ...]) -> None:
    space = bundled(name)
    form, counted = form_of(space), statistics(Structures(space))
    assert tuple(len(block.alternatives) for block in form.blocks) == sizes
    assert int(np.prod(sizes)) == counted.structures == {"admm_table_a2": 6776, "admm_table_a3": 108}[name]
    assert len(form.theta_c) == counted.hyperparameters.continuous
    assert len(form.theta_d) == counted.hyperparameters.discrete
    for block in form.blocks:
        for alternative in block.alternatives:
            tally = counted.by_algorithm.get(alternative.branch)
            mine = [box.owners.count((block.stage, alternative.name)) for box in (form.theta_c, form.theta_d)]
            assert mine == ([0, 0] if tally is None else [tally.continuous, tally.discrete])


def test_table_a2_has_92_hyperparameters_and_the_imputers() -> None:
    form = form_of(bundled("admm_table_a2"))
    owners = [*form.theta_c.owners, *form.theta_d.owners]
    assert (len(owners), owners.count(None)) == (93, 1)
    head = form.to_text().splitlines()[0]
    assert head == (
        "admm_table_a2: z in {0, 1}^37 (8 x 11 x 7 x 11), 27 continuous (theta_c) and 66 discrete (theta_d)"
    )


@pytest.mark.takes_turns("mode")
@pytest.mark.parametrize("mode", ["mask", "flatten"])
@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_spaces_are_drawn_from_and_come_back(name: str, mode: str) -> None:
    space = bundled(name)
    form = form_of(space, mode)
    points = form.sample_all(100, np.random.default_rng(0))
    assert form.accepts_all(points).all()
    members = form.decode_all(points)
    assert all(first_exclusion(space, member) is None for member in members)
    again = form.encode_all(members)
    assert form.decode_all(again) == members
    json.dumps(form.to_json())
    assert form.to_text()
    assert form.to_dot().count("{") == form.to_dot().count("}")


# ---- flattening


def test_conditions_become_alternatives() -> None:
    result = lowered(read(CLASSIFIERS), "flatten")
    form = result.form
    assert [way.name for way in form.blocks[1].alternatives] == [
        "GaussianNB",
        "SVC[kernel=linear]",
        "SVC[kernel=rbf]",
        "SVC[kernel=poly]",
    ]
    owned = {
        owner: [name.removeprefix("estimator.") for box in (form.theta_c, form.theta_d)
                for name, mine in zip(box.names, box.owners, strict=True) if mine == owner]
        for owner in dict.fromkeys((*form.theta_c.owners, *form.theta_d.owners))
    }  # fmt: skip
    assert owned == {
        ("estimator", "SVC[kernel=linear]"): ["C", "shrinking"],
        ("estimator", "SVC[kernel=rbf]"): ["C", "gamma", "shrinking"],
        ("estimator", "SVC[kernel=poly]"): ["C", "gamma", "degree", "shrinking"],
    }
    assert form.added is not None
    assert form.to_json()["flattened"] == {"alternatives": 2, "hyperparameters": 4, "conditions": 2, "decisions": 0}
    assert "2 conditions and 0 nested decisions add 2 alternatives and 4 hyperparameters" in form.to_text()
    found = {entry.lines: (entry.status, entry.message) for entry in result.report if entry.construct == "conditions"}
    assert set(found) == {(8, 9), (10,)}
    assert found[8, 9] == (Preservation.REWRITTEN, "turned into further alternatives of z")
    assert found[10,][1].startswith("expressed as a mask")
    assert form.theta_d.coordinates[-1].condition == "scaler is none"


def test_masks_are_shown_with_their_conditions() -> None:
    form = form_of(read(CLASSIFIERS))
    assert [way.name for way in form.blocks[1].alternatives] == ["GaussianNB", "SVC"]
    shown = {each["name"]: each.get("condition") for each in form.to_json()["theta_d"]}  # type: ignore[attr-defined]
    assert shown["estimator.degree"] == "estimator.SVC.kernel == poly"
    assert shown["estimator.shrinking"] == "scaler is none"
    taken = {"scaler": "StandardScaler", "estimator": "SVC", "estimator.kernel": "linear", "estimator.C": 2.0}
    point = form.encode(Configuration(taken))
    active = form.active_mask(point)
    assert [form.theta_c.names[place] for place in np.flatnonzero(active.theta_c)] == ["estimator.C"]
    assert [form.theta_d.names[place] for place in np.flatnonzero(active.theta_d)] == ["estimator.kernel"]
    gaussian = form.active_mask(form.encode(Configuration({"scaler": "none", "estimator": "GaussianNB"})))
    assert not gaussian.theta_c.any()
    assert not gaussian.theta_d.any()


def test_values_that_no_condition_tells_apart_stay_together() -> None:
    depth = hyperparameter("e.f.depth", Grid(1, 100), 10)
    leaves = hyperparameter("e.f.leaves", Grid(2, 9), 3, when=Compare(">", Reference("e.f.depth"), Constant(50)))
    form = form_of(make_space("cells", choice("e", branch("f", depth, leaves), "g")), "flatten")
    assert [way.name for way in form.blocks[0].alternatives] == [
        "f[f.depth in int[1, 50]]",
        "f[f.depth in int[51, 100]]",
        "g",
    ]
    assert form.theta_d.lower.tolist() == [1, 51, 2]
    assert form.theta_d.upper.tolist() == [50, 100, 9]


def test_nested_decisions_become_alternatives() -> None:
    inner = choice("e.f.in", branch("x", hyperparameter("e.f.in.x.n", Grid(1, 3), 2, key="e.in.n")), "y", key="e.in")
    space = make_space("nested", choice("s", "a", "b"), choice("e", branch("f", inner), "g"), constraints=(
        forbid(And((BranchTest("s", ("a",)), BranchTest("e.f.in", ("y",))))),
    ))  # fmt: skip
    masked, flat = lowered(space), lowered(space, "flatten")
    assert [way.name for way in flat.form.blocks[1].alternatives] == ["f[in=x]", "f[in=y]", "g"]
    assert flat.form.to_text().count("z[s: a] + z[e: f[in=y]] <= 1") == 1
    assert flat.form.value_constraints == ()
    assert masked.form.theta_d.names == ("e.in", "e.in.n")
    assert len(masked.form.value_constraints) == 1
    (rule,) = [entry for entry in masked.report if entry.construct == "constraints over decisions"]
    assert "integers of theta_d" in rule.message


def test_too_many_alternatives_stay_masks() -> None:
    nodes = []
    for place in range(10):
        switch = hyperparameter(f"e.f.b{place}", Categorical((True, False)), True)
        nodes += [switch, hyperparameter(f"e.f.n{place}", Grid(0, 3), 1, when=Reference(f"e.f.b{place}"))]
    result = lowered(make_space("many", choice("e", branch("f", *nodes), "g")), "flatten")
    assert len(result.form.blocks[0].alternatives) == 257
    messages = {entry.message for entry in result.report if entry.construct == "conditions"}
    assert any("more than 256" in message for message in messages)
    points = result.form.sample_all(200, np.random.default_rng(0))
    assert result.form.decode_all(result.form.encode_all(result.form.decode_all(points))) == result.form.decode_all(
        points
    )


# ---- z and orders


def test_excluded_combinations_are_linear_constraints() -> None:
    stages = (choice("scaler", "none", "Std", "MinMax"), choice("estimator", "SVC", "KNN", "NB"))
    rules = (
        forbid(And((BranchTest("scaler", ("none",)), BranchTest("estimator", ("SVC", "KNN"))))),
        forbid(BranchTest("scaler", ("MinMax",))),
    )
    form = form_of(make_space("rules", *stages, constraints=rules))
    assert [constraint["text"] for constraint in form.to_json()["constraints"]] == [  # type: ignore[attr-defined]
        "z[scaler: MinMax] <= 0",
        "z[scaler: none] + z[estimator: SVC] + z[estimator: KNN] <= 1",
    ]
    coefficients, most = form.inequalities
    assert coefficients.tolist() == [[0, 0, 1, 0, 0, 0], [1, 0, 0, 1, 1, 0]]
    assert most.tolist() == [0, 1]
    moved = form.project(AdmmPoint(np.array([0.9, 0.2, 0.1, 0.8, 0.1, 0.1]), np.zeros(0), np.zeros(0)))
    assert form.accepts(moved)
    found = form.decode(moved)
    assert (found["scaler"] == "none") != (found["estimator"] == "SVC")  # one change is enough


def test_what_is_tied_too_closely_for_tables_is_still_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def tangled(*_: object) -> None:
        raise TooManyJointStatesError

    rule = forbid(And((BranchTest("s0", ("a0",)), BranchTest("s1", ("a1",)))))
    space = Space("tangled", plain_space(2, 3).root, (rule,))
    monkeypatch.setattr("spacelang.targets._admm.linear_constraints._block_factors", tangled)
    result = lowered(space)
    assert result.form.linear_constraints == ()
    assert result.form.value_constraints == (rule,)
    (entry,) = [entry for entry in result.report if entry.construct == "constraints over decisions"]
    assert "connects too many variables" in entry.message
    bad = AdmmPoint(np.array([1, 0, 0, 1, 0]), np.zeros(0), np.zeros(0))
    assert not result.form.accepts(bad)
    assert result.form.accepts(result.form.project(bad))


def test_a_block_needs_exactly_one() -> None:
    form = form_of(plain_space(2, 3))
    for z in ([1, 0, 1, 1, 0], [0, 0, 1, 0, 0], [1, 0, 0.5, 0.5, 0], [1, 0, 2, -1, 0], [1, 0, 1, 0]):
        assert not form.accepts(AdmmPoint(np.array(z), np.zeros(0), np.zeros(0)))
    assert form.accepts(AdmmPoint(np.array([1, 0, 0, 0, 1]), np.zeros(0), np.zeros(0)))


def test_orders_are_t_by_t() -> None:
    space = read("pipeline = permute(PCA, StandardScaler, Normalizer) -> GaussianNB")
    form = form_of(space)
    (order,) = form.orders
    assert (order.size, len(order.branches)) == (3, 6)
    point = form.encode(Configuration({order.stage: "Normalizer, PCA, StandardScaler"}))
    # Step i (a row) stands at position k (a column).
    assert point.first_order_matrix is not None
    assert point.first_order_matrix.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert form.decode(point) == Configuration({order.stage: "Normalizer, PCA, StandardScaler"})
    assert form.to_json()["order"] == [
        {"name": order.stage, "owner": None, "steps": ["PCA", "StandardScaler", "Normalizer"], "size": 3}
    ]
    near = AdmmPoint(point.z, point.theta_c, point.theta_d, (point.first_order_matrix * 0.6 + 0.2,))
    assert form.project(near) == point
    twice = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 1]])
    assert not form.accepts(AdmmPoint(point.z, point.theta_c, point.theta_d, (twice,)))


def test_orders_that_are_forbidden_are_constraints() -> None:
    text = "stage e = GaussianNB | SVC\npipeline = permute(PCA, StandardScaler) -> e\n"
    space = read(text + 'forbid order is "PCA, StandardScaler" and e is SVC')
    form = form_of(space)
    assert [constraint["text"] for constraint in form.to_json()["constraints"]] == [  # type: ignore[attr-defined]
        "z[e: SVC] + o[order: PCA, StandardScaler] <= 1"
    ]
    coefficients, most = form.inequalities
    assert (coefficients.tolist(), most.tolist()) == ([[0, 1, 1, 0, 0, 1]], [2])


# ---- black-box constraints (4.7)


def test_bounds_on_trials_have_epsilons() -> None:
    task = "task classification {\n  minimize 1 - roc_auc\n  subject to predict_latency <= 10us\n"
    task += "  subject to disparity(roc_auc, age) < 0.07\n}\n"
    result = lowered(read("stage e = GaussianNB | SVC\n" + task))
    assert [bound.limit for bound in result.form.bounds] == [1e-5, 0.07]
    assert [each for each in result.form.to_json()["constraints"] if each["kind"] == "trial"] == [  # type: ignore[attr-defined]
        {
            "kind": "trial", "measure": "predict_latency", "epsilon": 1e-5, "strict": False, "unit": "seconds",
            "text": "predict_latency <= 10us",
        },
        {
            "kind": "trial", "measure": "disparity(roc_auc, age)", "epsilon": 0.07, "strict": True, "unit": "score",
            "text": "disparity(roc_auc, age) < 0.07",
        },
    ]  # fmt: skip
    assert "subject to predict_latency <= 10us" in result.form.to_text()
    (entry,) = [entry for entry in result.report if entry.construct == "bounds on trials"]
    assert (entry.status, entry.lines) == (Preservation.EXACT, (4, 5))


# ---- projection


def test_projection_changes_as_little_as_it_can() -> None:
    low, high = hyperparameter("low", Grid(0, 100_000), 10), hyperparameter("high", Grid(0, 100_000), 20)
    other = hyperparameter("other", Grid(0, 9), 4)
    rule = Constraint(Compare("<", Reference("low"), Reference("high")), False)
    form = form_of(make_space("ordered", low, high, other, constraints=(rule,)))
    given = AdmmPoint(np.zeros(0), np.zeros(0), np.array([700.0, 500.4, 7.0]))
    assert form.project(given).theta_d.tolist() == [700, 701, 7]
    fine = AdmmPoint(np.zeros(0), np.zeros(0), np.array([499, 500, 7]))
    assert form.project(fine) == fine


def test_projection_goes_to_the_nearest_cell() -> None:
    kernel = hyperparameter("k", Categorical(("a", "b", "c", "d")), "a")
    width = hyperparameter("w", Grid(0, 100), 0)
    rule = forbid(And((Compare("==", Reference("k"), Constant("c")), Compare("<", Reference("w"), Constant(40)))))
    form = form_of(make_space("cells", kernel, width, constraints=(rule,)))
    # One change is enough.
    found = form.project(AdmmPoint(np.zeros(0), np.zeros(0), np.array([2.2, 30.0]))).theta_d.tolist()
    assert found in ([2, 40], [3, 30], [1, 30])
    assert form.project(AdmmPoint(np.zeros(0), np.zeros(0), np.array([2.2, 55.0]))).theta_d.tolist() == [2, 55]


def test_what_z_does_not_take_keeps_its_theta() -> None:
    form = form_of(read(CLASSIFIERS))
    blank = form.encode(Configuration({"scaler": "none", "estimator": "GaussianNB"}))
    moved = AdmmPoint(blank.z, blank.theta_c * 0 + 0.5, blank.theta_d * 0 + 2.4)
    assert form.project(moved).theta_c.tolist() == [0.5, 0.5]
    assert form.project(moved).theta_d.tolist() == [2, 2, 1]


def test_numbers_on_the_wrong_side_by_rounding_are_not_taken() -> None:
    a, b = hyperparameter("a", Real(0.0, 1.0), 0.5), hyperparameter("b", Real(0.0, 1.0), 0.9)
    rule = Constraint(Compare("<", Arithmetic("+", Reference("a"), Constant(0.1)), Reference("b")), False)
    space = make_space("sum", a, b, constraints=(rule,))
    form = form_of(space)
    places = np.random.default_rng(0).random((100, 2))
    landed = form.project_all(AdmmPoints(np.zeros((100, 0)), places, np.zeros((100, 0))))
    assert form.accepts_all(landed).all()
    assert all(first_exclusion(space, member) is None for member in form.decode_all(landed))
    assert np.isclose(landed.theta_c[:, 0], places[:, 0]).sum() > 80


# ---- size


@pytest.mark.parametrize("mode", ["mask", "flatten"])
def test_a_trillion_structures_cost_what_they_are_tied(mode: str) -> None:
    stages = [choice(f"s{n}", *(f"a{k}" for k in range(10))) for n in range(12)]
    rules = tuple(forbid(And((BranchTest(f"s{n}", ("a1",)), BranchTest(f"s{n + 1}", ("a2",))))) for n in range(11))
    space = make_space("large", *stages, constraints=rules)
    start = time.process_time()
    form = form_of(space, mode)
    assert len(form.linear_constraints) == 11
    points = form.sample_all(50, np.random.default_rng(0))
    assert form.accepts_all(points).all()
    assert time.process_time() - start < 5


def test_ten_thousand_each_way() -> None:
    form = form_of(bundled("admm_table_a2"))
    points = form.sample_all(10, np.random.default_rng(0))
    members = form.decode_all(points) * 1000
    assert form.decode_all(form.encode_all(members)) == members
    assert form.decode_all([]) == []
    assert len(form.encode_all([])) == 0

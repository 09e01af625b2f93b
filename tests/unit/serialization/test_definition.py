"""Definitions in JSON: what they look like, values that are easily lost, and every kind of mistake with its path."""

import copy
import json
from typing import Any

import pytest

from spacelang.analysis import check
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Union
from spacelang.ir.expr import (
    ActivityTest,
    And,
    Arithmetic,
    BranchTest,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Not,
    Or,
    Reference,
)
from spacelang.ir.prior import Normal, Uniform
from spacelang.ir.space import (
    SKIPPED_STEP,
    Branch,
    CatalogueObject,
    Choice,
    ColumnSelector,
    Constraint,
    Hyperparameter,
    Operator,
    Product,
    ProductKind,
    Space,
    name_of_step_order,
)
from spacelang.ir.task import Bound, BoundedMeasure, FidelitySchedule, Limits, ScorerGoal, Task
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.ir.value import Value
from spacelang.serialization.definition import space_from_json, space_to_json
from spacelang.serialization.definition_hyperparameters import DOMAIN
from spacelang.serialization.json_documents import DefinitionError, ReadingContext
from spacelang.text import NO_SPAN, Source

TEXT = """\
space small "Small"
stage scaler = none | StandardScaler @weight(3)
stage estimator = KNeighborsClassifier { n_neighbors : int[1, 20] log = 5 @split(2), weights = distance
    p : {1, 2} = 2 when n_neighbors > 3 }
forbid scaler is none
    and n_neighbors == 1
"""


def space_of(text: str, name: str = "small.space") -> Space:
    found = check(Source(name, text))
    assert found.space is not None, found.diagnostics
    return found.space


def again(space: Space) -> Space:
    read = space_from_json(json.loads(json.dumps(space_to_json(space), allow_nan=False)))
    assert read == space
    assert repr(read) == repr(space)
    return read


def test_what_it_looks_like() -> None:
    text = TEXT.replace(
        "scaler is none\n    and n_neigh", "scaler is none\n    and estimator.KNeighborsClassifier.n_neigh"
    )
    knn = "estimator.KNeighborsClassifier"
    assert space_to_json(space_of(text)) == {
        "name": "small",
        "title": "Small",
        "file": "small.space",
        "root": {
            "sequence": [
                {
                    "decision": "scaler",
                    "address": "scaler",
                    "alternatives": [
                        {"alternative": "none"},
                        {"alternative": "StandardScaler", "weight": 3, "node": {"operator": "StandardScaler"}},
                    ],
                    "line": 2,
                },
                {
                    "decision": "estimator",
                    "address": "estimator",
                    "alternatives": [
                        {
                            "alternative": "KNeighborsClassifier",
                            "node": {
                                "operator": "KNeighborsClassifier",
                                "fixed": {"weights": "distance"},
                                "parameters": [
                                    {
                                        "hyperparameter": "n_neighbors",
                                        "address": f"{knn}.n_neighbors",
                                        "key": "estimator.n_neighbors",
                                        "domain": {"int": [1, 20], "log": True},
                                        "default": 5,
                                        "split": 2,
                                    },
                                    {
                                        "hyperparameter": "p",
                                        "address": f"{knn}.p",
                                        "key": "estimator.p",
                                        "domain": {"set": [1, 2]},
                                        "default": 2,
                                        "condition": {"when": {">": [{"hyperparameter": f"{knn}.n_neighbors"}, 3]}},
                                        "line": 4,
                                    },
                                ],
                            },
                        }
                    ],
                    "line": 3,
                },
            ],
            "line": 1,
        },
        "constraints": [
            {
                "forbid": {
                    "and": [
                        {"decision": "scaler", "is": ["none"]},
                        {"==": [{"hyperparameter": f"{knn}.n_neighbors"}, 1]},
                    ]
                },
                "text": f"forbid scaler is none\n    and {knn}.n_neighbors == 1",
                "line": 5,
            }
        ],
        "lines": {"small.space": {str(number): line for number, line in enumerate(text.splitlines(), 1)}},
    }


def test_messages_find_their_places_again() -> None:
    space = space_of(TEXT.replace("\n", "\r\n").replace("n_neighbors == 1", "estimator.KNeighborsClassifier.p == 1"))
    read = again(space)
    (written,), (found,) = space.constraints, read.constraints
    assert found.span.text == written.span.text.replace("\r\n", "\n")
    for one, other in zip(space.variables.values(), read.variables.values(), strict=True):
        before, after = one.node.span, other.node.span
        assert (after.source.name, after.line, after.column, after.text) == (
            "small.space",
            before.line,
            before.column,
            before.text,
        )


def test_what_no_text_says_has_no_place() -> None:
    space = leaf(Grid(1, 3), 2)
    assert "line" not in json.dumps(space_to_json(space))
    assert again(space).hyperparameters[0].span is NO_SPAN


def leaf(domain: Domain, default: Value, **more: Any) -> Space:
    return Space("made", Operator("A", "made", (Hyperparameter("p", "a.p", "p", domain, default, **more),)))


@pytest.mark.parametrize(
    ("domain", "default"),
    [
        (Grid(-(2**70), 2**70 + 1), 2**53 + 1),
        (Grid(1, 10**300, log=True), 10**299 + 7),
        (Grid(0, 12, step=3), 9),
        (Real(5e-324, 1.7976931348623157e308), 0.1 + 0.2),
        (Grid(0.0, 0.3, step=0.1), 0.30000000000000004 - 5.551115123125783e-17),
        (Real(0.0, 1.0, lower_open=True, upper_open=True), 0.5),
        (Real(1e-4, 1e4, log=True), 1.0),
        (Real(2.0, 2.0), 2.0),
        (Categorical((True, False)), False),
        (Categorical((True, 1, "1", None, 0.5, (1, 2), ((1,), ()), "none", "")), ((1,), ())),
        (Categorical((1, 2)), 1),
        (Categorical((1.0, 2)), 1.0),
        (Ordinal(("low", "high")), "high"),
        (Union((Categorical((None,)), Grid(1, 3), Real(10.0, 20.0))), None),
        (Union((Categorical(("a",)), Ordinal(("b", "c")))), "c"),
    ],
    ids=str,
)
def test_values_come_back_exactly(domain: Domain, default: Value) -> None:
    again(leaf(domain, default))


def tree() -> Space:
    """All kinds of nodes, values that are fixed, and places where one thing is inside of another."""
    inner = Choice("base", "e.base", "e.base", (Branch("B", Operator("B", "made")), Branch("none", SKIPPED_STEP)), 1)
    fixed = (
        ("a", (1, (2.0, None))),
        ("b", CatalogueObject("f_classif")),
        ("c", Operator("C", "sklearn", (Hyperparameter("q", "e.c.q", "e.c.q", Categorical(("x",)), "x"),))),
        ("file", "x"),
        ("line", 7),
    )
    labels = ("one", "two", "columns(numeric: A, rest: B)")
    names = [", ".join(labels), name_of_step_order((labels[1], labels[0], labels[2]))]
    some = Choice("order", "order", "order", tuple(Branch(name, SKIPPED_STEP) for name in names), 1)
    columns = Product(
        ProductKind.COLUMNS,
        (Operator("A", "abstract"), SKIPPED_STEP),
        selectors=(ColumnSelector("pattern", "^x"), ColumnSelector("rest")),
    )
    steps = (some, Operator("A", "made"), SKIPPED_STEP, columns)
    return Space(
        "tree",
        Product(
            ProductKind.SEQUENCE,
            (
                Product(ProductKind.PERMUTATION, steps, labels=labels),
                Product(ProductKind.PARALLEL, (Operator("A", "made"), Product(ProductKind.SEQUENCE))),
                Choice("e", "e", "e", (Branch("E", Operator("E", "made", (inner,), fixed), 0.5),), first=True),
            ),
        ),
        title="A tree",
    )


def test_every_kind_of_node_comes_back() -> None:
    again(tree())


def test_orders_are_listed_only_where_some_are_missing() -> None:
    whole = space_of(
        "stage s = none | A\nstage t = none | B\nabstract A\nabstract B\npipeline = permute(A, B, s) -> t\n"
    )
    assert "A, B" not in json.dumps(space_to_json(whole)["root"])
    again(whole)
    assert "one, two" in json.dumps(space_to_json(tree()))


ADDRESS = Reference("a.p")


@pytest.mark.parametrize(
    "expression",
    [
        Constant(True),
        Constant((1, "a")),
        ADDRESS,
        ActivityTest("a.p"),
        Compare("!=", ADDRESS, Constant(1.0)),
        In(ADDRESS, (1, True, "x", (1,))),
        In(ADDRESS, ()),
        Not(And((Or(()), And(())))),
        Compare("<=", Arithmetic("/", ADDRESS, Constant(3)), Call("min", (ADDRESS, Constant(2), Constant(0.1)))),
        Compare(">", Call("log2", (ADDRESS,)), Constant(2**80)),
    ],
    ids=str,
)
@pytest.mark.parametrize("forbidden", [True, False])
def test_every_expression_comes_back(expression: Expr, forbidden: bool) -> None:
    space = leaf(Grid(1, 9), 5)
    again(Space("made", space.root, (Constraint(expression, forbidden),)))


def test_a_task_comes_back() -> None:
    task = Task(
        "classification",
        ScorerGoal("minimize", "roc_auc", from_one=True),
        (
            Bound(BoundedMeasure.LATENCY, 1e-5, strict=True),
            Bound(BoundedMeasure.DISPARITY, 0.0, False, "roc_auc", "age group"),
        ),
        CrossValidation(5),
        FidelitySchedule(100, 2.5),
        Limits(300.0, 4e9, None),
    )
    root = Operator("A", "made")
    again(Space("made", root, task=task))
    again(Space("made", root, task=Task("regression", ScorerGoal("maximize", "r2"), validation=Holdout(1 / 3))))


def test_advice_comes_back() -> None:
    again(leaf(Real(0.0, 1.0), 0.5, prior=Normal(0.3, 1), split=3))
    again(leaf(Categorical(("f_classif", "f_regression")), "f_classif", named=("f_regression",), prior=Uniform()))


# ---- mistakes

SMALL: Any = {
    "name": "small",
    "root": {
        "sequence": [
            {
                "decision": "s",
                "address": "s",
                "alternatives": [{"alternative": "none"}, {"alternative": "A", "node": {"operator": "A"}}],
            },
            {
                "operator": "B",
                "fixed": {"f": 1},
                "parameters": [
                    {"hyperparameter": "p", "address": "b.p", "domain": {"int": [1, 9]}, "default": 3},
                    {
                        "hyperparameter": "q",
                        "address": "b.q",
                        "domain": {"set": [1, True]},
                        "default": True,
                        "condition": {"when": {">": [{"hyperparameter": "b.p"}, 2]}},
                    },
                ],
            },
        ]
    },
    "constraints": [{"forbid": {"decision": "s", "is": ["A"]}}],
}

DECISION, B = "root.sequence[0]", "root.sequence[1]"
P, Q = f"{B}.parameters[0]", f"{B}.parameters[1]"
DEEP: Any = 1
for _ in range(500):
    DEEP = [DEEP]


def put(where: str, value: Any) -> Any:
    """The small definition with a value at a path."""
    document: Any = {"definition": copy.deepcopy(SMALL)}
    *ways, last = f"definition.{where}".replace("[", ".").replace("]", "").split(".")
    holder = document
    for way in ways:
        holder = holder[int(way) if isinstance(holder, list) else way]
    key = int(last) if isinstance(holder, list) else last
    if value is ...:
        del holder[key]
    else:
        holder[key] = value
    return document["definition"]


def test_the_small_definition_is_sound() -> None:
    assert space_from_json(SMALL).variables.keys() == {"s", "b.p", "b.q"}


WRONG: list[tuple[str, Any, str, str]] = [
    ("name", ..., "", "has no `name`"),
    ("name", "", "name", "is empty, expected a name"),
    ("name", 3, "name", "is a number, expected a string"),
    ("root", ..., "", "has no `root`"),
    ("root", None, "root", "is null, expected a node"),
    ("root", {"sequense": []}, "root", "did you mean `sequence`?"),
    ("root", {"operator": "A", "sequence": []}, "root", "has both `operator` and `sequence`"),
    ("root.sequence", {}, "root.sequence", "is an object, expected a list"),
    ("roots", 1, "", "has an unknown key `roots`; did you mean `root`?"),
    (f"{DECISION}.adress", "s", DECISION, "did you mean `address`?"),
    (f"{DECISION}.alternatives", [], f"{DECISION}.alternatives", "has 0 alternatives, expected at least 1"),
    (
        f"{DECISION}.alternatives[1].alternative",
        "none",
        f"{DECISION}.alternatives[1]",
        "is a second alternative with the name `none`",
    ),
    (f"{DECISION}.alternatives[1].weight", 0, f"{DECISION}.alternatives[1].weight", "a number above 0"),
    (f"{DECISION}.default", "nome", f"{DECISION}.default", "is not an alternative; did you mean `none`?"),
    (f"{DECISION}.first", 1, f"{DECISION}.first", "`true` or `false`"),
    (f"{DECISION}.line", 2, f"{DECISION}.line", "is missing in `lines`"),
    (f"{DECISION}.line", 0, f"{DECISION}.line", "is not a line number"),
    (f"{DECISION}.line", 2.0, f"{DECISION}.line", "is not a line number"),
    ("lines", {"a": {"x": ""}}, "lines.a.x", "is not a line number"),
    ("lines", {"a": {"1": "a\nb"}}, "lines.a.1", "more than one line"),
    ("lines", {"a": {"1048576": ""}, "b": {"1": ""}}, "lines", "has more than 1,048,576 lines"),
    ("lines", [], "lines", "is an empty list, expected an object"),
    (f"{B}.fixed.p", 1, P, "is a second parameter with the name `p`"),
    (f"{B}.fixed.g", {"named": 1}, f"{B}.fixed.g.named", "is a number"),
    (f"{B}.fixed.g", {"name": "f"}, f"{B}.fixed.g", "did you mean `named`?"),
    (f"{B}.parameters[0]", {"operator": "A"}, P, "is not a hyperparameter or a decision"),
    (f"{P}.address", "s", f"{P}.address", "is `s`, which is already the address of `definition.root.sequence[0]`"),
    (f"{P}.key", "s", f"{P}.key", "can be active at the same time"),
    (f"{P}.key", "b.q", f"{Q}.key", "can be active at the same time"),
    (f"{P}.default", 10, f"{P}.default", "is outside of `int[1, 9]`"),
    (f"{P}.default", {}, f"{P}.default", "is an object, expected a value"),
    (f"{P}.domain", {}, f"{P}.domain", "is not a domain"),
    (f"{P}.domain", {"int": [9, 1]}, f"{P}.domain.int", "the bounds are reversed"),
    (f"{P}.domain", {"int": [1]}, f"{P}.domain.int", "has 1 bounds"),
    (f"{P}.domain", {"int": [1.5, 9]}, f"{P}.domain.int[0]", "a whole number"),
    (f"{P}.domain", {"int": [0, 9], "log": True}, f"{P}.domain", "includes 0 or negative numbers"),
    (f"{P}.domain", {"int": [1, 9], "step": 0}, f"{P}.domain.step", "a whole number of at least 1"),
    (f"{P}.domain", {"int": [1, 2**1024]}, f"{P}.domain.int[1]", "not a finite number"),
    (f"{P}.domain", {"float": [0, float("inf")]}, f"{P}.domain.float[1]", "not a finite number"),
    (f"{P}.domain", {"float": [0, 2**1024 - 1]}, f"{P}.domain.float[1]", "too large for a float"),
    (f"{P}.domain", {"float": [3, 3], "open": ["lower"]}, f"{P}.domain", "has no members"),
    (f"{P}.domain", {"float": [0, 5e-324], "open": ["lower", "upper"]}, f"{P}.domain", "has no members"),
    (f"{P}.domain", {"float": [0, 1], "open": ["left"]}, f"{P}.domain.open[0]", "expected one of `lower`, `upper`"),
    (f"{P}.domain", {"float": [0, 1], "step": -1}, f"{P}.domain.step", "above 0"),
    (f"{P}.domain", {"float": [1, 9], "log": True, "step": 2}, f"{P}.domain", "even steps"),
    (f"{P}.domain", {"float": [0, 0.1], "step": 0.1, "open": ["lower", "upper"]}, f"{P}.domain", "has no members"),
    (f"{P}.domain", {"set": []}, f"{P}.domain.set", "has 0 values, expected at least 1"),
    (f"{P}.domain", {"set": [3, 3.0]}, f"{P}.domain.set[1]", "is a duplicate value"),
    (f"{P}.domain", {"union": [{"int": [1, 3]}]}, f"{P}.domain.union", "has 1 parts, expected at least 2"),
    (
        f"{P}.domain",
        {"union": [{"union": []}, {"int": [1, 3]}]},
        f"{P}.domain.union[0]",
        "is not a single range or set of values",
    ),
    (f"{P}.named", ["f"], f"{P}.named[0]", "is `f`, outside of"),
    (
        f"{P}.prior",
        {"distribution": "normal", "parameters": [0, 0]},
        f"{P}.prior.parameters",
        "`deviation` greater than 0",
    ),
    (f"{P}.prior", {"distribution": "beta", "parameters": []}, f"{P}.prior.distribution", "is `beta`"),
    (f"{P}.split", 0, f"{P}.split", "a whole number of at least 1"),
    (
        f"{P}.condition",
        {"when": {">": [{"hyperparameter": "b.q"}, 0]}},
        f"{P}.condition",
        "creates a cycle of conditions",
    ),
    (f"{Q}.condition", {"when": {"hyperparameter": "b.q"}}, f"{Q}.condition", "creates a cycle of conditions"),
    (f"{Q}.condition.when", {"hyperparameter": "s"}, f"{Q}.condition.when", "unknown hyperparameter `s`"),
    (f"{Q}.condition.when", {"active": "b.x"}, f"{Q}.condition.when", "did you mean `b.p`?"),
    (f"{Q}.condition.when", {">": [1]}, f"{Q}.condition.when.>", "has 1 sides, expected 2"),
    (f"{Q}.condition.when", {"min": [1]}, f"{Q}.condition.when.min", "has 1 arguments, expected at least 2"),
    (f"{Q}.condition.when", {"sqrt": [1, 2]}, f"{Q}.condition.when.sqrt", "has 2 arguments, expected 1"),
    (f"{Q}.condition.when", {"xor": [1, 2]}, f"{Q}.condition.when", "is not an expression"),
    (f"{Q}.condition.when", {"not": {}}, f"{Q}.condition.when.not", "is not an expression"),
    ("constraints[0].forbid.is", ["B"], "constraints[0].forbid", "not an alternative of `s`"),
    ("constraints[0].forbid.decision", "t", "constraints[0].forbid", "unknown decision `t`"),
    ("constraints[0].require", True, "constraints[0]", "has both `forbid` and `require`"),
    ("task", {"kind": "clustering"}, "task.kind", "expected one of `classification`, `regression`"),
    ("task", {"kind": "regression", "goal": {"minimise": "r2"}}, "task.goal", "did you mean `minimize`?"),
    ("task", {"kind": "regression", "validation": {"cv": 1}}, "task.validation.cv", "at least 2"),
    ("task", {"kind": "regression", "validation": {"holdout": 1}}, "task.validation.holdout", "between 0 and 1"),
    ("task", {"kind": "regression", "fidelity": {"first": 9, "factor": 1}}, "task.fidelity.factor", "above 1"),
    ("task", {"kind": "regression", "limits": {"run_seconds": 0}}, "task.limits.run_seconds", "above 0"),
    (
        "task",
        {"kind": "regression", "bounds": [{"measure": "predict_latency", "limit": 0}]},
        "task.bounds[0].limit",
        "no trial can satisfy",
    ),
    (
        "task",
        {"kind": "regression", "bounds": [{"measure": "pickled_size", "limit": 9, "scorer": "r2"}]},
        "task.bounds[0]",
        "which only `disparity` takes",
    ),
    (
        "root.sequence[1]",
        {"columns": [{"operator": "A"}], "selectors": []},
        f"{B}.selectors",
        "has 0 entries, expected 1: one for each step",
    ),
    (
        "root.sequence[1]",
        {"columns": [{"operator": "A"}], "selectors": [{"pattern": "("}]},
        f"{B}.selectors[0].pattern",
        "is not a valid regular expression",
    ),
    (
        "root.sequence[1]",
        {"columns": [{"operator": "A"}], "selectors": ["nummeric"]},
        f"{B}.selectors[0]",
        "`numeric`?",
    ),
    (
        "root.sequence[1]",
        {"permutation": [{"operator": "A"}] * 8, "labels": [*"abcdefgh"], "order": {}},
        f"{B}.permutation",
        "has 8 steps, expected at most 7",
    ),
    (
        "root.sequence[1]",
        {"permutation": [{"operator": "A"}] * 2, "labels": ["a", "a"], "order": {}},
        f"{B}.labels[1]",
        "repeats `a`",
    ),
    (
        "root.sequence[1]",
        {
            "permutation": [{"operator": "A"}] * 2,
            "labels": ["a", "b"],
            "order": {"decision": "o", "address": "o", "alternatives": [{"alternative": "a, c"}]},
        },
        f"{B}.order.alternatives[0]",
        "does not name each label once",
    ),
    (f"{P}.default", DEEP, "", "is nested more than 400 levels deep"),
]


@pytest.mark.parametrize(("where", "value", "path", "telling"), WRONG, ids=lambda value: str(value)[:50])
def test_mistakes_are_told_by_their_path(where: str, value: Any, path: str, telling: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        space_from_json(put(where, value))
    assert caught.value.path == f"definition.{path}".rstrip(".")
    assert telling in f"{caught.value.problem}; {caught.value.remedy}"


@pytest.mark.parametrize("value", [None, [], 1, "x"])
def test_what_is_no_object_is_no_definition(value: object) -> None:
    with pytest.raises(DefinitionError, match="expected an object"):
        space_from_json(value)


def test_all_mistakes_are_told_at_once() -> None:
    document = put(f"{P}.default", 99)
    document["constraints"].append({"require": {"sqrt": []}})
    document["root"]["sequence"][0].update(weigth=2, first="yes")
    with pytest.raises(DefinitionError) as caught:
        space_from_json(document)
    assert [each.path for each in (caught.value, *caught.value.others)] == [
        f"definition.{path}" for path in (DECISION, f"{DECISION}.first", f"{P}.default", "constraints[1].require.sqrt")
    ]


def test_alternatives_may_share_keys() -> None:
    nodes = [
        {
            "operator": name,
            "parameters": [{**SMALL["root"]["sequence"][1]["parameters"][0], "address": name, "key": "k"}],
        }
        for name in ("A", "B")
    ]
    decision = {"decision": "s", "address": "s", "alternatives": []}
    decision["alternatives"] = [{"alternative": node["operator"], "node": node} for node in nodes]
    assert len(space_from_json({"name": "n", "root": decision}).variables) == 3
    with pytest.raises(DefinitionError, match="active at the same time"):
        space_from_json({"name": "n", "root": {"parallel": nodes}})
    decision["key"] = "k"
    with pytest.raises(DefinitionError, match="active at the same time"):
        space_from_json({"name": "n", "root": decision})


def test_decisions_are_tested_by_their_alternatives() -> None:
    space = space_from_json(SMALL)
    assert space.constraints == (Constraint(BranchTest("s", ("A",)), True),)


def test_ends_that_were_excluded_from_steps_are_drawn_in() -> None:
    written = {"float": [0, 0.35], "open": ["lower", "upper"], "step": 0.1}
    assert DOMAIN.read(written, "d", ReadingContext()) == Grid(0.1, 0.3, step=0.1)

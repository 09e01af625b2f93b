"""What becomes of the lines of PCS files."""

import pytest

from spacelang import Configuration, parse
from spacelang.diagnostics.diagnostic import Severity
from spacelang.importers._import_steps import ImportResult, import_space
from spacelang.text import Source

PIPELINES = """\
classifier:__choice__ categorical {svm, lda, forest} [forest]
scaling:strategy categorical {none, minmax} [none]
classifier:forest:bootstrap categorical {True, False} [True]
classifier:forest:max_depth categorical {None} [None]
classifier:svm:C real [0.03125, 32768.0] [1.0]log
classifier:svm:kernel categorical {rbf, poly} [rbf]
classifier:svm:degree integer [2, 5] [3]

classifier:forest:bootstrap | classifier:__choice__ == forest
classifier:forest:max_depth | classifier:__choice__ == forest
classifier:svm:C | classifier:__choice__ == svm
classifier:svm:kernel | classifier:__choice__ in {svm}
classifier:svm:degree | classifier:svm:kernel == poly

{classifier:__choice__=lda, scaling:strategy=minmax}
{classifier:__choice__=lda, scaling:strategy=minmax}
{classifier:svm:kernel=poly, classifier:svm:degree=5}
{classifier:forest:max_depth=None, classifier:forest:bootstrap=False}
"""

AS_SPACE = """\
# Imported from pipelines.pcs.
space pipelines

# scaling:strategy
stage scaling = none | minmax

abstract minmax

# classifier:__choice__
stage classifier = svm | lda | forest @default

abstract svm {
  C      : float[0.03125, 32768] log = 1
  kernel : {rbf, poly} = rbf
  degree : int[2, 5] = 3 when kernel == poly
  forbid kernel == poly and degree == 5
}

abstract lda

abstract forest {
  bootstrap : bool = true
  max_depth = none
  forbid bootstrap == false
}

forbid classifier is lda and scaling is minmax
"""

OLD = """\
kernel {rbf, poly, linear} [rbf]  # with a comment
C [0.1, 10] [1]l
degree [2, 5] [3]i

Conditionals:
degree | kernel in {poly}
degree | C in {1, 2}

Forbidden:
{kernel=linear, C=10}
"""


def imported(text: str, name: str = "some/folder/pipelines.pcs") -> ImportResult:
    found, diagnostics = import_space(Source(name, text))
    assert found is not None, [diagnostic.message for diagnostic in diagnostics]
    assert not diagnostics
    return found


def layout(text: str) -> str:
    """Where lines are broken is the printer's business."""
    return " ".join(text.replace("= |", "=").split())


def test_choices_become_stages_with_abstract_operators() -> None:
    assert layout(imported(PIPELINES).text) == layout(AS_SPACE)


def test_the_way_there_and_back() -> None:
    space = imported(PIPELINES)
    theirs = {
        "classifier:__choice__": "forest",
        "scaling:strategy": "none",
        "classifier:forest:bootstrap": "True",
        "classifier:forest:max_depth": "None",
    }
    ours = Configuration({"classifier": "forest", "scaling": "none", "classifier.bootstrap": True})
    assert space.decode(theirs) == ours
    assert space.encode(ours) == theirs
    assert parse(space.text).default() == ours


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"classifier:forest:bootstrap": "maybe"}, "not a value"),
        ({"classifier:svm:C": 1.0}, "not active"),
        ({"classifier:forest:max_depth": None}, "missing"),
        ({"depth": 3}, "unknown hyperparameter"),
    ],
)
def test_what_the_file_does_not_know_has_no_way(change: dict[str, object], reason: str) -> None:
    theirs = {
        "classifier:__choice__": "forest",
        "scaling:strategy": "none",
        "classifier:forest:bootstrap": "True",
        "classifier:forest:max_depth": "None",
    }
    given = {name: value for name, value in {**theirs, **change}.items() if value is not None}
    with pytest.raises(ValueError, match=reason):
        imported(PIPELINES).decode(given)


def test_the_old_style_without_components_becomes_one_operator() -> None:
    text = imported(OLD, "svm.pcs").text
    assert layout(text) == layout("""\
# Imported from svm.pcs.
space svm

abstract svm {
  kernel : {rbf, poly, linear} = rbf
  C      : float[0.1, 10] log = 1
  degree : int[2, 5] = 3 when kernel == poly and C in {1, 2}
  forbid kernel == linear and C == 10
}

pipeline = svm
""")


def test_no_character_disappears_without_a_word() -> None:
    """Quotes around words are none of the words, as in ConfigSpace; others would make other words there."""
    plain, quoted = OLD, OLD.replace("rbf", '"rbf"').replace("linear", "'linear'").replace("C ", '"C" ')
    found, warnings = import_space(Source("svm.pcs", quoted))
    assert found is not None
    assert found.text == imported(plain, "svm.pcs").text
    lines = [line for line, text in enumerate(quoted.splitlines(), 1) if {*"\"'"} & {*text}]
    assert [each.primary.line for each in warnings] == lines
    for broken in ("it's", '"rbf', "\"rbf'", '"r,bf"', '""', "r'b'f"):
        found, errors = import_space(Source("svm.pcs", OLD.replace("rbf", broken)))
        assert found is None
        assert "quote" in errors[0].message, broken


def test_names_of_hyperparameters_stay_and_others_are_identifiers_and_differ() -> None:
    text = imported("""\
a-b {x} [x]
a_b [1, 2] [1]i
true [1, 2] [1]i
1st [1, 2] [1]i
x:__choice__ {a-b, a/b} [a/b]
x:a/b:y:z [0, 1] [0]
x:a/b:w:z [0, 1] [0]
x:a/b:y:z | x:__choice__ in {a/b}
x:a/b:w:z | x:__choice__ in {a/b}
""").text
    for expected in (
        "`a-b` = x",
        "a_b : int[1, 2] = 1",
        "`true` : int[1, 2] = 1",
        "`1st` : int[1, 2] = 1",
        "stage x = a_b | x_a_b @default",
        "abstract x_a_b { z : float[0, 1] = 0 w_z : float[0, 1] = 0 }",
    ):
        assert expected in layout(text)


def test_components_of_the_catalogue_are_used_where_they_fit() -> None:
    text = imported("""\
scaler:__choice__ {none, StandardScaler, MinMaxScaler} [StandardScaler]
estimator:__choice__ {GaussianNB, LinearSVC} [LinearSVC]
estimator:LinearSVC:C [0.1, 10] [1]l
estimator:LinearSVC:C | estimator:__choice__ in {LinearSVC}
""").text
    assert "abstract" not in text
    assert "LinearSVC @default" in text or "LinearSVC { C : float[0.1, 10] log = 1 } @default" in text
    assert parse(text).structures == 6


def test_components_that_only_sound_like_the_catalogue_are_abstract() -> None:
    """GaussianNB cannot take C, and a pipeline does not end with a scaler."""
    text = imported("""\
first:__choice__ {GaussianNB, PCA} [PCA]
first:GaussianNB:C [0.1, 10] [1]l
first:GaussianNB:C | first:__choice__ in {GaussianNB}
""").text
    assert "abstract first_GaussianNB" in text
    assert "first_PCA as PCA" in text
    assert {configuration["first"] for configuration in parse(text).sample(20)} == {"GaussianNB", "PCA"}


def test_what_repeats_in_several_bodies_is_shared() -> None:
    operators = ("oak", "elm", "ash")
    lines = ["tree:__choice__ {" + ", ".join(operators) + "} [oak]"]
    for operator in operators:
        for name, domain in (("leaf", "[1, 20] [1]i"), ("split", "[2, 20] [2]i"), ("pruned", "{yes, no} [no]")):
            lines += [f"tree:{operator}:{name} {domain}", f"tree:{operator}:{name} | tree:__choice__ in {{{operator}}}"]
    text = imported("\n".join(lines)).text
    assert text.count("leaf") - text.count("leaf_and_") == 1
    assert text.count("include leaf_and_split_and_pruned") == 3


def test_a_hyperparameter_of_several_alternatives_stands_in_each() -> None:
    space = imported("""\
model:__choice__ {svm, net, lda} [svm]
model:alpha [0, 1] [0]
model:alpha | model:__choice__ in {svm, net}
""")
    assert space.text.count("alpha : float[0, 1] = 0") == 2
    theirs = {"model:__choice__": "net", "model:alpha": 0.5}
    assert space.decode(theirs) == Configuration({"model": "net", "model.alpha": 0.5})


def test_nested_choices_become_nested_decisions() -> None:
    space = imported("""\
model:__choice__ {boost, lda} [lda]
model:boost:base:__choice__ {tree, stump} [stump]
model:boost:base:tree:depth [1, 9] [3]i
model:boost:base:__choice__ | model:__choice__ in {boost}
model:boost:base:tree:depth | model:boost:base:__choice__ in {tree}
""")
    assert "base : tree | stump @default" in space.text
    theirs = {"model:__choice__": "boost", "model:boost:base:__choice__": "tree", "model:boost:base:tree:depth": 4}
    ours = Configuration({"model": "boost", "model.base": "tree", "model.base.depth": 4})
    assert space.decode(theirs) == ours
    assert ours in parse(space.text)


def test_errors_stand_at_the_words_concerned() -> None:
    text = "kernel {rbf} [rbf]\ndegree [2, 5] [3]i\ndegree | kernal in {rbf}\n{kernel=cubic}\n"
    found, diagnostics = import_space(Source("a.pcs", text))
    assert found is None
    assert [diagnostic.primary.text for diagnostic in diagnostics] == ["kernal", "cubic"]
    assert all(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n".join(f"p{place} [0, 1] [0]" for place in range(5_001)), "the number of declarations"),
        ("a {" + ", ".join(f"v{place}" for place in range(20_001)) + "} [v0]", "the number of values"),
        ("# a long comment\n" * 70_000, "the file"),
    ],
)
def test_files_that_would_exhaust_the_machine(text: str, expected: str) -> None:
    found, (problem,) = import_space(Source("a.pcs", text))
    assert found is None
    assert problem.code == "SL003"
    assert problem.message.startswith(expected)


def test_long_chains_of_conditions_and_choices() -> None:
    for name in ("p{}", "p{}:__choice__"):
        lines = [name.format(0) + " {a, b} [a]"]
        for place in range(1, 300):
            own, above = name.format(place), name.format(place - 1)
            lines += [f"{own} {{a, b}} [a]", f"{own} | {above} in {{a}}"]
        assert imported("\n".join(lines)).text.count("when") >= 290


@pytest.mark.parametrize(
    ("line", "stray"),
    [
        ("degree | kernel in {poly}", ";"),
        ("degree | kernel in {poly} || C == 1", " ;"),
        ("degree | kernel == poly", ","),
        ("{kernel=poly, C=10}", "}"),
    ],
)
def test_what_configspace_does_not_look_at_changes_nothing_but_is_told(line: str, stray: str) -> None:
    declared = "kernel {rbf, poly} [rbf]\nC [0.1, 10] [1]l\ndegree [2, 5] [3]i\n"
    found, diagnostics = import_space(Source("a.pcs", f"{declared}{line}{stray}\n"))
    assert found is not None
    assert found.text == imported(f"{declared}{line}\n", "a.pcs").text
    assert [(each.code, each.primary.text) for each in diagnostics] == [("SL017", stray.strip())]

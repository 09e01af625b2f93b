"""Groups of parameters, abstract operators and imports."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from spacelang.analysis import CheckResult, check
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.ir.space import ABSTRACT_CATALOGUE, Choice, Operator, Space, operators
from spacelang.solver.counting import Structures
from spacelang.syntax.sources import read_source
from spacelang.text import Source

KNN = "n_neighbors : int[1, 9] log = 5, weights : {uniform, distance} = distance"
FOREST = """params forest {
  max_depth : {none} | int[2, 5] = 3
  bootstrap : bool = true
  max_samples : float[0.5, 1] = 0.75 when bootstrap
  forbid max_depth == 5 and bootstrap
}
"""


def space(text: str) -> Space:
    found = check(Source("reuse.space", text))
    assert found.space is not None, found.diagnostics
    assert found.diagnostics == ()
    return found.space


def codes(found: CheckResult) -> list[str]:
    return [diagnostic.code for diagnostic in found.diagnostics]


def problems(text: str) -> list[str]:
    return codes(check(Source("reuse.space", text)))


def written(folder: Path, files: Mapping[str, str]) -> Source:
    """The first of some files, all of which are written into a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    source = read_source(str(folder / next(iter(files))))
    assert isinstance(source, Source)
    return source


def only(diagnostics: Iterable[Diagnostic]) -> Diagnostic:
    (found,) = diagnostics
    return found


# ---- groups


@pytest.mark.parametrize(
    ("grouped", "plain"),
    [
        (
            f"params knn {{ {KNN} }}\nstage e = KNeighborsClassifier {{ include knn, p : int[1, 2] }}",
            f"stage e = KNeighborsClassifier {{ {KNN}, p : int[1, 2] }}",
        ),
        (
            # A member of the body goes before an included one, wherever it stands.
            f"params knn {{ {KNN} }}\nstage e = KNeighborsClassifier {{ weights = uniform, include knn }}",
            "stage e = KNeighborsClassifier { weights = uniform, n_neighbors : int[1, 9] log = 5 }",
        ),
        (
            f"stage e = KNeighborsClassifier {{ include knn, weights = uniform }}\nparams knn {{ {KNN} }}",
            "stage e = KNeighborsClassifier { n_neighbors : int[1, 9] log = 5, weights = uniform }",
        ),
        (
            # Groups in groups; what comes on two ways comes once.
            "params a { p : int[1, 2] }\nparams b { include a, leaf_size : int[10, 20] }\nparams c { include a }\n"
            "stage e = KNeighborsClassifier { include b, include c }",
            "stage e = KNeighborsClassifier { p : int[1, 2], leaf_size : int[10, 20] }",
        ),
        (
            # Conditions and constraints come along, and speak of siblings, whoever gave them.
            FOREST + "stage e = RandomForestClassifier { include forest, bootstrap = true }",
            """stage e = RandomForestClassifier {
              max_depth : {none} | int[2, 5] = 3
              max_samples : float[0.5, 1] = 0.75 when bootstrap
              bootstrap = true
              forbid max_depth == 5 and bootstrap
            }""",
        ),
        (
            # In the body of a value, and with a nested decision of its own.
            "params tree { max_depth : int[1, 3] }\n"
            "params boost { estimator : DecisionTreeClassifier { include tree } | GaussianNB = GaussianNB }\n"
            "stage e = AdaBoostClassifier { include boost }",
            "stage e = AdaBoostClassifier {\n"
            "  estimator : DecisionTreeClassifier { max_depth : int[1, 3] } | GaussianNB = GaussianNB\n}",
        ),
    ],
)
def test_includes_stand_for_what_they_bring(grouped: str, plain: str) -> None:
    found = check(Source("reuse.space", grouped))
    expected = check(Source("reuse.space", plain))
    assert found.space is not None
    assert expected.space is not None
    assert found.space.root == expected.space.root
    assert {repr(each) for each in found.space.constraints} == {repr(each) for each in expected.space.constraints}
    assert codes(found) == codes(expected)


def test_parts_of_one_parameter_from_two_sides() -> None:
    text = "params k { kernel__length_scale : float[0.1, 1] }\n"
    text += "stage e = GaussianProcessClassifier { include k, kernel = RBF { length_scale : float[0.1, 10] log } }"
    assert len(problems(text)) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A mistake in a group is one mistake, however many bodies include it.
        ("params g { C : float[2, 1] }\nstage e = SVC { include g } | LinearSVC { include g }", ["SL403"]),
        ("params g { C : int[2, 1], C = 1 }\nstage e = SVC { include g } | SVC as s { include g }", ["SL403", "SL211"]),
        ("params g { gamma : float[1, 2] }\nstage e = SVC { include g } | LinearSVC { include g }", ["SL301"]),
        ("params g { C : float[-1, 2] }\nstage e = SVC { include g } | SVC as s { include g }", ["SL303"]),
        ("params g { C : float[-1, 2] }\nstage e = SVC { include g } | LinearSVC { include g }", ["SL303", "SL303"]),
        ("params g { C : float[1, 2] when x == 1 }\nstage e = SVC { include g } | LinearSVC { include g }", ["SL203"]),
        # What nobody includes, or everybody overrides, is judged as far as that is possible.
        ("params g { C : float[2, 1] }\nstage e = SVC", ["SL222", "SL403"]),
        ("params g { C : float[2, 1] }\nstage e = SVC { include g, C = 2.0 }", ["SL403"]),
        ("params g { C : float[1, 2] = 5 }\nstage e = SVC { include g }", ["SL401"]),
        ("abstract a { x : int[2, 1] }\nstage e = a | a as b", ["SL403"]),
        ("abstract a { x : int[2, 1] }\nstage e = GaussianNB", ["SL223", "SL403"]),
        # One circle is one mistake, wherever it is entered.
        ("params a { include b }\nparams b { include a }\nstage e = SVC { include b }", ["SL218"]),
        ("params a { include a, C : float[1, 2] }\nstage e = SVC { include a }", ["SL218"]),
        ("abstract a { x : a | b }\nabstract b { y : a }\nstage e = a | b", ["SL218", "SL218"]),
        ("params g {\n include h\n include i }\nstage e = SVC { include g }", ["SL216", "SL216"]),
        # What is damaged is no unknown name.
        ("params g { C : float[1, }\nstage e = SVC { include g }", ["SL101"]),
        ("abstract g { C : float[1, }\nstage e = g", ["SL101"]),
    ],
)  # fmt: skip
def test_mistakes_are_reported_once(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


def test_the_reader_is_led_from_the_group_to_the_body() -> None:
    text = "params g { gamma : float[1, 2] }\nstage e = LinearSVC { include g }"
    found = only(check(Source("reuse.space", text)).diagnostics)
    assert found.primary.text == "gamma"
    assert [(related.span.text, related.message) for related in found.related] == [("include g", "included here")]


def test_a_constraint_that_does_something_in_one_body_is_no_warning() -> None:
    group = "params g { C : float[1, 9] = 1, forbid C > 5 }\n"
    assert problems(group + "stage e = SVC { include g } | LinearSVC { include g, C : float[1, 2] = 1 }") == []
    low = "params g { C : float[1, 2] = 1, forbid C > 5 }\n"
    assert problems(low + "stage e = SVC { include g } | LinearSVC { include g }") == ["SL503"]


def test_chains_of_groups_end_with_a_position() -> None:
    chain = "".join(f"params g{n} {{ include g{n + 1} }}\n" for n in range(5000)) + "params g5000 { C : float[1, 2] }\n"
    assert "SL003" in problems(chain + "stage e = SVC { include g0 }")


def test_what_doubles_with_each_line_ends_with_a_position() -> None:
    lines = [f"params g{n} {{ a : x {{ include g{n + 1} }}, b : x {{ include g{n + 1} }} }}\n" for n in range(40)]
    text = "abstract x\nparams g40 { c : int[1, 2] }\n" + "".join(lines) + "stage e = x { include g0 }"
    assert set(problems(text)) == {"SL003"}


# ---- abstract operators


def test_an_abstract_operator_takes_anything() -> None:
    found = space("abstract net\nstage e = net { layers : int[1, 3], optimizer : net as inner { rate = 0.1 } | none }")
    assert {operator.catalogue for operator in operators(found.root)} == {ABSTRACT_CATALOGUE}
    assert [*found.variables] == ["e", "e.net.layers", "e.net.optimizer"]


def test_what_an_abstract_operator_declares_may_be_a_set_of_operators() -> None:
    text = "abstract net { inner : {core { depth : int[1, 3] }, plain} }\nabstract plain\nabstract core"
    found = space(f"{text}\nstage e = net\npipeline = e\nrequire e.inner == plain or e.inner.core.depth > 1")
    assert [each.address for each in found.hyperparameters] == ["e.net.inner.core.depth"]
    assert Structures(found).configuration_count == 3


def test_uses_of_an_abstract_operator_have_its_hyperparameters() -> None:
    text = """abstract net { layers : int[1, 3] = 2, rate : float[0.01, 1] = 0.1, forbid layers == 3 and rate > 0.5 }
stage e = net | net as small { layers = 1 } | net as slow { rate : float[0.01, 0.1] = 0.01 }"""
    found = space(text)
    (stage,) = found.stages
    assert [[child.name for child in branch.node.children] for branch in stage.branches] == [  # type: ignore[union-attr]
        ["layers", "rate"],
        ["rate"],
        ["layers", "rate"],
    ]
    assert found.variables["e.slow.rate"].node.default == 0.01  # type: ignore[union-attr]
    assert len(found.constraints) == 3


def test_an_abstract_operator_is_never_judged_by_its_place() -> None:
    found = space("abstract enc { k : int[1, 3] }\nstage a = enc | PCA | none\nstage b = enc as last | GaussianNB")
    assert len(found.stages) == 2


def test_an_abstract_operator_as_a_value() -> None:
    text = "abstract tree { depth : int[1, 3] }\nstage e = AdaBoostClassifier { estimator = tree }"
    (stage,) = space(text).stages
    (branch,) = stage.branches
    assert isinstance(branch.node, Operator)
    assert [(name, type(value)) for name, value in branch.node.fixed] == [("estimator", Operator)]


# ---- imports


def test_a_text_in_two_files_is_the_text_in_one(tmp_path: Path) -> None:
    shared = FOREST + "abstract boosted { rounds : int[10, 100] log = 50 }\n"
    stages = "stage e = RandomForestClassifier {{ include {0}forest }} | {0}boosted {{ rounds = 20 }}\n"
    source = written(tmp_path, {"a.space": 'import "b.space"\n' + stages.format("b."), "b.space": shared})
    found = check(source)
    assert found.space is not None, found.diagnostics
    (first,), (second,) = found.space.stages, space(shared + stages.format("")).stages
    assert [branch.node for branch in first.branches] == [branch.node for branch in second.branches]
    assert found.diagnostics == ()


def test_names_in_a_group_are_those_of_its_file(tmp_path: Path) -> None:
    group = 'params g { estimator : tree { d : int[1, 4] } | inner.leaf }\nabstract tree\nimport "c.space" as inner\n'
    files = {
        "a.space": 'import "b.space"\nabstract tree { x : bool }\nstage e = AdaBoostClassifier { include b.g } | tree',
        "b.space": group,
        "c.space": "abstract leaf\n",
    }
    found = check(written(tmp_path, files))
    assert found.space is not None, found.diagnostics
    node = found.space.variables["e.AdaBoostClassifier.estimator"].node
    assert isinstance(node, Choice)
    assert "e.AdaBoostClassifier.estimator.tree.d" in found.space.variables


def test_a_file_is_read_once(tmp_path: Path) -> None:
    files = {
        "a.space": 'import "b.space"\nimport "c.space"\nstage e = SVC { include b.g, include c.h }',
        "b.space": 'import "d.space"\nparams g { include d.wrong }\n',
        "c.space": 'import "./d.space" as other\nparams h { include other.wrong }\n',
        "d.space": "params wrong { C : float[2, 1] }\n",
    }
    found = check(written(tmp_path, files))
    problem = only(found.diagnostics)
    assert problem.primary.source.name.endswith("d.space")
    assert (problem.primary.line, problem.primary.column) == (1, 20)


def test_problems_are_told_by_file_and_position(tmp_path: Path) -> None:
    files = {
        "a.space": 'import "b.space"\nstage e = SVC { C : float[2, 1], include b.g }',
        "b.space": "params g {     D : float[2, 1] }\nparams h {C : float[2, 1] }",
    }
    found = check(written(tmp_path, files)).diagnostics
    names = [Path(problem.primary.source.name).name for problem in found]
    assert names == sorted(names)
    assert [problem.code for problem in found] == ["SL403", "SL301", "SL403", "SL403"]


def test_chains_of_files_end_with_a_position(tmp_path: Path) -> None:
    files = {f"f{n}.space": f'import "f{n + 1}.space" as next\nstage e = next.e\n' for n in range(17)}
    files["f17.space"] = "stage e = GaussianNB\n"
    found = check(written(tmp_path, files)).diagnostics
    assert [(problem.code, Path(problem.primary.source.name).name) for problem in found] == [("SL003", "f16.space")]
    assert check(written(tmp_path, {"f1.space": files["f1.space"]})).space is not None


def test_many_files_end_with_a_position(tmp_path: Path) -> None:
    files = {"a.space": "".join(f'import "b{n}.space"\n' for n in range(300)) + "stage e = GaussianNB\n"}
    files |= {f"b{n}.space": "abstract x\n" for n in range(300)}
    found = check(written(tmp_path, files)).diagnostics
    assert {problem.code for problem in found} == {"SL003"}


def test_large_files_end_with_a_position(tmp_path: Path) -> None:
    files = {"a.space": "".join(f'import "b{n}.space"\n' for n in range(3)) + "stage e = GaussianNB\n"}
    files |= {f"b{n}.space": "#" * 500_000 for n in range(3)}
    assert codes(check(written(tmp_path, files))) == ["SL003"]
    files["b0.space"] = "#" * 2_000_000
    assert codes(check(written(tmp_path, files))) == ["SL003"]


def test_texts_import_bundled_spaces_only() -> None:
    assert problems('import "other.space"\nstage e = GaussianNB') == ["SL005"]
    assert problems('import "blds_table1" as table\nstage e = GaussianNB\n') == ["SL224"]


@pytest.mark.parametrize(
    ("written_name", "code"),
    [
        ("../secret.space", "SL006"),
        ("inner/../../secret.space", "SL006"),
        ("..\\\\secret.space", "SL006"),
        ("/etc/passwd", "SL006"),
        ("C:\\\\secret.space", "SL006"),
        ("\\\\\\\\host\\\\secret.space", "SL006"),
        ("out.space", "SL006"),
        ("outer/secret.space", "SL006"),
        ("loop.space", "SL005"),
        ("pipe.space", "SL005"),
        ("inner", "SL005"),
        ("", "SL008"),
        ("missing.space", "SL005"),
        ("binary.space", "SL002"),
        ("main.space", "SL007"),
    ],
)
def test_nothing_but_files_of_the_folder(written_name: str, code: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "inner").mkdir(parents=True)
    (tmp_path / "secret.space").write_text("stage e = GaussianNB\n", encoding="utf-8")
    (home / "out.space").symlink_to(tmp_path / "secret.space")
    (home / "outer").symlink_to(tmp_path)
    (home / "loop.space").symlink_to(home / "loop.space")
    (home / "binary.space").write_bytes(b"\xff\xfe\0")
    os.mkfifo(home / "pipe.space")
    alias = "" if code == "SL008" else " as other"
    source = written(home, {"main.space": f'import "{written_name}"{alias}\nstage e = GaussianNB\n'})
    found = only(check(source).diagnostics)
    assert found.code == code
    assert found.primary.line == 1


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    source = written(tmp_path, {"a.space": 'import "l.space"\nstage e = l.x\n', "d/b.space": "abstract x\n"})
    (tmp_path / "l.space").symlink_to(tmp_path / "d" / "b.space")
    assert check(source).space is not None

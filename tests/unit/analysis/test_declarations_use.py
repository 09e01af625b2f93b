"""`use`: what is in sight of a file, and what is said where that cannot be."""

import subprocess
import sys

import pytest

from spacelang.analysis import declarations
from spacelang.analysis.diagnostic_collector import CheckSettings, DiagnosticCollector
from spacelang.analysis.literal_values import OperatorFinder
from spacelang.catalog import packages
from spacelang.catalog.catalogue import FileCatalogues
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.syntax import ast
from spacelang.syntax.parser import parse
from spacelang.text import Source

ALL = frozenset({"xgboost", "lightgbm", "imblearn", "own_estimators", "json", "no_package_has_this_name"})


def items(text: str) -> tuple[ast.Item, ...]:
    parsed = parse(Source("test.space", text))
    assert not parsed.diagnostics
    return parsed.file.items


def used(
    text: str, allowed: frozenset[str] = ALL
) -> tuple[FileCatalogues, list[ast.CatalogueUse], DiagnosticCollector]:
    report = DiagnosticCollector()
    written = [item for item in items(text) if isinstance(item, ast.CatalogueUse)]
    return declarations.read_catalogues(written, CheckSettings(allowed=allowed), report), written, report


def told(report: DiagnosticCollector) -> list[str]:
    return [f"{found.code} {found.primary.text}: {found.help}" for found in report.found]


def found(text: str, name: str, allowed: frozenset[str] = ALL) -> tuple[str | None, list[Diagnostic]]:
    """The operator of a name beside some `use` lines, with its catalogue, and what is said about the name."""
    catalogues, _, report = used(text, allowed)
    (stage,) = items(f"stage s = {name}")
    assert isinstance(stage, ast.Stage)
    assert isinstance(stage.structure, ast.OperatorReference)
    before = len(report.found)
    entry = OperatorFinder(catalogues, report).find(stage.structure.name)
    return (f"{entry.catalogue}.{entry.name}" if entry else None), report.found[before:]


def test_what_is_used_is_in_sight() -> None:
    catalogues, _, report = used("use xgboost\nuse imblearn")
    assert (told(report), [*catalogues.used], catalogues.refused) == ([], ["xgboost", "imblearn"], frozenset())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "use xgboost",
            "SL208 xgboost: if you trust the package: `--allow xgboost` on the command line, "
            '`allow=("xgboost",)` in Python',
        ),
        ("use os", 'SL208 os: if you trust the package: `--allow os` on the command line, `allow=("os",)` in Python'),
        ("use xgbost", "SL209 xgbost: did you mean `xgboost`?"),
        ("use imbalanced_learn", "SL209 imbalanced_learn: did you mean `imblearn`?"),
        ("use imblearn.over_sampling", "SL209 imblearn.over_sampling: did you mean `imblearn`?"),
        ("use os.path", "SL209 os.path: write only the name of the package, as Python imports it"),
        ("use sklearn", "SL215 sklearn: remove the line"),
    ],
)
def test_without_permission(text: str, expected: str) -> None:
    catalogues, _, report = used(text, frozenset())
    assert told(report) == [expected]
    assert catalogues.used.keys() <= catalogues.refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use no_package_has_this_name", "SL210 no_package_has_this_name: install the package"),
        ("use json", "SL213 json: None"),
        ("use xgboost\nuse xgboost", "SL215 xgboost: remove the line"),
        ("use json\nuse json", "SL213 json: None"),
    ],
)
def test_with_permission(text: str, expected: str) -> None:
    _, _, report = used(text)
    assert any(line.startswith(expected) for line in told(report))


def test_what_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "installed_version", lambda _: None)
    assert told(used("use imblearn")[2]) == ['SL210 imblearn: `pip install "spacelang[imbalanced-learn]"`']


def test_two_files_may_use_the_same() -> None:
    report = DiagnosticCollector()
    written = [parse(Source(name, "use xgboost")).file.items[0] for name in ("a.space", "b.space")]
    catalogues = declarations.read_catalogues(written, CheckSettings(allowed=ALL), report)  # type: ignore[arg-type]
    assert (report.found, [*catalogues.used]) == ([], ["xgboost"])


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("", "SVC", "sklearn.SVC"),
        ("use xgboost", "XGBClassifier", "xgboost.XGBClassifier"),
        ("use xgboost", "xgboost.XGBClassifier", "xgboost.XGBClassifier"),
        ("use lightgbm\nuse own_estimators", "Doubler", "own_estimators.Doubler"),
        ("use lightgbm\nuse own_estimators", "own_estimators.LGBMClassifier", "own_estimators.LGBMClassifier"),
        ("use lightgbm\nuse own_estimators", "lightgbm.LGBMClassifier", "lightgbm.LGBMClassifier"),
    ],
)
def test_names(text: str, name: str, expected: str) -> None:
    assert found(text, name) == (expected, [])


@pytest.mark.parametrize(
    ("text", "name", "message", "remedy"),
    [
        (
            "use lightgbm\nuse own_estimators",
            "LGBMClassifier",
            "`LGBMClassifier` is an operator of several catalogues",
            "write `lightgbm.LGBMClassifier` or `own_estimators.LGBMClassifier`",
        ),
        (
            "",
            "XGBClassifier",
            "`XGBClassifier` is not an operator of the scikit-learn catalogue",
            "it is an operator of xgboost: write `use xgboost`",
        ),
        (
            "use xgboost",
            "imblearn.SMOTE",
            "`imblearn.SMOTE` is not an operator of the scikit-learn or xgboost catalogue",
            "it is an operator of imbalanced-learn: write `use imblearn`",
        ),
        (
            "use xgboost",
            "xgboost.XGBClasifier",
            "`xgboost.XGBClasifier` is not an operator of the xgboost catalogue",
            "did you mean `xgboost.XGBClassifier`?",
        ),
        (
            "use imblearn",
            "imblearn.over_sampling.SMOTE",
            "`imblearn.over_sampling.SMOTE` is not an operator of the imbalanced-learn catalogue",
            "did you mean `imblearn.SMOTE`?",
        ),
        (
            "use xgboost",
            "XGBClasifier",
            "`XGBClasifier` is not an operator of the scikit-learn or xgboost catalogue",
            "did you mean `XGBClassifier`?",
        ),
        (
            "",
            "sklearn.svm.SVC",
            "`sklearn.svm.SVC` is not an operator of the scikit-learn catalogue",
            "did you mean `SVC`?",
        ),
        ("use xgboost", "xgboost.sklearn", "`xgboost.sklearn` is not an operator of the xgboost catalogue", None),
        (
            "use xgboost",
            "xgboost.__builtins__",
            "`xgboost.__builtins__` is not an operator of the xgboost catalogue",
            None,
        ),
    ],
)
def test_names_that_stand_for_nothing(text: str, name: str, message: str, remedy: str | None) -> None:
    entry, (problem,) = found(text, name)
    assert (entry, problem.message, problem.help) == (None, message, remedy)


@pytest.mark.parametrize("text", ["use xgboost", "use xgbost", "use xgboost.sklearn"])
@pytest.mark.parametrize("name", ["XGBClassifier", "xgboost.XGBClassifier"])
def test_names_of_what_is_refused_are_no_second_mistake(text: str, name: str) -> None:
    assert found(text, name, frozenset()) == ("xgboost.XGBClassifier", [])


@pytest.mark.parametrize(
    ("text", "name"), [("use mine", "mine.Own"), ("use os.path", "os.Path"), ("use json", "json.X")]
)
def test_names_of_what_nobody_knows_are_no_second_mistake(text: str, name: str) -> None:
    assert found(text, name) == (None, [])


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("", "scaller", None),
        ("", "XGBClassifier", "SL201"),
        ("use xgboost", "xgboost.scaler", "SL201"),
        ("use lightgbm\nuse own_estimators", "LGBMClassifier", "SL214"),
        ("", "trees.scaler", None),
    ],
)
def test_a_step_that_can_only_be_anothers_operator(text: str, name: str, expected: str | None) -> None:
    catalogues, _, report = used(text)
    (stage,) = items(f"stage s = {name}")
    assert isinstance(stage, ast.Stage)
    assert isinstance(stage.structure, ast.OperatorReference)
    problem = OperatorFinder(catalogues, report).other_catalogue_diagnostic(stage.structure.name)
    assert (None if problem is None else problem.code) == expected


def test_unused() -> None:
    catalogues, written, report = used("use xgboost\nuse lightgbm\nuse json")
    for names, unused in (
        ({"XGBClassifier", "SVC"}, ["lightgbm"]),
        ({"xgboost.XGBClassifier", "lightgbm.Misspelled"}, []),
        ({"SVC", "json.Thing"}, ["xgboost", "lightgbm"]),
    ):
        del report.found[:]
        declarations.check_unused_catalogues(written, names, catalogues, report)
        assert sorted(problem.primary.text for problem in report.found) == sorted(unused)
        assert {problem.label for problem in report.found} <= {"the space uses none of the package's operators"}


def test_nothing_is_imported_without_permission_or_need() -> None:
    code = """if True:
        import sys
        from spacelang.analysis import declarations
        from spacelang.analysis.diagnostic_collector import DiagnosticCollector
        from spacelang.analysis.diagnostic_collector import CheckSettings
        from spacelang.catalog import load_catalogue, packages
        from spacelang.syntax.parser import parse
        from spacelang.text import Source

        packages.installed_version = lambda distribution: versions[distribution]
        known = [load_catalogue(name) for name in ("xgboost", "lightgbm", "imblearn")]
        versions = {catalogue.distribution: catalogue.version for catalogue in known}
        text = "use xgboost\\nuse lightgbm\\nuse imblearn\\nuse antigravity\\nuse os.path"
        asked = set()
        sys.addaudithook(lambda event, arguments: asked.add(arguments[0]) if event == "import" else None)
        report = DiagnosticCollector()
        items = parse(Source("x", text)).file.items
        found = declarations.read_catalogues(items, CheckSettings(allowed=frozenset(ALLOWED)), report)
        assert found.used.keys() - found.refused == set(ALLOWED), found.used
        roots = {name.partition(".")[0] for name in asked}
        assert not roots & {"xgboost", "lightgbm", "imblearn", "sklearn", "numpy", "antigravity"}, roots
    """
    for allowed in ([], ["xgboost", "lightgbm", "imblearn"]):
        subprocess.run([sys.executable, "-c", f"ALLOWED = {allowed}\n{code}"], check=True, timeout=60)

"""Rules of the house that import-linter cannot say."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import spacelang
from spacelang import contracts
from spacelang.minimizers import MINIMIZERS
from spacelang.optimizers import OPTIMIZERS
from spacelang.plugins import PluginRegistry
from spacelang.targets import TARGETS

PACKAGE = Path(spacelang.__file__).parent
TESTS = Path(__file__).parents[1]
HEAVY = ("sklearn", "pandas")
ROOMS_THAT_FIT = ("runtime", "report", "catalog", "api", "bench")

ONE_NAME: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "a plug-in has the name of its file; one of each kind may have the same name": {
        "Admm": frozenset({"optimizers.admm", "targets.admm"}),
        "Blds": frozenset({"optimizers.blds", "targets.blds"}),
        "Bo": frozenset({"minimizers.bo", "optimizers.bo"}),
        "Boasf": frozenset({"optimizers.boasf", "targets.boasf"}),
        "Mosaic": frozenset({"optimizers.mosaic", "targets.mosaic"}),
        "Optuna": frozenset({"optimizers.optuna", "targets.optuna"}),
        "Random": frozenset({"minimizers.random", "optimizers.random", "targets.random"}),
        "Tpe": frozenset({"minimizers.tpe", "optimizers.tpe"}),
    },
    "a node of the syntax tree, and the object that it becomes": {
        "Pipeline": frozenset({"syntax.ast", "targets.blds"}),
        "Task": frozenset({"ir.task", "syntax.ast"}),
    },
    "a parameter of a library, and a node of the syntax tree": {
        "Parameter": frozenset({"catalog.catalogue", "syntax.ast"})
    },
    "the space of the compiler, and the space of the Python interface": {"Space": frozenset({"api.space", "ir.space"})},
    "a prior, and its distribution in the modules that are written for scikit-learn": {
        "Normal": frozenset({"ir.prior", "targets._exports.sklearn_distributions"}),
        "Uniform": frozenset({"ir.prior", "targets._exports.sklearn_distributions"}),
    },
    "a constraint of a space, and a constraint on fitted pipelines, which users know by this name": {
        "Constraint": frozenset({"ir.space", "runtime.scoring.user_functions"}),
    },
}
"""Class names that several modules define: the reason, and the modules."""


class FileFacts(NamedTuple):
    """What a file says of others, and has for them."""

    imported: frozenset[str]
    """The modules that it imports anywhere."""
    names: frozenset[str]
    """What it imports from them."""
    classes: frozenset[str]
    aliases: frozenset[str]
    """What it assigns as a whole, such as the names of types."""


@cache
def facts_of(path: Path) -> FileFacts:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [*ast.walk(tree)]
    found = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module is not None]
    whole = (name.name for node in nodes if isinstance(node, ast.Import) for name in node.names)
    targets = (
        node.targets[0] if isinstance(node, ast.Assign) else node.target
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
    )
    return FileFacts(
        frozenset([*whole, *(node.module for node in found)]),
        frozenset(name.name for node in found for name in node.names),
        frozenset(node.name for node in nodes if isinstance(node, ast.ClassDef)),
        frozenset(target.id for target in targets if isinstance(target, ast.Name)),
    )


@pytest.mark.parametrize("plugins", [TARGETS, OPTIMIZERS, MINIMIZERS], ids=lambda plugins: plugins.package)
def test_plug_ins_never_import_a_sibling(plugins: PluginRegistry) -> None:
    folder = PACKAGE / plugins.package.partition(".")[2]
    for name in plugins.names():
        siblings = {f"{plugins.package}.{other}" for other in plugins.names() if other != name}
        assert not facts_of(folder / f"{name}.py").imported & siblings


@pytest.mark.parametrize("plugins", [TARGETS, OPTIMIZERS, MINIMIZERS], ids=lambda plugins: plugins.package)
def test_a_plug_in_has_a_citation_a_description_and_described_options(plugins: PluginRegistry) -> None:
    for name in plugins.names():
        plugin = plugins.load(name)
        assert plugin.__doc__
        assert plugins is TARGETS or plugin.paper, "an optimizer or a minimizer is one that was published"
        assert all(option.doc for option in plugins.options(plugin))


def test_third_party_libraries_of_a_run_stay_in_the_rooms_that_fit() -> None:
    own = "sklearn"  # the target of that name, and what it is made of
    forest = PACKAGE / "surrogates" / "forest.py"  # it is that library's, which is imported when one is fitted
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        is_about_it = path == forest or (room == "targets" and path.stem.lstrip("_").startswith(own))
        if room not in ROOMS_THAT_FIT and not is_about_it:
            assert not {name.partition(".")[0] for name in facts_of(path).imported} & set(HEAVY), path


def test_no_test_is_skipped_for_want_of_a_package_that_dev_installs() -> None:
    texts = (path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py"))
    assert {name for text in texts for name in re.findall(r'importorskip\("([\w.]+)"', text)} == {
        "catboost",
        "ray",
        "ray.tune",
    }


def test_no_two_test_modules_have_one_name() -> None:
    """Else pytest cannot collect both, as folders of tests are no packages; helpers shadow each other."""
    modules = [path for path in TESTS.rglob("*.py") if not (path.parent / "__init__.py").exists()]
    named = Counter(path.stem for path in modules)
    assert not [name for name, count in named.items() if count > 1 and name != "conftest"]


def test_a_class_name_stands_for_one_thing() -> None:
    """And so does each name that is promised to plug-ins and users, whatever it is the name of.

    Private classes are the business of their modules alone: others import none of them, so that names may repeat.
    """
    promised = {*contracts.__all__, *spacelang.__all__}
    homes: defaultdict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        facts = facts_of(path)
        assert not [name for name in facts.names if name[0] == "_" and name[1:2].isupper()], path
        for name in facts.classes | facts.aliases & promised:
            homes[name].add(".".join(path.relative_to(PACKAGE).with_suffix("").parts))
    several = {name: modules for name, modules in homes.items() if len(modules) > 1 and not name.startswith("_")}
    assert several == {name: {*modules} for family in ONE_NAME.values() for name, modules in family.items()}


RETIRED: Final = frozenset(
    {
        "beside",
        "boxed",
        "burden",
        "carried",
        "chance",
        "crew",
        "crews",
        "deed",
        "deeds",
        "foresight",
        "gauge",
        "gauged",
        "glance",
        "goes",
        "heard",
        "hired",
        "hurdle",
        "laboratory",
        "later",
        "lottery",
        "nearness",
        "nowhere",
        "nurseries",
        "nursery",
        "odds",
        "parcel",
        "retold",
        "said",
        "scout",
        "scouts",
        "seat",
        "seats",
        "steward",
        "surroundings",
        "told",
        "upright",
        "whisker",
        "wish",
        "wishes",
    }
)
"""Words of the former private vocabulary, which no name of the package may contain; CONTRIBUTING.md has the style."""

FORBIDDEN_OPENING: Final = re.compile(
    r"(What|Who|Whoever|How|Whether|Which|When|Where|Of|That|Those|Such|As|All that|So many|So much)\b"
)
"""Openings of docstrings that turn a sentence into a riddle."""


def definitions(tree: ast.Module) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    return (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    )


@pytest.mark.parametrize("folder", sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}))
def test_names_and_docstrings_are_in_plain_words(folder: str) -> None:
    """Names contain no retired word, and docstrings open with a verb or a noun phrase (ruff checks the rest)."""
    found = []
    for path in [PACKAGE / folder] if folder.endswith(".py") else sorted((PACKAGE / folder).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in definitions(tree):
            name = path.stem if isinstance(node, ast.Module) else node.name
            words = {word.lower() for word in re.findall(r"[a-z]+|[A-Z][a-z]*", name)}
            if words & RETIRED:
                found.append(f"{path}: {name}")
            if FORBIDDEN_OPENING.match(ast.get_docstring(node) or ""):
                found.append(f"{path}: the docstring of {name}")
    assert not found

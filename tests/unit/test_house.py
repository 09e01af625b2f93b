"""Rules of the house that import-linter cannot say."""

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping
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
    "a plug-in is called like its file, and one of each kind may have the name": {
        "Admm": frozenset({"optimizers.admm", "targets.admm"}),
        "Blds": frozenset({"optimizers.blds", "targets.blds"}),
        "Bo": frozenset({"minimizers.bo", "optimizers.bo"}),
        "Boasf": frozenset({"optimizers.boasf", "targets.boasf"}),
        "Mosaic": frozenset({"optimizers.mosaic", "targets.mosaic"}),
        "Optuna": frozenset({"optimizers.optuna", "targets.optuna"}),
        "Random": frozenset({"minimizers.random", "optimizers.random", "targets.random"}),
        "Tpe": frozenset({"minimizers.tpe", "optimizers.tpe"}),
    },
    "as it is written, and as it is meant": {
        "Operator": frozenset({"ir.space", "syntax.ast"}),
        "Pipeline": frozenset({"syntax.ast", "targets.blds"}),
        "Task": frozenset({"ir.task", "syntax.ast"}),
    },
    "as a library has it, and as it is written": {"Parameter": frozenset({"catalog.catalogue", "syntax.ast"})},
    "what a library lists by name, there and in a space": {"Named": frozenset({"catalog.catalogue", "ir.space"})},
    "as it is checked, and with what its users ask of it": {"Space": frozenset({"api.space", "ir.space"})},
    "a prior, and its distribution in the modules that are written for scikit-learn": {
        "Normal": frozenset({"ir.prior", "targets._exports.sklearn_distributions"}),
        "Uniform": frozenset({"ir.prior", "targets._exports.sklearn_distributions"}),
    },
    "users and plug-ins know either by this word: of configurations and of fitted pipelines, what is taken and what is "
    "minimised": {
        "Constraint": frozenset({"ir.space", "runtime.judging.constraints"}),
        "Value": frozenset({"ir.value", "minimizers._protocol", "syntax.ast"}),
    },
}
"""The names that several modules may have for their own: why, and which modules these are."""


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

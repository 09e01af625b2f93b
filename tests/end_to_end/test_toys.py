"""The examples of spacelang/testing/README.md, installed as a package: they are found and pass their suites."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from commands import environment
from numpy.random import default_rng

from spacelang.ir.search_protocol import Problem
from spacelang.testing.driving import drive_search, hash_loss
from spacelang.testing.small_spaces import continuous_space

PLUGINS_GUIDE = (Path(__file__).parents[2] / "spacelang" / "testing" / "README.md").read_text(encoding="utf-8")

TOYS = ("target", "optimizer", "selector", "minimizer", "executor", "objective")
"""Those that have a section of their own, and a suite."""

ENTRY_POINTS = """
[spacelang.targets]
rows = toys.target:Rows

[spacelang.optimizers]
better_half = toys.optimizer:BetterHalf
outwards = toys.selector:Outwards

[spacelang.minimizers]
nearby = toys.minimizer:Nearby
"""

TESTS = {
    "target": """
        from spacelang.targets import TARGETS
        from spacelang.testing import TargetConformance

        class TestRows(TargetConformance):
            target = TARGETS.load("rows")
            refuses = False
            examples = 3
    """,
    "optimizer": """
        from spacelang.optimizers import OPTIMIZERS
        from spacelang.testing import OptimizerConformance

        class TestBetterHalf(OptimizerConformance):
            optimizer = OPTIMIZERS.load("better_half")
            examples = 3
    """,
    "selector": """
        from spacelang.optimizers import OPTIMIZERS
        from spacelang.testing import SelectorConformance

        class TestOutwards(SelectorConformance):
            one_by_one = True
            examples = 3

            def selector(self):
                return OPTIMIZERS.load("outwards")().selector()
    """,
    "minimizer": """
        from spacelang.minimizers import MINIMIZERS
        from spacelang.testing import MinimizerConformance

        class TestNearby(MinimizerConformance):
            minimizer = MINIMIZERS.load("nearby")
            examples = 3
    """,
    "executor": """
        from spacelang.testing import ExecutorConformance
        from toys.executor import Threads

        class TestThreads(ExecutorConformance):
            def executor(self, evaluate, limits):
                return Threads(evaluate)
    """,
    "objective": """
        import spacelang as sl
        from spacelang.contracts import Configuration
        from spacelang.testing import ObjectiveConformance
        from toys.objective import riddle

        SPACE = sl.parse("space s\\nstage a = none | StandardScaler\\nstage b = GaussianNB | LinearSVC\\n")
        SECRET = Configuration({"a": "StandardScaler", "b": "LinearSVC"})

        class TestRiddle(ObjectiveConformance):
            space = SPACE.checked
            fidelities = (1,)

            def objective(self):
                return riddle(SECRET)

        def test_a_search_guesses_it():
            assert sl.search(SPACE, objective=riddle(SECRET), trials=6, workers=0).best_configuration == SECRET
    """,
}


def shown(toy: str) -> str:
    """The code of a section."""
    article = "An" if toy[0] in "aeiou" else "A"
    _, _, section = PLUGINS_GUIDE.partition(f"### {article} {toy}\n")
    return section.partition("```python\n")[2].partition("```\n")[0]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed package, outside of everything."""
    folder = tmp_path_factory.mktemp("site")
    toys, facts = folder / "toys", folder / "toys-1.0.dist-info"
    toys.mkdir()
    facts.mkdir()
    (toys / "__init__.py").touch()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    for toy in TOYS:
        (toys / f"{toy}.py").write_text(shown(toy), encoding="utf-8")
        (folder / f"test_{toy}.py").write_text(re.sub("^        ", "", TESTS[toy], flags=re.M), encoding="utf-8")
    return folder


@pytest.mark.parametrize("toy", TOYS)
def test_it_is_short(toy: str) -> None:
    assert 10 < len(shown(toy).splitlines()) < 60


@pytest.fixture(scope="module")
def suites(package: Path) -> dict[str, list[ElementTree.Element]]:
    """The tests of each suite, with what was wrong: all are run in one process, which imports scikit-learn once."""
    alone = ("-q", "-p", "no:cacheprovider", "--rootdir", str(package), "--junitxml", "told.xml")
    command = [sys.executable, "-m", "pytest", *alone, *(f"test_{toy}.py" for toy in TOYS)]
    settings = environment(PYTHONPATH=str(package))
    ended = subprocess.run(
        command, cwd=package, env=settings, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False
    )
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr
    tests = [*ElementTree.parse(package / "told.xml").iter("testcase")]
    return {toy: [each for each in tests if each.attrib["classname"].startswith(f"test_{toy}")] for toy in TOYS}


@pytest.mark.parametrize("toy", TOYS)
def test_it_passes_its_suite(suites: dict[str, list[ElementTree.Element]], toy: str) -> None:
    assert suites[toy]
    wrong = [each for test in suites[toy] for each in test if each.tag in ("failure", "error")]
    assert not wrong, "\n".join(each.text or "" for each in wrong)


@pytest.mark.parametrize("workers", [1, 8])
def test_the_optimizer_leaves_nobody_idle(workers: int) -> None:
    names: dict[str, object] = {"__name__": "toy"}
    exec(shown("optimizer"), names)
    search = names["BetterHalf"]().search(Problem(continuous_space(), 500, default_rng(0)))  # type: ignore[operator]
    driven = drive_search(search, hash_loss, 200, workers=workers)
    assert driven.idle_count == workers, "only before the first wish there is nothing to do"
    assert {request.fidelity for request in driven.requests} == {50, None}

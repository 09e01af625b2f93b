"""What is included, declared or imported means what it would mean if it were written out in one text."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacelang.analysis import CheckResult, check
from spacelang.diagnostics.diagnostic import Severity
from spacelang.ir.space import Space
from spacelang.syntax.sources import read_source
from spacelang.text import Source

from . import brute
from .settings import LAW
from .texts import STAGES, Drawn, texts

MEMBERS = {
    "n_neighbors": ("int[1, 3]", "int[1, 9] log = 2", "{1, 5} = 5"),
    "weights": ("{uniform, distance} = distance", "{uniform}"),
    "leaf_size": ("int[10, 30] step 10 = 20", "int[10, 12] when weights == distance"),
    "p": ("{1, 2} = 2", "float[1, 2] step 0.5 = 1.5 @split(2)"),
    "algorithm": ("{auto, brute} = auto", "ordered {auto, kd_tree}"),
}
RULES = ("forbid p == 1 and leaf_size == 10", "require n_neighbors < 9 or weights == distance")
CLASSES = sorted(
    {name for stage in STAGES.values() for name in stage} | {"DecisionTreeClassifier", "LogisticRegression"}
)


@dataclass
class Grouped:
    """A text whose body includes groups, its groups by themselves, and the body with their members written out."""

    groups: list[str]
    body: list[str]
    plain: list[str]

    def text(self, before: str = "") -> str:
        return stage([line.replace("include ", f"include {before}") for line in self.body])

    @property
    def whole(self) -> str:
        return "\n".join((*self.groups, self.text()))


def stage(body: Sequence[str]) -> str:
    return "stage e = KNeighborsClassifier {\n  " + "\n  ".join(body) + "\n}\n"


@st.composite
def grouped(draw: st.DrawFn) -> Grouped:
    """Members in a random order, of which runs stand in groups, which may include each other, under random names."""
    names = draw(st.permutations(sorted(MEMBERS)))
    plain = [f"{name} : {draw(st.sampled_from(MEMBERS[name]))}" for name in names]
    plain += [rule for rule in RULES if draw(st.booleans())]
    body, groups = list(plain), []
    overridden: set[str] = set()
    for number in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(body) - 1))
        run = body[start : draw(st.integers(start + 1, len(body)))]
        inside = list(run)
        extra = draw(st.sampled_from([None, *MEMBERS]))
        own = {line.split(" ")[0] for line in body} - {line.split(" ")[0] for line in run}
        if extra in own and extra not in overridden:
            # The group has a member of its own under the name of one that the body has: the body's goes before it.
            inside.insert(draw(st.integers(0, len(inside))), f"{extra} : {MEMBERS[extra][0]}")
            overridden.add(extra)
        groups.append(f"params g{number} {{\n  " + "\n  ".join(inside) + "\n}")
        body[start : start + len(run)] = [f"include g{number}"]
    # A name that was overridden must stay in a body further out, where it goes before what is included.
    assume(all(any(line.startswith(f"{name} ") for line in body) for name in overridden))
    return Grouped(draw(st.permutations(groups)), body, plain)


def sound(found: CheckResult) -> bool:
    return not any(problem.severity is Severity.ERROR for problem in found.diagnostics)


def meaning(space: Space) -> tuple[object, set[str]]:
    """What a space says, the order of its constraints left aside."""
    return space.root, {repr(constraint) for constraint in space.constraints}


@settings(LAW)
@given(grouped())
def test_included_members_are_members(drawn: Grouped) -> None:
    found, expected = check(Source("law", drawn.whole)), check(Source("law", stage(drawn.plain)))
    assert sound(found) == sound(expected), found.diagnostics
    codes = [problem.code for problem in expected.diagnostics]
    assert sorted(problem.code for problem in found.diagnostics) == sorted(codes)
    if found.space is not None and expected.space is not None:
        assert meaning(found.space) == meaning(expected.space)


@settings(LAW)
@given(grouped(), st.sampled_from(["other.space", "inner/other.space"]))
def test_a_text_in_files_is_the_whole_text(drawn: Grouped, other: str) -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        (home / other).parent.mkdir(exist_ok=True)
        (home / other).write_text("\n".join(drawn.groups), encoding="utf-8")
        (home / "main.space").write_text(f'import "{other}" as them\n{drawn.text("them.")}', encoding="utf-8")
        source = read_source(str(home / "main.space"))
        assert isinstance(source, Source)
        found, expected = check(source), check(Source("main", drawn.whole))
    assert sorted(p.code for p in found.diagnostics) == sorted(p.code for p in expected.diagnostics)
    if found.space is not None and expected.space is not None:
        assert meaning(found.space) == meaning(expected.space)


@settings(LAW)
@given(texts(), st.booleans())
def test_an_imported_space_is_the_space(drawn: Drawn, by_stage: bool) -> None:
    stages = [decision.address for decision in drawn.stages]
    pipeline = " -> ".join(f"them.{name}" for name in stages) if by_stage else "them"
    with TemporaryDirectory() as folder:
        (Path(folder) / "them.space").write_text(drawn.text, encoding="utf-8")
        (Path(folder) / "main.space").write_text(f'import "them.space"\npipeline = {pipeline}\n', encoding="utf-8")
        source = read_source(str(Path(folder) / "main.space"))
        assert isinstance(source, Source)
        found, expected = check(source), check(Source("law", drawn.text))
    assert [p.code for p in found.diagnostics] == [p.code for p in expected.diagnostics]
    if found.space is not None and expected.space is not None:
        assert meaning(found.space) == meaning(expected.space)


@settings(LAW)
@given(texts())
def test_abstract_operators_are_searched_like_others(drawn: Drawn) -> None:
    pattern = re.compile(rf"\b({'|'.join(CLASSES)})\b(?!\")")
    used = sorted({*pattern.findall(drawn.text)})
    declarations = "".join(f"abstract my_{name}\n" for name in used)
    text = pattern.sub(r"my_\1", drawn.text)
    found = check(Source("law", text + declarations))
    # The library's defaults are not known of abstract operators: other ones may be excluded.
    assume(sound(found))
    assert found.space is not None
    assert found.structures is not None
    members = {re.sub(rf'"({"|".join(CLASSES)})"', r'"my_\1"', member) for member in drawn.configurations()}
    assert found.structures.count == len(drawn.structures())
    assert found.structures.configuration_count == len(members)
    if "estimator = " not in text:
        listed = {json.dumps(json.loads(member), sort_keys=True) for member in brute.configurations(found.space)}
        assert listed == members

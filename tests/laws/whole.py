"""Random texts in which every construct of the language may occur, in one file or in two, each with its meaning."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from spacelang.testing.small_spaces import draw_integer, draw_one

from . import parts
from .oracle import FaultyError, Oracle, Scope, Taken

LARGEST = 250
"""The most raw combinations of a text."""

WORDS = ("red", "green", "blue")
DOMAINS: dict[str, tuple[str, tuple[tuple[str, Any], ...]]] = {
    "size": (
        "number",
        (
            ("int[1, 2]", lambda _: (1, 2)),
            ("int(0, 3)", lambda _: (1, 2)),
            ("int[0, 2] step 2", lambda _: (0, 2)),
            ("{none} | int[1, 2]", lambda _: (None, 1, 2)),
            ("float[0.5, 1] step 0.5", lambda _: (0.5, 1.0)),
            ("int[1, min(3, n_features)]", lambda n: tuple(range(1, 1 + min(3, n or 3)))),
            ("int[min(2, n_features / 2), 2] log", lambda n: tuple(range(1 if n in (1, 2) else 2, 3))),
        ),
    ),
    "ripe": ("truth", (("bool", lambda _: (True, False)),)),
    "hue": (
        "word",
        (
            ("{red, green, blue}", lambda _: WORDS),
            ("ordered {blue, green, red}", lambda _: ("blue", "green", "red")),
            ("{red} | {green, blue}", lambda _: WORDS),
            ("{red, green, blue, (1, 2)}", lambda _: (*WORDS, (1, 2))),
        ),
    ),
}
"""Parameters by name: what they are like, and domains with their values for so many features."""


@dataclass(repr=False)
class Drawn:
    """Files with what they mean for so many features; the constraints may leave nothing, or exclude the default."""

    main: parts.File
    features: int | None
    oracle: Oracle

    @property
    def text(self) -> str:
        """The main file."""
        return self.main.text

    def __repr__(self) -> str:
        files = (self.main, *self.main.imports.values())
        return "\n".join(f"# {file.name}\n{file.text}" for file in files) + f"# for {self.features} features\n"

    def save(self, folder: Path) -> Path:
        """Write all files; where the main one is."""
        for file in (self.main, *self.main.imports.values()):
            (folder / f"{file.name}.space").write_text(file.text, encoding="utf-8")
        return folder / f"{self.main.name}.space"


@st.composite
def drawings(draw: st.DrawFn, files: bool = True) -> Drawn:
    """One file, or unless `files` is false perhaps two."""
    writer = _Writer(draw)
    library = writer.library() if files and draw_integer(draw, 0, 2) else None
    main = writer.main(library)
    features = draw_one(draw, (None, None, 1, 2, 5))
    try:
        oracle = Oracle(main, features, LARGEST)
    except FaultyError:
        assume(False)
    _Expressions(draw, oracle).add()
    return Drawn(main, features, oracle)


class _Writer:
    """Draws files without their conditions and constraints."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.left = 0
        """How many more operators a structure may have."""

    def one(self, *several: Any) -> Any:
        return draw_one(self.draw, several)

    def often(self, out_of: int) -> bool:
        return draw_integer(self.draw, 1, out_of) == 1

    # ---- files

    def library(self) -> parts.File:
        file = parts.File("library")
        file.groups["sized"] = self.body(("size", "hue"))
        file.abstracts = {"Elder": self.body(("size",)), "Fig": None}
        file.groups["whole"] = parts.Body([parts.Include("sized"), *self.body(("ripe",)).members])
        self.stages(file, {"first": ["Elder", "Fig"]} | ({"third": ["Fig", "first"]} if self.often(2) else {}))
        if self.often(2):
            self.left = 2
            file.pipeline = self.part(file, ["Elder", "Fig", *file.stages], 1)
        return file

    def main(self, library: parts.File | None) -> parts.File:
        file = parts.File("main", imports={} if library is None else {"lib": library})
        outer = ["Apple", "Berry", "Cherry", "Date"]
        file.groups = {
            "sized": self.body(("size",)),
            "deep": parts.Body([parts.Include("sized"), *self.body(("ripe",)).members]),
        }
        sized = self.one("deep", "sized", *([] if library is None else ["lib.sized", "lib.whole"]))
        file.abstracts = {
            "Apple": None,
            "Berry": parts.Body([parts.Include(sized)]),
            "Cherry": self.body(("ripe", "hue")),
        }
        file.abstracts["Date"] = parts.Body([parts.Include("sized"), *self.body(("size", "hue")).members])
        names = [*outer, *([] if library is None else ["lib.Elder", "lib.Fig", *(f"lib.{s}" for s in library.stages)])]
        self.stages(file, {"first": names, "second": [*names, "first"]})
        if not self.often(3):
            self.left = 4
            inner = ["lib"] if library is not None and (library.pipeline or library.stages) else []
            file.pipeline = self.part(file, [*names, "first", "second", "second", *inner], 3)
            if self.often(3):
                file.pipeline = self.with_chain(file, library)
        file.task = self.one("", "", "task classification { minimize 1 - roc_auc, limit run 1h }".replace(", ", "\n"))
        return file

    def stages(self, file: parts.File, names: dict[str, list[str]]) -> None:
        for name, known in names.items():
            self.left = 3
            file.stages[name] = self.part(file, known, 2)
        if "second" in names and self.often(4):
            file.marks[next(iter(names))] = " @first"

    # ---- structures

    def part(self, file: parts.File, names: list[str], depth: int) -> parts.Part:
        if depth == 0 or self.left <= 0:
            return self.use(file, names, depth)
        alias = self.one("", "", "", f"named{depth}")
        match draw_integer(self.draw, 0, 9):
            case 0 | 1 | 2:
                return self.use(file, names, depth)
            case 3 | 4:
                return parts.Joined("|", self.several(file, names, depth), alias)
            case 5:
                return parts.Joined("->", self.several(file, names, depth), alias)
            case 6:
                return parts.Joined("&", self.several(file, names, depth), alias)
            case 7:
                return parts.Maybe(self.part(file, names, depth - 1), alias)
            case 8:
                several = self.several(file, names, depth)
                return parts.Columns([*zip(("numeric", '"^x"', "rest"), several, strict=False)])
            case _:
                return self.one(parts.Permute(self.several(file, names, depth), alias), parts.Nothing())

    def with_chain(self, file: parts.File, library: parts.File | None) -> parts.Part:
        """Return a small pipeline with a chain of two stages, or of a stage of the other file."""
        for name in ("first", "second"):
            self.left = 2
            file.stages[name] = parts.Joined(
                "|",
                [
                    self.use(file, [*file.abstracts], 0),
                    self.part(file, [*file.abstracts, "first"][: 4 + (name == "second")], 1),
                ],
            )
        name = self.one("first", "second", "second", *([] if library is None else [f"lib.{s}" for s in library.stages]))
        least = self.one(0, 0, 1)
        chain = parts.Repeat(name, least, least + self.one(1, 1, 2 - least), self.one("", "", "", "links"))
        other = self.one(parts.Nothing(), parts.Use(self.one("first", "second", "Apple")))
        return parts.Joined("->", self.one([chain, other], [other, chain]))

    def several(self, file: parts.File, names: list[str], depth: int) -> list[parts.Part]:
        return [self.part(file, names, depth - 1) for _ in range(draw_integer(self.draw, 2, 3))]

    def use(self, file: parts.File, names: list[str], depth: int) -> parts.Use:
        self.left -= 1
        name = self.one(*names)
        home, inner = file.home(name)
        alias = self.one("", "", "", "", "other")
        if inner in home.stages:
            return parts.Use(name, alias)
        if inner not in home.abstracts:
            return parts.Use(name)
        body = self.given(file, home, inner, depth) if self.often(2) else None
        return parts.Use(name, alias, body, self.one("", "", " @weight(2)") if depth < 0 else "")

    def given(self, file: parts.File, home: parts.File, name: str, depth: int) -> parts.Body:
        """A body at a use: an operator that declares parameters takes no others."""
        declared = home.abstracts[name]
        if declared is None:
            body = self.body(tuple(DOMAINS), 2)
            if depth > 0 and self.left > 0 and self.often(2):
                body.members.append(self.nested(file))
            elif self.often(4):
                body.members.append(parts.Include("sized"))
            elif self.often(3):
                inner = parts.Use(self.one("Cherry", "Berry") if "Cherry" in file.abstracts else "Elder")
                inner.body = self.given(file, file, inner.name, -1)
                body.members.append(parts.Inside("core", inner))
            return body
        known = _parameters(declared, home)
        return self.body(tuple(known), len(known))

    def nested(self, file: parts.File) -> parts.Nested:
        self.left -= 1
        names = [name for name, body in file.abstracts.items() if body is not None]
        if self.often(2):
            return parts.Nested("inner", self.list(file, names))
        first = self.part(file, names, 1)
        if self.often(2):
            return parts.Nested("inner", first)
        return parts.Nested("inner", parts.Joined("|", [first, self.part(file, names, 1)]))

    def list(self, file: parts.File, names: list[str]) -> parts.Part:
        """A list of operators of which most are optional."""
        members: list[parts.Part] = []
        for _ in range(draw_integer(self.draw, 2, 3)):
            used = self.use(file, names, 0)
            choice = parts.Joined("|", self.one([parts.Nothing(), used], [used, parts.Nothing()]))
            members.append(self.one(parts.Maybe(used), parts.Maybe(used, "maybe"), choice, used))
        found = parts.Joined("&", members, self.one("", "all"))
        return self.one(found, parts.Joined("|", [found, self.use(file, names, 0)]))

    def body(self, names: tuple[str, ...], most: int = 3) -> parts.Body:
        chosen = self.draw(st.lists(st.sampled_from(names), max_size=most, unique=True)) if most < 3 else names
        return parts.Body([self.member(name) for name in chosen])

    def member(self, name: str) -> parts.Leaf | parts.Fixed:
        kind, domains = DOMAINS[name]
        if self.often(6):
            return parts.Fixed(name, self.one({"number": 1, "truth": True, "word": "red"}[kind]))
        text, values = self.one(*domains)
        marks = self.one("", "", "", " @split(2)", " @prior(uniform)")
        return parts.Leaf(name, kind, text, values, marks=marks)  # type: ignore[arg-type]


def _parameters(body: parts.Body, file: parts.File) -> dict[str, None]:
    found: dict[str, None] = {}
    for member in body.members:
        if isinstance(member, parts.Include):
            home, name = file.home(member.group)
            found |= _parameters(home.groups[name], home)
        else:
            found[member.name] = None
    return found


class _Expressions:
    """Adds conditions and constraints to files whose names are known."""

    def __init__(self, draw: st.DrawFn, oracle: Oracle) -> None:
        self.draw = draw
        self.oracle = oracle
        self.scopes: dict[int, list[Scope]] = {}
        for body, scope in oracle.bodies:
            self.scopes.setdefault(id(body), []).append(scope)

    def one(self, *several: Any) -> Any:
        return draw_one(self.draw, several)

    def often(self, out_of: int) -> bool:
        return draw_integer(self.draw, 1, out_of) == 1

    def add(self) -> None:
        bodies = {id(body): body for body, _ in self.oracle.bodies}
        for body in bodies.values():
            self.add_to(body)
        for file in self.oracle.files:
            for _ in range(self.one(0, 0, 0, 1, 1, 2) if file is self.oracle.main else self.one(0, 0, 1)):
                known = self.known(file)
                if known:
                    rule = parts.Rule(self.one(True, False), self.expression(known, self.decisions(file)))
                    file.rules.append(rule)

    def add_to(self, body: parts.Body) -> None:
        """Conditions on siblings that come before in the alphabet: so they never depend on each other in a circle."""
        leaves = {member.name: member for member in body.members if isinstance(member, parts.Leaf)}
        decisions = self.decisions(self.scopes[id(body)][0].file, self.scopes[id(body)])
        for name, leaf in leaves.items():
            before = {other: leaf.kind for other, leaf in leaves.items() if other < name}
            if self.often(3) and (before or decisions):
                leaf.condition = self.expression(before, decisions)
        lists = sorted(self.lists(body))
        if lists and self.often(2):
            count = parts.Count(self.one(*lists), self.one("==", "!=", "<", ">="), draw_integer(self.draw, 1, 2))
            body.rules.append(parts.Rule(self.one(True, False), count))
        if self.often(4):
            members = [member for member in body.members if isinstance(member, parts.Leaf | parts.Fixed)]
            known = {member.name: DOMAINS[member.name][0] for member in members}
            tested = {**decisions, **self.nested(body)}
            outer = self.known(self.scopes[id(body)][0].file, self.scopes[id(body)]) if self.often(3) else {}
            if known or tested or outer:
                body.rules.append(parts.Rule(self.one(True, False), self.expression({**outer, **known}, tested)))

    def lists(self, body: parts.Body) -> set[str]:
        """The names of the members of a body whose value is a list of operators."""
        scopes = self.scopes[id(body)]
        return {
            member.name
            for member in body.members
            if isinstance(member, parts.Nested)
            and all(self.oracle.decisions[scope.siblings[member.name]].lists for scope in scopes)
        }

    def nested(self, body: parts.Body) -> dict[str, tuple[str, ...]]:
        """The decisions that are members of a body, with the words that may stand for their alternatives."""
        found = {}
        for member in body.members:
            if isinstance(member, parts.Nested):
                several = [self.oracle.decisions[scope.siblings[member.name]] for scope in self.scopes[id(body)]]
                common = set.intersection(*map(self.words, several))
                words = tuple(sorted(word for word in common if re.fullmatch(r"[A-Za-z]\w*", word)))
                found |= {member.name: words} if words else {}
        return found

    # ---- what may be named

    def known(self, file: parts.File, scopes: list[Scope] | None = None) -> dict[str, str]:
        """The hyperparameters that a file may name by their addresses, and what they are like."""
        found = {}
        hidden = self.hidden(scopes)
        for address in sorted(self.oracle.reached[0]):
            leaf = self.oracle.leaves[address].leaf
            for name in self.called(address, file):
                meant = {self.oracle.address(name, scope) for scope in scopes or ()}
                if name.split(".")[0] not in hidden and self.are_like(leaf, meant):
                    found[name] = leaf.kind
        return found

    def are_like(self, leaf: parts.Leaf, addresses: set[str]) -> bool:
        """Whether all of these are hyperparameters that the pipeline has, and like this one."""
        leaves = self.oracle.leaves
        return addresses <= self.oracle.reached[0] and all(leaves[other].leaf.kind == leaf.kind for other in addresses)

    def hidden(self, scopes: list[Scope] | None) -> set[str]:
        """The words that mean a member of the body."""
        return {name for scope in scopes or () for name in (*scope.siblings, *scope.constants, "core")}

    def decisions(self, file: parts.File, scopes: list[Scope] | None = None) -> dict[str, tuple[str, ...]]:
        """The decisions that may be named, with the names of alternatives and operators."""
        found = {}
        hidden = self.hidden(scopes)
        for address in sorted(self.oracle.reached[1]):
            decision = self.oracle.decisions[address]
            words = tuple(
                word
                for word in dict.fromkeys((*decision.alternatives, *decision.alternatives.values()))
                if re.fullmatch(r"[A-Za-z]\w*|\d", word)
            )
            for name in self.called(address, file):
                if words and name.split(".")[0] not in hidden and self.means(name, scopes or [], words):
                    found[name] = words
        return found

    def means(self, name: str, scopes: list[Scope], words: tuple[str, ...]) -> bool:
        """Whether a name means a decision with such alternatives in all scopes: in its own stage it may be another."""
        meant = {self.oracle.address(name, scope) for scope in scopes}
        return all(
            other in self.oracle.reached[1] and {*words} <= self.words(self.oracle.decisions[other]) for other in meant
        )

    def words(self, decision: Taken) -> set[str]:
        return {*decision.alternatives, *decision.alternatives.values()}

    def called(self, address: str, file: parts.File) -> Iterator[str]:
        """What a file calls an address: by the use, and by the stage where it is its first use."""
        oracle = self.oracle
        if not re.fullmatch(r"\w+(\[\d\])?(\.\w+)*", address):
            return
        if file is oracle.main and oracle.address(address, Scope(file)) == address:
            yield address
        first, _, rest = address.partition(".")
        for at, before in ((file, ""), *((other, f"{alias}.") for alias, other in file.imports.items())):
            for stage in at.stages:
                called = oracle.uses.get((id(at), stage), [""])
                if called[0] == first and (before or stage != first or file is not oracle.main):
                    yield f"{before}{stage}" + (f".{rest}" if rest else "")

    # ---- expressions

    def expression(self, known: dict[str, str], decisions: dict[str, tuple[str, ...]]) -> parts.Expression:
        match draw_integer(self.draw, 0, 5):
            case 0:
                return parts.Not(self.atom(known, decisions))
            case 1 | 2:
                return parts.Both(self.atom(known, decisions), self.one("and", "or"), self.atom(known, decisions))
            case _:
                return self.atom(known, decisions)

    def atom(self, known: dict[str, str], decisions: dict[str, tuple[str, ...]]) -> parts.Expression:
        if decisions and (not known or self.often(3)):
            decision = self.one(*decisions)
            words = decisions[decision]
            several = dict.fromkeys((self.one(*words), self.one(*words)))
            return parts.Is(decision, tuple(several) if self.often(2) else (next(iter(several)),))
        name = self.one(*known)
        match known[name]:
            case "truth" if self.often(2):
                return parts.Truth(parts.Name(name))
            case "truth":
                return parts.Compare(parts.Name(name), self.one("==", "!="), parts.Constant(self.one(True, False)))
            case "word" if self.often(2):
                return parts.Among(parts.Name(name), (self.one(*WORDS), self.one(*WORDS)))
            case "word":
                return parts.Compare(parts.Name(name), self.one("==", "!="), parts.Constant(self.one(*WORDS)))
            case _:
                return self.numbers(name, known)

    def numbers(self, name: str, known: dict[str, str]) -> parts.Expression:
        sign = self.one("==", "!=", "<", "<=", ">", ">=")
        left: parts.Side = parts.Name(name)
        right: parts.Side = parts.Constant(self.one(1, 2))
        match draw_integer(self.draw, 0, 4):
            case 0:
                other = self.one(*[each for each, kind in known.items() if kind == "number"])
                left, right = parts.Sum(left, self.one("+", "-"), parts.Name(other)), parts.Constant(self.one(0, 2, 3))
            case 1:
                left = parts.Sum(parts.Constant(2), "*", left)
            case 2:
                right = parts.Symbol()
        return parts.Compare(right, sign, left) if self.often(4) else parts.Compare(left, sign, right)

"""What texts of the whole language mean, worked out from their parts as REFERENCE.md describes them.

Nothing of the compiler is used. A part has ways to go through it: the branches taken, and what they lead to.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any

from .parts import (
    Among,
    Body,
    Both,
    Columns,
    Compare,
    Constant,
    Count,
    Expression,
    File,
    Fixed,
    Include,
    Inside,
    Is,
    Joined,
    Leaf,
    Maybe,
    Name,
    Nested,
    Not,
    Nothing,
    Part,
    Permute,
    Repeat,
    Rule,
    Side,
    Sum,
    Symbol,
    Truth,
    Use,
    title,
)

ABSENT = object()
"""What a name is worth that is not active, and arithmetic that is not defined."""

Look = Callable[[str], Any]


class FaultyError(Exception):
    """The text has a mistake, such as two things of one name, or is too large to be worked out."""


@dataclass(eq=False)
class Scope:
    """What names mean at a place: siblings, and the use of a stage to which the place belongs."""

    file: File
    own: Mapping[str, str] = field(default_factory=dict)
    siblings: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Found:
    """A hyperparameter at its place."""

    leaf: Leaf
    address: str
    key: str
    scope: Scope


@dataclass(eq=False)
class Taken:
    """A decision at its place, with the alternatives by name and the operator that each is, if it is one."""

    address: str
    key: str
    alternatives: dict[str, str]
    lists: dict[str, list[str]] = field(default_factory=dict)
    """The members of the alternatives that are lists: the address of the decision of an optional one, or nothing."""


@dataclass(frozen=True)
class Way:
    """One way through a part."""

    branches: Mapping[str, str]
    keys: Mapping[str, str]
    leaves: tuple[Found, ...] = ()
    bodies: tuple[tuple[Body, Scope], ...] = ()
    """The bodies of the operators that it takes: what they forbid and require applies here and nowhere else."""

    def __add__(self, other: "Way") -> "Way":
        branches, keys = {**self.branches, **other.branches}, {**self.keys, **other.keys}
        return Way(branches, keys, (*self.leaves, *other.leaves), (*self.bodies, *other.bodies))


NOWHERE = Way({}, {})


@dataclass
class Spot:
    """What addresses and keys begin with, and the names that are taken there."""

    address: str = ""
    key: str = ""
    taken: set[str] = field(default_factory=set)

    def inside(self, name: str) -> "Spot":
        return Spot(f"{self.address}.{name}", f"{self.key}.{name}") if self.address else Spot(name, name)

    def alternative(self, name: str) -> "Spot":
        return Spot(f"{self.address}.{name}", self.key)


class Oracle:
    """Reads the whole text; `most` ways are too many."""

    def __init__(self, main: File, features: int | None, most: int) -> None:
        self.main = main
        self.features = features
        self.most = most
        self.top = Spot()
        self.uses: dict[tuple[int, str], list[str]] = {}
        self.leaves: dict[str, Found] = {}
        self.decisions: dict[str, Taken] = {}
        self.bodies: list[tuple[Body, Scope]] = []
        """Every body as often as it stands somewhere, those of groups and declarations included."""
        self.files: list[File] = []
        self.has_operators = False
        self.chains: set[str] = set()
        self.is_in_chain = False
        self.ways = self.steps(main)
        self.reached = frozenset(self.leaves), frozenset(self.decisions)
        """What the pipeline has; stages that it leaves out are read all the same."""
        if not self.has_operators:
            raise FaultyError
        for name in [name for name in main.stages if (id(main), name) not in self.uses]:
            self.stage(main, name, "", main)

    # ---- what a configuration is

    def rules(self) -> Iterator[tuple[Rule, Scope]]:
        """Those of the files."""
        for file in self.files:
            for rule in file.rules:
                named = {name.split(".")[0] for name in names(rule.expression)} & file.stages.keys()
                if file is self.main or all((id(file), name) in self.uses for name in named):
                    yield rule, Scope(file)

    def members(self) -> Iterator[tuple[dict[str, Any], Mapping[str, str]]]:
        """Every configuration, with the branches that it takes by the addresses of the decisions."""
        rules = [*self.rules()]
        for way in self.ways:
            domains = [found.leaf.values(self.features) for found in way.leaves]
            for values in product(*domains):
                document = self.settled(way, values, rules)
                if document is not None:
                    yield document, way.branches

    def settled(self, way: Way, values: tuple[Any, ...], rules: list[tuple[Rule, Scope]]) -> dict[str, Any] | None:
        worth = {found.address: value for found, value in zip(way.leaves, values, strict=True)}
        # A value that is not active stands for all of them: the last one shall.
        active: dict[str, bool] = {}
        by_address = {found.address: found for found in way.leaves}

        def look(address: str) -> Any:
            if address not in worth:
                return way.branches.get(address, ABSENT)
            if address not in active:
                found = by_address[address]
                condition = found.leaf.condition
                active[address] = condition is None or self.holds(condition, found.scope, look)
            return worth[address] if active[address] else ABSENT

        document: dict[str, Any] = dict(way.keys)
        for found in way.leaves:
            if look(found.address) is not ABSENT:
                document[found.key] = worth[found.address]
        own = [(rule, scope) for body, scope in way.bodies for rule in body.rules]
        return document if all(self.preserves(rule, scope, look) for rule, scope in (*own, *rules)) else None

    def configurations(self) -> dict[str, frozenset[tuple[str, str]]]:
        """Canonical JSON of every configuration, with its branches."""
        return {
            json.dumps(document, sort_keys=True): frozenset((_placed(a, taken), name) for a, name in taken.items())
            for document, taken in self.members()
        }

    # ---- expressions

    def preserves(self, rule: Rule, scope: Scope, look: Look) -> bool:
        for name in names(rule.expression):
            address = self.address(name, scope)
            if name not in scope.constants and address in self.leaves and look(address) is ABSENT:
                return True
        return self.holds(rule.expression, scope, look) is not rule.forbidden

    def address(self, name: str, scope: Scope) -> str:
        if name in scope.siblings:
            return scope.siblings[name]
        first, _, rest = name.partition(".")
        file = scope.file
        if first in scope.own:
            return f"{scope.own[first]}.{rest}" if rest else scope.own[first]
        if rest and first in file.imports:
            file, (first, _, rest) = file.imports[first], rest.partition(".")
        stage, bracket, place = first.partition("[")
        uses = self.uses.get((id(file), stage), [stage])
        if bracket:
            uses = [f"{use}[{place}" for use in uses if use in self.chains] or [first]
        called = uses[0]
        return f"{called}.{rest}" if rest else called

    def holds(self, written: Expression, scope: Scope, look: Look) -> bool:
        match written:
            case Both(word="and"):
                return self.holds(written.left, scope, look) and self.holds(written.right, scope, look)
            case Both():
                return self.holds(written.left, scope, look) or self.holds(written.right, scope, look)
            case Not():
                return not self.holds(written.term, scope, look)
            case Truth():
                return self.value(written.name, scope, look) is True
            case Among():
                value = self.value(written.name, scope, look)
                return any(_same(value, other) for other in written.values)
            case Is():
                address = self.address(written.decision, scope)
                alternatives = self.decisions[address].alternatives
                wanted = {n for word in written.alternatives for n in _meant(word, alternatives)}
                return look(address) in wanted
            case Count():
                return _compared(self.count(self.address(written.decision, scope), look), written.sign, written.number)
            case Compare():
                left, right = (self.value(side, scope, look) for side in (written.left, written.right))
                return _compared(left, written.sign, right)

    def count(self, address: str, look: Look) -> int:
        """How many members the list of a decision has; an alternative that is none is one, and `none` none."""
        decision, taken = self.decisions[address], look(address)
        if taken in decision.lists:
            return sum(1 for each in decision.lists[taken] if not each or look(each) != "none")
        return 0 if taken in (ABSENT, "none") else 1

    def value(self, side: Side, scope: Scope, look: Look) -> Any:
        match side:
            case Constant():
                return side.value
            case Symbol():
                return float("inf") if self.features is None else self.features
            case Name():
                if side.text in scope.constants:
                    return scope.constants[side.text]
                return look(self.address(side.text, scope))
            case Sum():
                left, right = self.value(side.left, scope, look), self.value(side.right, scope, look)
                if not _is_number(left) or not _is_number(right):
                    return ABSENT
                return {"+": left + right, "-": left - right, "*": left * right}[side.sign]

    # ---- files, stages

    def steps(self, file: File) -> list[Way]:
        self._open(file)
        if file.pipeline is not None:
            return self.meaning(file.pipeline, self.top, Scope(file))
        inner = {name for part in file.stages.values() for name in mentioned(part)}
        return self.all(self.stage(file, name, "", file) for name in file.stages if name not in inner)

    def _open(self, file: File) -> None:
        if all(other is not file for other in self.files):
            self.files.append(file)

    def chain(self, part: Repeat, scope: Scope) -> list[Way]:
        """Return the chains of all numbers of uses; each use has decisions of its own."""
        home, name = scope.file.home(part.name)
        if self.is_in_chain or any(n == "none" for n, _, _ in _alternatives(home.stages[name], is_named=False)):
            raise FaultyError
        called = self.called(name, part.alias, self.top, self.main)
        self.uses.setdefault((id(home), name), []).append(called)
        self.chains.add(called)
        self.is_in_chain = True
        uses = []
        for place in range(1, part.most + 1):
            use = f"{called}[{place}]"
            uses.append(self.choice(home.stages[name], Spot(use, use), Scope(home, {name: use})))
        self.is_in_chain = False
        numbers = range(part.least, part.most + 1)
        self.decisions[called] = Taken(called, called, {str(number): "" for number in numbers})
        return [
            Way({called: str(number)}, {called: str(number)}) + way
            for number in numbers
            for way in self.all(uses[:number])
        ]

    def stage(self, home: File, name: str, alias: str, user: File, spot: Spot | None = None) -> list[Way]:
        self._open(home)
        if self.is_in_chain and spot is not None:
            place = spot.inside(self.called(name, alias, spot, home))
            self.uses.setdefault((id(home), name), []).append(place.address)
            return self.choice(home.stages[name], place, Scope(home, {name: place.address}))
        called = self.called(name, alias, self.top, user)
        self.uses.setdefault((id(home), name), []).append(called)
        return self.choice(home.stages[name], Spot(called, called), Scope(home, {name: called}))

    # ---- structures

    def meaning(self, part: Part, spot: Spot, scope: Scope) -> list[Way]:
        match part:
            case Nothing():
                return [NOWHERE]
            case Use():
                return self.named(part, spot, scope)
            case Maybe() | Joined(sign="|"):
                called = self.called(self.free("choice", spot, scope), part.alias, spot, scope.file)
                return self.choice(part, spot.inside(called), scope, is_named=True)
            case Joined():
                within = spot.inside(self.called("", part.alias, spot, scope.file)) if part.alias else spot
                return self.all(self.meaning(inner, within, scope) for inner in part.parts)
            case Columns():
                return self.all(self.meaning(inner, spot, scope) for _, inner in part.parts)
            case Permute():
                return self.permutation(part, spot, scope)
            case Repeat():
                return self.chain(part, scope)

    def named(self, part: Use, spot: Spot, scope: Scope) -> list[Way]:
        home, name = scope.file.home(part.name)
        if name in home.stages:
            # Uses are numbered past what the file calls its stages that has the pipeline.
            return self.stage(home, name, part.alias, self.main, spot)
        if name in home.imports:
            if self.is_in_chain:
                raise FaultyError
            return self.steps(home.imports[name])
        called = self.called(name, part.alias, spot, scope.file)
        return self.operator(part, spot.inside(called), scope)

    def permutation(self, part: Permute, spot: Spot, scope: Scope) -> list[Way]:
        order = spot.inside(self.called("order", part.alias, spot, scope.file))
        labels = _apart([title(inner) for inner in part.parts])
        orders = [", ".join(each) for each in permutations(labels)]
        self.decisions[order.address] = Taken(order.address, order.key, dict.fromkeys(orders, ""))
        ways = [Way({order.address: name}, {order.key: name}) for name in orders]
        return self.all([ways, *(self.meaning(inner, spot, scope) for inner in part.parts)])

    def choice(
        self, part: Part, spot: Spot, scope: Scope, *, is_named: bool = False, is_value: bool = False
    ) -> list[Way]:
        """A decision; where the name of the part is already that of the decision, it names no alternative."""
        alternatives = _alternatives(part, is_named=is_named)
        decision = Taken(spot.address, spot.key, {})
        if len({name for name, _, _ in alternatives}) < len(alternatives):
            raise FaultyError
        self.decisions[spot.address] = decision
        found: list[Way] = []
        for name, inner, alias in alternatives:
            decision.alternatives[name] = self.operator_name(inner, scope)
            taken = Way({spot.address: name}, {spot.key: name})
            below = spot.alternative(name)
            if is_value and isinstance(inner, Joined) and inner.sign == "&":
                members = [self.list_member(each, below, scope) for each in inner.parts]
                decision.lists[name] = [address for address, _ in members]
                ways = self.all(each for _, each in members)
            else:
                ways = self.branch(inner, alias, below, scope)
            found.extend(taken + way for way in ways)
            self.limit(found)
        return found

    def list_member(self, part: Part, spot: Spot, scope: Scope) -> tuple[str, list[Way]]:
        """A member of a list with the address of its decision, if it may be left out."""
        if not isinstance(part, Maybe | Joined) or (isinstance(part, Joined) and part.sign != "|"):
            return "", self.meaning(part, spot, scope)
        place = spot.inside(self.called(self.free("choice", spot, scope), part.alias, spot, scope.file))
        ways = self.choice(part, place, scope, is_named=True)
        return (place.address if "none" in self.decisions[place.address].alternatives else ""), ways

    def operator_name(self, part: Part, scope: Scope) -> str:
        if not isinstance(part, Use):
            return ""
        home, name = scope.file.home(part.name)
        return name if name in home.abstracts else ""

    def branch(self, part: Part, alias: str, spot: Spot, scope: Scope) -> list[Way]:
        """An alternative: a single operator has its hyperparameters right below the decision."""
        if isinstance(part, Use) and self.operator_name(part, scope):
            return self.operator(part, spot, scope)
        if alias and isinstance(part, Permute | Maybe | Joined):
            if isinstance(part, Joined) and part.sign != "|":
                return self.all(self.meaning(inner, spot, scope) for inner in part.parts)
            if not isinstance(part, Permute):
                spot.taken.add(alias)
                return self.choice(part, spot.inside(alias), scope, is_named=True)
        return self.meaning(part, spot, scope)

    # ---- operators

    def operator(self, part: Use, spot: Spot, scope: Scope) -> list[Way]:
        self.has_operators = True
        home, name = scope.file.home(part.name)
        here = Scope(home, scope.own)
        declared, given = home.abstracts[name], part.body
        members: dict[str, tuple[Any, File]] = {}
        for body, file in ((declared, home), (given, scope.file)):
            if body is not None:
                members.update(self.opened(body, file))
        scopes: dict[int, Scope] = {}
        for file in {id(file): file for file in (home, scope.file, *(file for _, file in members.values()))}.values():
            scopes[id(file)] = Scope(file, scope.own if file is scope.file else {}, here.siblings, here.constants)
        bodies: list[tuple[Body, Scope]] = []
        for body, file in ((declared, home), (given, scope.file)):
            for each, at in () if body is None else self.everything(body, file):
                bodies.append((each, scopes.get(id(at)) or Scope(at, {}, here.siblings, here.constants)))
        self.bodies.extend(bodies)
        for member, _ in members.values():
            if isinstance(member, Leaf | Nested):
                here.siblings[member.name] = spot.inside(member.name).address
            elif isinstance(member, Fixed):
                here.constants[member.name] = member.value
        inner = [self.member(member, spot.inside(name), scopes[id(file)]) for name, (member, file) in members.items()]
        return self.all([[Way({}, {}, (), tuple(bodies))], *inner])

    def member(self, member: Leaf | Fixed | Nested | Inside, spot: Spot, scope: Scope) -> list[Way]:
        outer = Scope(scope.file, scope.own)
        match member:
            case Leaf():
                found = Found(member, spot.address, spot.key, scope)
                self.leaves[spot.address] = found
                return [Way({}, {}, (found,))]
            case Fixed():
                return [NOWHERE]
            case Nested():
                return self.choice(member.part, spot, outer, is_value=True)
            case Inside():
                return self.operator(member.use, spot, outer)

    def opened(self, body: Body, file: File) -> dict[str, tuple[Any, File]]:
        """The members of a body by name; its own go before those that it includes."""
        found: dict[str, tuple[Any, File]] = {}
        for member in body.members:
            if isinstance(member, Include):
                home, name = file.home(member.group)
                found.update(self.opened(home.groups[name], home))
        return {**found, **{m.name: (m, file) for m in body.members if not isinstance(m, Include)}}

    def everything(self, body: Body, file: File) -> Iterator[tuple[Body, File]]:
        """A body and all that it includes."""
        yield body, file
        for member in body.members:
            if isinstance(member, Include):
                home, name = file.home(member.group)
                yield from self.everything(home.groups[name], home)

    # ---- names

    def called(self, wanted: str, alias: str, spot: Spot, file: File) -> str:
        if alias:
            if alias in spot.taken or (not spot.address and alias in file.stages and alias != wanted):
                raise FaultyError
            spot.taken.add(alias)
            return alias
        called = _numbered(wanted, spot.taken, set(file.stages))
        spot.taken.add(called)
        return called

    def free(self, word: str, spot: Spot, scope: Scope) -> str:
        number = 1
        while f"{word}_{number}" in {*spot.taken, *scope.file.stages}:
            number += 1
        return f"{word}_{number}"

    def all(self, meanings: Iterable[list[Way]]) -> list[Way]:
        """Every way to take one of each."""
        found = [NOWHERE]
        for ways in meanings:
            found = [one + other for one in found for other in ways]
            self.limit(found)
        return found

    def limit(self, ways: list[Way]) -> None:
        if sum(_size(way, self.features) for way in ways) > self.most:
            raise FaultyError


def names(written: Expression | Side) -> Iterator[str]:
    """The names in an expression as they are written."""
    match written:
        case Name():
            yield written.text
        case Constant() | Symbol():
            return
        case Compare() | Sum() | Both():
            yield from names(written.left)
            yield from names(written.right)
        case Not():
            yield from names(written.term)
        case Truth() | Among():
            yield written.name.text
        case Is() | Count():
            yield written.decision


def mentioned(part: Part) -> Iterator[str]:
    """The names in a structure, those in values included."""
    match part:
        case Repeat() | Use():
            yield part.name
            body = part.body if isinstance(part, Use) else None
            for member in () if body is None else body.members:
                if isinstance(member, Nested):
                    yield from mentioned(member.part)
        case Nothing():
            return
        case Maybe():
            yield from mentioned(part.part)
        case Joined() | Permute():
            for inner in part.parts:
                yield from mentioned(inner)
        case Columns():
            for _, inner in part.parts:
                yield from mentioned(inner)


def _placed(address: str, taken: Mapping[str, str]) -> str:
    """Return the address in the space: inside a use of a chain it begins with the number of uses."""
    chain, bracket, _ = address.partition(".")[0].partition("[")
    return f"{chain}.{taken[chain]}.{address}" if bracket else address


def _size(way: Way, features: int | None) -> int:
    size = 1
    for found in way.leaves:
        size *= len(found.leaf.values(features))
    return size


def _numbered(wanted: str, taken: set[str], reserved: set[str]) -> str:
    called, number = wanted, 1
    while called in taken or (number > 1 and called in reserved):
        number += 1
        called = f"{wanted}_{number}"
    return called


def _apart(labels: list[str]) -> list[str]:
    found: list[str] = []
    for label in labels:
        found.append(_numbered(label, set(found), set()))
    return found


def _alternatives(part: Part, *, is_named: bool) -> list[tuple[str, Part, str]]:
    """The alternatives of a decision with their names; `|` and `?` without a name of their own are parts of it."""
    found: list[tuple[str, Part, str]] = []
    optional = False
    waiting: list[Part | None] = [part]
    while waiting:
        inner = waiting.pop(0)
        opens = (inner is part and is_named) or (isinstance(inner, Joined | Maybe) and not inner.alias)
        match inner:
            case None if not optional:
                optional = True
                found.append(("none", Nothing(), ""))
            case None:
                continue
            case Maybe() if opens:
                waiting[:0] = [None, inner.part]
            case Joined(sign="|") if opens:
                waiting[:0] = [*inner.parts]
            case _:
                found.append((inner.alias or title(inner), inner, inner.alias))
    return found


def _meant(word: str, alternatives: Mapping[str, str]) -> set[str]:
    """The alternative of a name, else all that are an operator of that name."""
    return {word} if word in alternatives else {name for name, operator in alternatives.items() if operator == word}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _same(left: Any, right: Any) -> bool:
    return left is not ABSENT and left == right and isinstance(left, bool) == isinstance(right, bool)


def _compared(left: Any, sign: str, right: Any) -> bool:
    if left is ABSENT or right is ABSENT:
        return False
    if sign in ("==", "!="):
        return _same(left, right) is (sign == "==")
    if not _is_number(left) or not _is_number(right):
        return False
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign]

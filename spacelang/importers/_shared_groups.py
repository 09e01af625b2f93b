"""Extract members that several bodies have in common to `params` groups, which the bodies include."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, TypeAlias

from spacelang.grouping import group_by_key
from spacelang.importers._tree_builder import Path
from spacelang.importers._unique_names import UniqueNames
from spacelang.syntax import ast
from spacelang.text import NO_SPAN

MIN_MEMBERS: Final = 2
"""The minimal number of members of a group: a single member is shorter than an `include`."""

_LONGEST_NAME: Final = 40


MembersByBody: TypeAlias = dict[Path, list[ast.Member]]


def extract_groups(
    bodies: MembersByBody, operators: dict[Path, str], names: UniqueNames
) -> tuple[list[ast.ParameterGroup], MembersByBody]:
    """Return groups of members that exactly the same bodies have, and the bodies with an `include` for each group."""
    groups: list[ast.ParameterGroup] = []
    shared = {path: list(members) for path, members in bodies.items()}
    for users, members in _repeated_groups(bodies):
        word = ast.Word(_group_name([operators[path] for path in users], members, names), NO_SPAN)
        groups.append(ast.ParameterGroup(word, ast.Body(tuple(members), NO_SPAN), NO_SPAN))
        for path in users:
            body = shared[path]
            place = body.index(members[0])
            rest = [member for member in body if member not in members]
            include = ast.Include(ast.DottedName((word,), NO_SPAN), NO_SPAN)
            # The `include` takes the place of the first member of the group.
            before = sum(member not in members for member in body[:place])
            shared[path] = [*rest[:before], include, *rest[before:]]
    return groups, shared


def _repeated_groups(bodies: MembersByBody) -> Iterator[tuple[tuple[Path, ...], list[ast.Member]]]:
    """Yield the bodies and members of each group that makes the text shorter."""
    written = ((member, path) for path, members in bodies.items() for member in members)
    users = group_by_key(
        (member, path)
        for member, path in written
        if isinstance(member, ast.Parameter | ast.FixedParameter) and not _is_decision(member)
    )
    groups = group_by_key((tuple(paths), member) for member, paths in users.items() if len(paths) > 1)
    for together, members in groups.items():
        closed = _self_contained(members)
        saved = len(closed) * (len(together) - 1) - len(together) - 2
        if len(closed) >= MIN_MEMBERS and saved > 0:
            yield together, closed


def _is_decision(member: ast.Parameter | ast.FixedParameter) -> bool:
    """Return True if a member is a nested decision: its alternatives belong to one body only."""
    return isinstance(member, ast.Parameter) and not isinstance(member.domain, ast.Range | ast.Booleans | ast.Values)


def _self_contained(members: Sequence[ast.Member]) -> list[ast.Member]:
    """Return the members whose conditions refer only to other members of the group."""
    while True:
        names = {member.name.text for member in members if isinstance(member, ast.Parameter | ast.FixedParameter)}
        kept = [member for member in members if _mentioned(member) <= names]
        if len(kept) == len(members):
            return kept
        members = kept


def _mentioned(member: ast.Member) -> set[str]:
    condition = member.condition if isinstance(member, ast.Parameter) else None
    return set() if condition is None else set(_references(condition))


def _references(expression: ast.Expression) -> Iterator[str]:
    match expression:
        case ast.DottedName():
            yield expression.text
        case ast.Binary(left=left):
            yield from _references(left)
        case ast.Logical(terms=terms):
            for term in terms:
                yield from _references(term)
        case ast.Unary(term=term):
            yield from _references(term)
        case ast.Membership(item=item):
            yield from _references(item)
        case ast.IsTest(decision=decision):
            yield from _references(decision)
        case _:
            return


def _group_name(users: list[str], members: list[ast.Member], names: UniqueNames) -> str:
    """Return a name for a group: the common prefix of its operators, or the names of its members."""
    columns = zip(*(user.split("_") for user in users), strict=False)
    common = "_".join(column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns))
    if common:
        return names.reserve(f"{common}_shared")
    called = [member.name.text for member in members if isinstance(member, ast.Parameter | ast.FixedParameter)]
    listed = "_and_".join(called)
    return names.reserve(listed if len(listed) <= _LONGEST_NAME else f"{called[0]}_and_{len(called) - 1}_more")

"""A readable text form of the IR, in which goldens are kept: what a space has become after analysis.

Equal spaces print alike and different ones apart; spans are left out. It is not the language and is never read back.

    space small "two stages"
    sequence
      decision scaler
        * none
        - PCA = sklearn.PCA
            n_components [scaler.n_components]: float[0.5, 0.9] = 0.7
            svd_solver := full
      decision estimator
        * GaussianNB = sklearn.GaussianNB
    forbid scaler is PCA and estimator is GaussianNB

A star marks the default alternative. The key, in square brackets, is what configurations call a thing; it is left out
where it is the plain name. What the indentation does not say of an address follows as `at`.
"""

from collections.abc import Iterator
from typing import Final, assert_never

from spacelang.ir.domain import describe, literal, spell_parameter_name
from spacelang.ir.prior import describe as describe_prior
from spacelang.ir.space import (
    Branch,
    CatalogueObject,
    Choice,
    FixedValue,
    Hyperparameter,
    Node,
    Operator,
    Product,
    Space,
)
from spacelang.ir.task import task_lines as describe_task
from spacelang.serialization.syntax_nodes import format_expression

INDENT: Final = "  "


def show(space: Space) -> str:
    """The text form of a space, with a line end after every line."""
    title = f" {_quoted(space.title)}" if space.title else ""
    lines = [f"space {space.name}{title}", *_node(space.root, "")]
    for constraint in space.constraints:
        lines.append(f"{'forbid' if constraint.forbidden else 'require'} {format_expression(constraint.expression)}")
    if space.task is not None:
        lines.extend((f"task {space.task.kind}", *_indented(iter(describe_task(space.task)))))
    return "".join(f"{line}\n" for line in lines)


def _node(node: Node, inside: str) -> Iterator[str]:
    """The lines of a node; `inside` is the address of what surrounds it."""
    match node:
        case Hyperparameter():
            yield _hyperparameter(node, inside)
        case Choice():
            yield from _choice(node, inside)
        case Operator():
            yield f"{node.catalogue}.{node.name}"
            yield from _indented(_members(node, inside), 2)
        case Product():
            yield f"{node.kind}" if node.children else f"{node.kind}, empty"
            for child in node.children:
                yield from _indented(_node(child, inside))
        case _:
            assert_never(node)


def _hyperparameter(node: Hyperparameter, inside: str) -> str:
    parts = [f"{_name(node, inside)}: {describe(node.domain)} = {literal(node.default)}"]
    if node.condition is not None:
        parts.append(f"when {format_expression(node.condition)}")
    if node.named:
        parts.append(f"named {{{', '.join(map(literal, node.named))}}}")
    if node.prior is not None:
        parts.append(describe_prior(node.prior))
    if node.split is not None:
        parts.append(f"@split({node.split})")
    return " ".join(parts)


def _choice(node: Choice, inside: str) -> Iterator[str]:
    yield f"decision {_name(node, inside)}{' @first' if node.first else ''}"
    for place, branch in enumerate(node.branches):
        yield from _indented(_branch(branch, node, is_default=place == node.default))


def _branch(branch: Branch, choice: Choice, *, is_default: bool) -> Iterator[str]:
    weight = f" @weight({literal(branch.weight)})" if branch.weight != 1.0 else ""
    head = f"{'*' if is_default else '-'} {branch.name}{weight}"
    inside = f"{choice.address}.{branch.name}"
    match branch.node:
        case Product(children=()):
            yield head if branch.value is None else f"{head} = {literal(branch.value)}"
        case Operator():
            yield f"{head} = {branch.node.catalogue}.{branch.node.name}"
            yield from _indented(_members(branch.node, inside), 2)
        case _:
            yield f"{head} ="
            yield from _indented(_node(branch.node, inside), 2)


def _members(operator: Operator, inside: str) -> Iterator[str]:
    for child in operator.children:
        yield from _node(child, inside)
    for name, value in operator.fixed:
        yield from _fixed(name, value, f"{inside}.{name}" if inside else name)


def _fixed(name: str, value: FixedValue, inside: str) -> Iterator[str]:
    match value:
        case Operator():
            yield f"{spell_parameter_name(name)} := {value.catalogue}.{value.name}"
            yield from _indented(_members(value, inside), 2)
        case CatalogueObject():
            yield f"{spell_parameter_name(name)} := named {literal(value.name)}"
        case _:
            yield f"{spell_parameter_name(name)} := {literal(value)}"


def _name(node: Hyperparameter | Choice, inside: str) -> str:
    """The name, the key where it is another word, and the address where the indentation does not say it."""
    key = f" [{node.key}]" if node.key != node.name else ""
    expected = f"{inside}.{node.name}" if inside else node.name
    # Below an operator that stands in the pipeline itself, its name is all that an address has before its own.
    address = f" at {node.address}" if node.address not in (expected, node.key) else ""
    return f"{spell_parameter_name(node.name)}{key}{address}"


def _indented(lines: Iterator[str], depth: int = 1) -> Iterator[str]:
    return (INDENT * depth + line for line in lines)


def _quoted(text: str) -> str:
    """A title, always in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

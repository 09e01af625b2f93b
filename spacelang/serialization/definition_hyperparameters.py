"""The JSON codec of hyperparameters, and the keys that name hyperparameters and decisions."""

from dataclasses import replace
from typing import Final

from spacelang.ir.domain import NotFound, describe
from spacelang.ir.expr import Expr
from spacelang.ir.space import Choice, Hyperparameter
from spacelang.serialization.codec import (
    NAME,
    PARAMETER_NAME,
    VALUE,
    ArrayCodec,
    JsonCodec,
    NamedCodec,
    ObjectCodec,
    ObjectKey,
    Parts,
    integer_from,
)
from spacelang.serialization.definition_domains import DOMAIN, PRIOR
from spacelang.serialization.definition_expressions import EXPRESSION
from spacelang.serialization.document_context import ReadingContext
from spacelang.serialization.json_fields import DefinitionError


def naming_keys(kind: str, form: JsonCodec[str], about: str) -> tuple[ObjectKey, ...]:
    """Return the keys for the name, address and configuration key of a decision or hyperparameter."""
    key = (
        "The key in configurations, by default the address. Decisions and hyperparameters that can be active together "
        "need different keys."
    )
    return (
        ObjectKey(kind, form, about, part="name"),
        ObjectKey("address", NAME, "Its name in expressions; unique in the space."),
        ObjectKey("key", NAME, key, None),
    )


def key_if_not_address(node: Hyperparameter | Choice) -> str | None:
    """Return the configuration key of a node; None if it equals the address."""
    return None if node.key == node.address else node.key


def register_address(parts: Parts, path: str, context: ReadingContext) -> None:
    """Register the address of a part with its path, and set the key to the address if no key is given.

    Raises DefinitionError if another part has the same address.
    """
    context.paths.add(parts["address"], path)
    parts["key"] = parts["key"] or parts["address"]


def _condition(parts: Parts, path: str, context: ReadingContext) -> Expr:
    when: Expr = parts["when"]
    context.paths.expressions.append((f"{path}.when", when))
    return replace(when, span=context.span())


_CONDITION: Final[JsonCodec[Expr]] = NamedCodec(
    "condition",
    lambda: ObjectCodec(
        "The condition under which a hyperparameter is active.",
        (ObjectKey("when", EXPRESSION),),
        _condition,
        lambda each: {"when": each},
        has_span=True,
    ),
)


def _hyperparameter(parts: Parts, path: str, context: ReadingContext) -> Hyperparameter:
    domain = parts["domain"]
    parts["default"] = domain.find(parts["default"])
    if isinstance(parts["default"], NotFound):
        raise DefinitionError(f"{path}.default", f"is outside of `{describe(domain)}`")
    for place, each in enumerate(parts["named"]):
        if isinstance(domain.find(each), NotFound):
            raise DefinitionError(f"{path}.named[{place}]", f"is `{each}`, outside of `{describe(domain)}`")
    register_address(parts, path, context)
    return Hyperparameter(**parts, span=context.span(parts["name"]))


HYPERPARAMETER: Final[JsonCodec[Hyperparameter]] = NamedCodec(
    "hyperparameter",
    lambda: ObjectCodec(
        "One parameter of an operator; active if its operator is reached and its condition holds.",
        (
            *naming_keys("hyperparameter", PARAMETER_NAME, "The name of the parameter."),
            ObjectKey("domain", DOMAIN),
            ObjectKey("default", VALUE, "The default value, a member of the domain."),
            ObjectKey("condition", _CONDITION, default=None),
            ObjectKey(
                "named", ArrayCodec(NAME), "The values that are names of functions or objects of the catalogue.", ()
            ),
            ObjectKey("prior", PRIOR, default=None),
            ObjectKey("split", integer_from(1), "The number of parts into which the domain may be split.", None),
        ),
        _hyperparameter,
        lambda node: {"key": key_if_not_address(node)},
        has_span=True,
    ),
)

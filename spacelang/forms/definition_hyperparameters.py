"""The JSON codec of hyperparameters, and the keys that name hyperparameters and decisions."""

from dataclasses import replace
from typing import Final

from spacelang.forms.codec import (
    NAME,
    PARAMETER,
    VALUE,
    Defined,
    DocumentForm,
    Items,
    Key,
    KeyedObject,
    Parts,
    at_least,
)
from spacelang.forms.definition_domains import DOMAIN, PRIOR
from spacelang.forms.definition_expressions import EXPRESSION
from spacelang.forms.json_fields import DefinitionError
from spacelang.forms.standing import ReadingContext
from spacelang.ir.domain import Missing, describe
from spacelang.ir.expr import Expr
from spacelang.ir.space import Choice, Hyperparameter


def called(kind: str, form: DocumentForm[str], about: str) -> tuple[Key, ...]:
    """Return the keys for the name, address and configuration key of a decision or hyperparameter."""
    key = (
        "Its key in configurations, by default the address. Only things that are never active together may share a key."
    )
    return (
        Key(kind, form, about, of="name"),
        Key("address", NAME, "Its name in expressions; unique in the space."),
        Key("key", NAME, key, None),
    )


def other_key(node: Hyperparameter | Choice) -> str | None:
    """Return the configuration key of a node; None if it equals the address."""
    return None if node.key == node.address else node.key


def note(parts: Parts, path: str, context: ReadingContext) -> None:
    """Register the address of a part with its path, and set the key to the address if no key is given.

    Raises DefinitionError if another part has the same address.
    """
    context.paths.add(parts["address"], path)
    parts["key"] = parts["key"] or parts["address"]


def _condition(parts: Parts, path: str, context: ReadingContext) -> Expr:
    when: Expr = parts["when"]
    context.paths.expressions.append((f"{path}.when", when))
    return replace(when, span=context.span())


_CONDITION: Final[DocumentForm[Expr]] = Defined(
    "condition",
    lambda: KeyedObject(
        "When a hyperparameter is active.",
        (Key("when", EXPRESSION),),
        _condition,
        lambda each: {"when": each},
        placed=True,
    ),
)


def _hyperparameter(parts: Parts, path: str, context: ReadingContext) -> Hyperparameter:
    domain = parts["domain"]
    parts["default"] = domain.find(parts["default"])
    if isinstance(parts["default"], Missing):
        raise DefinitionError(f"{path}.default", f"is outside of `{describe(domain)}`")
    for place, each in enumerate(parts["named"]):
        if isinstance(domain.find(each), Missing):
            raise DefinitionError(f"{path}.named[{place}]", f"is `{each}`, outside of `{describe(domain)}`")
    note(parts, path, context)
    return Hyperparameter(**parts, span=context.span(parts["name"]))


HYPERPARAMETER: Final[DocumentForm[Hyperparameter]] = Defined(
    "hyperparameter",
    lambda: KeyedObject(
        "One parameter of an operator; active if its operator is reached and its condition holds.",
        (
            *called("hyperparameter", PARAMETER, "The name of the parameter."),
            Key("domain", DOMAIN),
            Key("default", VALUE, "A member of the domain."),
            Key("condition", _CONDITION, usual=None),
            Key("named", Items(NAME), "The values that are names of functions or objects of the catalogue.", ()),
            Key("prior", PRIOR, usual=None),
            Key("split", at_least(1), "The number of parts into which its domain may be split.", None),
        ),
        _hyperparameter,
        lambda node: {"key": other_key(node)},
        placed=True,
    ),
)

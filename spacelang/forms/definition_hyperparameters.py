"""The form of hyperparameters in the JSON of a space, and what these and decisions are called there."""

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
    """The keys of what a decision or hyperparameter is called."""
    key = (
        "What configurations call it, where that is not the address; shared only with what is never active together "
        "with it."
    )
    return (
        Key(kind, form, about, of="name"),
        Key("address", NAME, "What expressions call it; unique in the space."),
        Key("key", NAME, key, None),
    )


def other_key(node: Hyperparameter | Choice) -> str | None:
    """The key that configurations have instead of the address."""
    return None if node.key == node.address else node.key


def note(parts: Parts, path: str, around: ReadingContext) -> None:
    """Note the address; the key is the same one where no other is given."""
    around.paths.add(parts["address"], path)
    parts["key"] = parts["key"] or parts["address"]


def _condition(parts: Parts, path: str, around: ReadingContext) -> Expr:
    when: Expr = parts["when"]
    around.paths.expressions.append((f"{path}.when", when))
    return replace(when, span=around.span())


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


def _hyperparameter(parts: Parts, path: str, around: ReadingContext) -> Hyperparameter:
    domain = parts["domain"]
    parts["default"] = domain.find(parts["default"])
    if isinstance(parts["default"], Missing):
        raise DefinitionError(f"{path}.default", f"lies outside of `{describe(domain)}`")
    for place, each in enumerate(parts["named"]):
        if isinstance(domain.find(each), Missing):
            raise DefinitionError(f"{path}.named[{place}]", f"is `{each}`, outside of `{describe(domain)}`")
    note(parts, path, around)
    return Hyperparameter(**parts, span=around.span(parts["name"]))


HYPERPARAMETER: Final[DocumentForm[Hyperparameter]] = Defined(
    "hyperparameter",
    lambda: KeyedObject(
        "One parameter of an operator, active where its operator is reached and its condition holds.",
        (
            *called("hyperparameter", PARAMETER, "The name of the parameter."),
            Key("domain", DOMAIN),
            Key("default", VALUE, "A member of the domain."),
            Key("condition", _CONDITION, usual=None),
            Key("named", Items(NAME), "The values that stand for functions or objects of the catalogue.", ()),
            Key("prior", PRIOR, usual=None),
            Key("split", at_least(1), "Into how many parts its domain may be split.", None),
        ),
        _hyperparameter,
        lambda node: {"key": other_key(node)},
        placed=True,
    ),
)

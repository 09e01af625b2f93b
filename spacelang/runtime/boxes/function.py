"""A user's function as an objective: a configuration goes in, and with it the fidelity where there are several.

It gives what `tell` takes: a loss, or a dictionary with `loss` and, if need be, `cost` and `constraints`.
"""

import functools
import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from textwrap import dedent
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Any, Final

from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.boxes import BlackBox
from spacelang.runtime.boxes.answering import AnswerError, answer
from spacelang.runtime.errors import InputError
from spacelang.runtime.failures import raised
from spacelang.runtime.storing.header import DataFacts

KEYS: Final = ("loss", "cost", "constraints")
"""What a dictionary may say that a function gives."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionObjective(BlackBox):
    """What a function gives for configurations; `box_of` makes it.

    It is called with the configuration as a mapping and, where there are several fidelities, with one of them.
    """

    function: Callable[..., Any]
    clock: Callable[[], float] = time.perf_counter

    def evaluate(self, request: Request) -> Trial:
        """What the function gives; a failed trial where it raises, or gives no loss."""
        fidelity = self._fidelity(request)
        started = self.clock()
        try:
            given = self.function(dict(request.configuration), *fidelity)
        except Exception as error:  # noqa: BLE001 - a stranger's function may raise anything; a search outlives it
            return raised(error, self.clock() - started).of(request)
        seconds = self.clock() - started
        try:
            said = {"cost": seconds} | _said(given)
            return answer(request, said["loss"], said["cost"], said.get("constraints"), self.bounds)
        except AnswerError as error:
            return Trial(request, None, seconds, Status.INVALID, str(error))

    def _fidelity(self, request: Request) -> tuple[int, ...]:
        if len(self.fidelities) == 1:
            return ()
        size = self.training_size if request.fidelity is None else min(request.fidelity, self.training_size)
        self.check_sizes((size,))
        return (size,)


def box_of(function: Callable[..., Any], **aim: Any) -> FunctionObjective:
    """The objective that a function is, with what a `BlackBox` has; raises InputError for what cannot be called."""
    if not callable(function):
        raise InputError(f"the objective is no function but `{function!r}`", "give one that takes a configuration")
    facts = DataFacts(f"function:{name_of(function)}", 0, 0, identity_of(function))
    return FunctionObjective(facts=facts, function=function, **aim)


def _said(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        return {"loss": given}
    unknown = [key for key in given if key not in KEYS]
    if unknown:
        raise AnswerError(f"the function gives `{unknown[0]}`, which is none of {', '.join(KEYS)}")
    if "loss" not in given:
        raise AnswerError("the function gives a dictionary without `loss`")
    return dict(given)


# ---- which function it is


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called: an object by its class, what was made of a function by that."""
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    return f"{named.__module__}.{named.__qualname__}"


def identity_of(function: Callable[..., Any]) -> str:
    """64 hexadecimal digits that tell a function from others: by its name, its text and the plain values in it.

    What it reads from elsewhere, files or other modules, is not seen.
    """
    return sha256(repr([name_of(function), *_told(function)]).encode("utf-8", "surrogatepass")).hexdigest()


def _told(function: Any) -> Iterator[str]:
    match function:
        case functools.partial(func=inner, args=given, keywords=named):
            yield _plain([*given, *sorted(named.items())])
            yield from _told(inner)
        case MethodType(__func__=inner, __self__=owner):
            yield _plain(getattr(owner, "__dict__", None))
            yield from _told(inner)
        case FunctionType():
            yield _text(function)
            cells = [each.cell_contents for each in function.__closure__ or () if each != CellType()]
            yield _plain([function.__defaults__, function.__kwdefaults__, *cells])
        case type() | BuiltinFunctionType():
            yield _text(function)
        case _:
            yield _plain(getattr(function, "__dict__", None))
            yield _text(type(function))


def _text(thing: Any) -> str:
    """The source; where there is none, what the interpreter does, or nothing."""
    try:
        return dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        code = getattr(thing, "__code__", None)
        return "" if code is None else f"{code.co_code.hex()} {_plain(list(code.co_consts))}"


def _plain(value: Any) -> str:
    """A value that reads alike wherever it is equal; of others the type."""
    match value:
        case bool() | int() | float() | complex() | str() | bytes() | None:
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(map(_plain, value))}]"
        case dict():
            return f"{{{', '.join(f'{_plain(key)}: {_plain(each)}' for key, each in value.items())}}}"
        case FunctionType():
            return _text(value)
        case _:
            return type(value).__qualname__

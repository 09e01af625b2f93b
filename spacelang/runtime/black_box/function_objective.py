"""A user's function as an objective, and its answers: a loss, or a dictionary with `loss`, `cost` and `constraints`."""

import functools
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from textwrap import dedent
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Any, Final

from spacelang.ir.task import AnyBound, FunctionGoal
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.runtime.black_box import BlackBoxObjective
from spacelang.runtime.errors import InputError, exception_failure
from spacelang.runtime.storage.run_header import DataFacts

KEYS: Final = ("loss", "cost", "constraints")  # The keys that a function's dictionary may have
MAX_SHOWN_KEYS: Final = 5  # The maximum number of keys of an answer that are shown
MAX_SHOWN_LENGTH: Final = 60  # The maximum number of characters of an invalid answer that are shown


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionObjective(BlackBoxObjective):
    """The objective of a user's function of a configuration (a dictionary) and, if there are several, a fidelity."""

    function: Callable[..., Any]
    clock: Callable[[], float] = time.perf_counter

    def evaluate(self, request: Request) -> Trial:
        """Call the function and return the trial. It is failed if the function raises or returns no loss."""
        fidelity = self._fidelity(request)
        started = self.clock()
        try:
            given = self.function(dict(request.configuration), *fidelity)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything; the search must survive
            return exception_failure(error, self.clock() - started).make_result(request)
        seconds = self.clock() - started
        try:
            answer = {"cost": seconds} | _as_dictionary(given, [each.name for each in self.goals])
            return trial_from_answer(
                request, answer["loss"], answer["cost"], answer.get("constraints"), self.bounds, self.goals
            )
        except InvalidFunctionResultError as error:
            return Trial(request, None, seconds, Status.INVALID, str(error))

    def _fidelity(self, request: Request) -> tuple[int, ...]:
        if len(self.fidelities) == 1:
            return ()
        size = self.training_size if request.fidelity is None else min(request.fidelity, self.training_size)
        self.check_fidelities((size,))
        return (size,)


def make_function_objective(function: Callable[..., Any], **settings: Any) -> FunctionObjective:
    """Return the objective of a function, else raise InputError; `settings` are fields of `BlackBoxObjective`."""
    if not callable(function):
        what = f"the objective must be a function, not `{function!r}`"
        raise InputError(what, "give a function that takes a configuration")
    facts = DataFacts(f"function:{function_name(function)}", 0, 0, function_fingerprint(function))
    return FunctionObjective(facts=facts, function=function, **settings)


def _as_dictionary(given: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the answer of a function as a dictionary with loss, cost and constraints.

    If the objectives have names, their values may be given as the loss or instead of it.
    """
    if not isinstance(given, Mapping):
        return {"loss": given}
    if names and ("loss" not in given or "loss" in names):
        others = {key: value for key, value in given.items() if key in KEYS and key not in names}
        return {"loss": {key: value for key, value in given.items() if key not in others}, **others}
    unknown = [key for key in given if key not in KEYS]
    if unknown:
        raise InvalidFunctionResultError(
            f"the function returned the unknown key `{unknown[0]}`; the known keys are {', '.join(KEYS)}"
        )
    if "loss" not in given:
        raise InvalidFunctionResultError("the function returned a dictionary without `loss`")
    return dict(given)


def function_name(function: Callable[..., Any]) -> str:
    """Return the qualified name of a function, with its module.

    For a partial it is that of the function inside, for another object that of its class.
    """
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    return f"{named.__module__}.{named.__qualname__}"


def function_fingerprint(function: Callable[..., Any]) -> str:
    """Return a hash (64 hexadecimal digits) of a function's name, source and plain values, to recognize it on resume.

    Plain values are defaults, closure variables, bound arguments and attributes. Anything that the function reads from
    elsewhere, such as files or other modules, is not covered.
    """
    parts = [function_name(function), *_identity_parts(function)]
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _identity_parts(function: Any) -> Iterator[str]:
    match function:
        case functools.partial(func=inner, args=given, keywords=named):
            yield _stable_repr([*given, *sorted(named.items())])
            yield from _identity_parts(inner)
        case MethodType(__func__=inner, __self__=owner):
            yield _stable_repr(getattr(owner, "__dict__", None))
            yield from _identity_parts(inner)
        case FunctionType():
            yield _source_text(function)
            cells = [each.cell_contents for each in function.__closure__ or () if each != CellType()]
            yield _stable_repr([function.__defaults__, function.__kwdefaults__, *cells])
        case type() | BuiltinFunctionType():
            yield _source_text(function)
        case _:
            yield _stable_repr(getattr(function, "__dict__", None))
            yield _source_text(type(function))


def _source_text(thing: Any) -> str:
    """Return the source text of a function or class; without one, the bytecode; otherwise an empty text."""
    try:
        return dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        code = getattr(thing, "__code__", None)
        return "" if code is None else f"{code.co_code.hex()} {_stable_repr(list(code.co_consts))}"


def _stable_repr(value: Any) -> str:
    """Return a text that is equal for equal plain values; for values of other types, the name of the type."""
    match value:
        case bool() | int() | float() | complex() | str() | bytes() | None:
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(map(_stable_repr, value))}]"
        case dict():
            return f"{{{', '.join(f'{_stable_repr(key)}: {_stable_repr(each)}' for key, each in value.items())}}}"
        case FunctionType():
            return _source_text(value)
        case _:
            return type(value).__qualname__


class InvalidFunctionResultError(ValueError):
    """An error for an invalid answer of a user's function."""


def trial_from_answer(
    request: Request,
    loss: Any,
    cost: Any,
    constraints: Mapping[str, Any] | None,
    bounds: Sequence[AnyBound],
    goals: Sequence[FunctionGoal] = (),
) -> Trial:
    """Return the trial of a request; it is failed if the loss is None or not finite. `cost` is in seconds.

    With goals, `loss` is a mapping that has their names, the numbers in order, or the number of a single goal.

    Raises InvalidFunctionResultError if a value is no number, if one of a bound or of a goal is missing from a success,
    or if a name is not bounded.
    """
    seconds = parse_number(cost, "cost")
    if not (isfinite(seconds) and seconds >= 0):
        raise InvalidFunctionResultError(f"the cost is {seconds}, but it must be a number of seconds, at least 0")
    measured = _check_constraints(constraints, bounds)
    if loss is None:
        return Trial(request, None, seconds, Status.ERROR, "no loss was returned")
    numbers = _goal_numbers(loss, goals) if goals else {"loss": parse_number(loss, "loss")}
    for name, number in numbers.items():
        if not isfinite(number):
            return Trial(request, None, seconds, Status.INVALID, f"the {name} is {number}")
    for bound in bounds:
        if bound.name not in measured:
            raise InvalidFunctionResultError(
                f"the constraints lack a value of `{bound.name}`; give nan if it is unknown"
            )
    # `0.0 - number` is never minus zero.
    losses = [
        (each.loss_formula, 0.0 - numbers[each.name] if each.is_maximized else numbers[each.name]) for each in goals
    ]
    return Trial(
        request,
        losses[0][1] if losses else numbers["loss"],
        seconds,
        constraints=tuple(Measurement(each, measured[each.name]) for each in bounds),
        objectives=tuple(losses) if len(losses) > 1 else (),
    )


def _goal_numbers(given: Any, goals: Sequence[FunctionGoal]) -> dict[str, float]:
    """Return the numbers of the goals by name, from a mapping, a list in their order, or a single number for one goal.

    Further names of a mapping are ignored. Raise InvalidFunctionResultError for any other answer.
    """
    names = [each.name for each in goals]
    shown = ", ".join(f"`{name}`" for name in names)
    if isinstance(given, Mapping):
        if lacking := [name for name in names if name not in given]:
            others = ", ".join(f"`{key}`" for key in [*given][:MAX_SHOWN_KEYS]) or "nothing"
            raise InvalidFunctionResultError(f"no number was returned for `{lacking[0]}`, only for {others}")
        values = [given[name] for name in names]
    elif isinstance(given, list | tuple) and len(given) == len(names):
        values = [*given]
    elif len(names) == 1 and not isinstance(given, list | tuple):
        values = [given]
    else:
        what = f"the function must return a number for each of {shown}, by name or in this order"
        raise InvalidFunctionResultError(f"{what}, not {_shorten(given)}")
    return {name: parse_number(value, name) for name, value in zip(names, values, strict=True)}


def parse_number(given: Any, quantity: str) -> float:
    """Return a number, or an array of one, as a float; else raise InvalidFunctionResultError that names `quantity`."""
    if isinstance(given, str | bytes):  # `float` would parse it
        raise InvalidFunctionResultError(f"the {quantity} must be a number, not {_shorten(given)}")
    try:
        return float(given)
    except OverflowError:
        return float("inf")
    except Exception as error:
        raise InvalidFunctionResultError(f"the {quantity} must be a number, not {_shorten(given)}") from error


def _check_constraints(constraints: Mapping[str, Any] | None, bounds: Sequence[AnyBound]) -> Mapping[str, float]:
    if not isinstance(constraints, Mapping | None):
        raise InvalidFunctionResultError(f"the constraints must be a dictionary by name, not {_shorten(constraints)}")
    names = {bound.name for bound in bounds}
    for name in constraints or {}:
        if name not in names:
            known = ", ".join(f"`{each}`" for each in names)
            bounded = f"the bounded quantities are {known}" if names else "the task has no bounds"
            raise InvalidFunctionResultError(f"the constraint `{name}` has no bound; {bounded}")
    return {name: parse_number(value, f"value of `{name}`") for name, value in (constraints or {}).items()}


def _shorten(value: object) -> str:
    text = repr(value)
    return f"`{text if len(text) <= MAX_SHOWN_LENGTH else text[:MAX_SHOWN_LENGTH] + '…'}`"

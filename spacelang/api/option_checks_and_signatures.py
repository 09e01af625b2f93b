"""Arguments and options of public functions: type checks that name them, signatures and sections of docstrings."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import wraps
from inspect import Parameter, cleandoc, signature
from numbers import Real
from operator import index
from os import PathLike
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from spacelang.frozen import frozen

if TYPE_CHECKING:
    from numpy.random import Generator

TypeCheck = Callable[[object], bool]
ArgumentCheck = tuple[TypeCheck, str]
"""A check of the type of a value, and the description of valid values for messages."""


def _one_of(*types: type) -> TypeCheck:
    """Return a check for instances of the types; booleans are not numbers here."""
    return lambda value: isinstance(value, types) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    """Return True if the value is an integer, also one of NumPy; booleans are not integers here."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return False
    try:
        index(value)
    except TypeError:  # an array of several
        return False
    return True


def _is_space(value: object) -> bool:
    return isinstance(value, (str, PathLike)) or hasattr(value, "checked")


def is_validation_text_or_splitter(value: object) -> bool:
    """Return True if the value is a text, or has the methods of a splitter of scikit-learn."""
    is_splitter = all(callable(getattr(value, name, None)) for name in ("split", "get_n_splits"))
    return isinstance(value, str) or (is_splitter and not isinstance(value, type))


def is_iterable(value: object) -> bool:
    """Return True if the value is an iterable; a string is not one here."""
    return isinstance(value, Iterable) and not isinstance(value, str)


def is_iterable_of_strings(value: object) -> bool:
    """Return True if the value can be an iterable of strings, other than a single string.

    The elements of lists, tuples and sets are checked. Those of other iterables are not, since that may exhaust them.
    """
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(isinstance(each, str) for each in value)
    return is_iterable(value)


def is_scorer(value: object) -> bool:
    """Return True if the value is a string, which may name a scorer, or is callable."""
    return isinstance(value, str) or callable(value)


def is_iterable_of_functions(value: object) -> bool:
    """Return True if the value is a list, tuple or set whose elements are all callable."""
    return isinstance(value, (list, tuple, set, frozenset)) and all(map(callable, value))


INTEGER: Final[ArgumentCheck] = (_is_integer, "takes a whole number")
TEXT, MAPPING, NUMBER = _one_of(str), _one_of(Mapping), _one_of(Real)
PATH, TIME = _one_of(str, PathLike), _one_of(str, Real)
ARGUMENT_CHECKS: Final[Mapping[str, ArgumentCheck]] = {
    "allow": (is_iterable_of_strings, 'takes names of packages, such as `["xgboost"]`'),
    "bind": (MAPPING, 'takes numbers by symbol name, such as `{"n_features": 30}`'),
    "count": INTEGER,
    "data": (MAPPING, 'takes data by label, such as `{"credit": "credit.csv"}`'),
    "number": INTEGER,
    "optimizers": (is_iterable_of_strings, 'takes names of optimizers, such as `["random", "mosaic"]`'),
    "space": (_is_space, "takes a `Space`, or the path, name or text of one; give features and labels after it"),
    "text": (TEXT, "takes the text of a space"),
}
"""The checks of arguments other than the options of runs (see `run_options`). Only `bind` may be None."""


def check_argument_types(**given: object) -> None:
    """Raise TypeError for the first argument whose value does not pass the check in `ARGUMENT_CHECKS` for its name."""
    for name, value in given.items():
        if value is not None or name != "bind":
            check_argument(name, value, ARGUMENT_CHECKS[name])


def check_argument(name: str, value: object, check: ArgumentCheck) -> None:
    """Raise TypeError, naming the argument, if its value has a wrong type."""
    is_valid, wanted = check
    if not is_valid(value):
        raise TypeError(f"`{name}` {wanted}, not {describe_value(value)}")


def make_random_generator(seed: Any) -> "Generator":
    """Return NumPy's generator for a seed. Raises TypeError or ValueError, naming the argument, for no valid seed."""
    from numpy.random import default_rng

    try:
        return default_rng(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"`seed` takes a whole number of at least 0, not {describe_value(seed)}") from error


def describe_value(value: object) -> str:
    """Return a value for messages: None, a text or a number itself, cut to 40 characters; else only its type."""
    if value is None or isinstance(value, (str, int, float)):
        return f"`{value!r:.40}`"
    return f"a `{type(value).__name__}`"


Function = TypeVar("Function", bound=Callable[..., Any])
# How a command gives a value: as it is; a list `A,B`; repeated; repeated pairs of names and texts, or numbers.
Notation = Literal["text", "names", "texts", "settings", "numbers"]
# What an option is for, if it has no effect on some data: the scores of pipelines, rows, files, worker processes.
Scope = Literal["", "scores", "rows", "reading", "workers"]
WIDTH: Final = 112  # The width of the lines of a section "Parameters"


@frozen
class RunOption:
    """One option of a run, in Python and on the command line."""

    default: Any  # None is accepted as a value only if it is the default
    help: str = ""  # The meaning, in one sentence; empty for an option that exists only in Python
    doc: str = "{help}"  # The text for docstrings, in which `{help}` stands for the help text
    check: ArgumentCheck | None = None
    command: Any = None  # The type on the command line, if it does not follow from `form` and the type in Python
    flag: str = ""  # The flag, if it is not the name
    short: str = ""  # A flag of one letter
    metavar: str | None = None  # The placeholder of the value in help texts
    least: int | None = None  # The smallest value
    form: Notation = "text"
    complete: Callable[[str], list[str]] | None = None  # The completions of a value for the shell
    scope: Scope = ""
    is_stored: bool = False  # True if a store holds the option, to be repeated with `--resume`
    variants: Mapping[str, str] = field(
        default_factory=dict
    )  # Other texts than `help` and `doc`, by function or command

    def docstring_text(self, name: str) -> str:
        """Return the description for the docstring of the function `name`: its own variant, or the common text."""
        return self.variants.get(name) or self.doc.replace("{help}", self.help)

    def command_line_flag(self, name: str) -> str:
        """Return the flag of the option with this name."""
        return self.flag or f"--{name.replace('_', '-')}"

    def check_value(self, name: str, value: Any) -> Any:
        """Return a checked value of the option; a NumPy integer becomes an `int`.

        Raises TypeError if its type is wrong.
        """
        if self.check is None or (value is None and self.default is None):
            return value
        check_argument(name, value, self.check)
        return index(value) if self.check[0] is INTEGER[0] else value


def run_options_by_name(group: Any) -> dict[str, RunOption]:
    """Return the options of a `TypedDict` that groups options, by name."""
    return {name: entry.__metadata__[0] for name, entry in group.__annotations__.items()}


def accept_options(group: Any, *, name: str = "", is_checked: bool = True) -> Callable[[Function], Function]:
    """Return a decorator for functions with `**options: Unpack[group]`.

    The function gets all options of the group: checked, and with the defaults of those that were not given. Its
    signature and the section "Parameters" of its docstring list them. `name` is the name in `RunOption.variants`.
    """

    def decorate(function: Function) -> Function:
        options = run_options_by_name(group)
        own = signature(function)
        positional = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]

        @wraps(function)
        def call(*arguments: Any, **given: Any) -> Any:
            for each in given:
                if each not in known:
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument {each!r}")
            values = {each: option.default for each, option in options.items()} | given
            if is_checked:
                values |= {each: option.check_value(each, values[each]) for each, option in options.items()}
            return function(*arguments, **values)

        listed = [*positional, *_parameters(group)]
        known = {each.name for each in listed}
        call.__signature__ = own.replace(parameters=listed)  # type: ignore[attr-defined]
        call.__doc__ = with_parameters_section(function.__doc__, group, name or function.__name__)
        return call  # type: ignore[return-value]

    return decorate


def _parameters(group: Any) -> Iterator[Parameter]:
    for name, entry in group.__annotations__.items():
        kind = getattr(entry.__origin__, "__forward_arg__", entry.__origin__)
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=entry.__metadata__[0].default, annotation=kind)


def with_parameters_section(doc: str | None, group: Any, name: str) -> str | None:
    """Return the docstring `doc` with the options of a group at the end of its section "Parameters", before "Notes"."""
    if doc is None:
        return None
    before, heading, after = cleandoc(doc).partition("\nNotes\n-----\n")
    rows = "".join(
        f"{each}\n{indent(fill(option.docstring_text(name), WIDTH), '    ')}\n"
        for each, option in run_options_by_name(group).items()
    )
    return f"{before.rstrip()}\n{rows}{heading}{after}"

"""The target `sklearn`: the parameter dictionaries of `RandomizedSearchCV` and `GridSearchCV`.

A dictionary is a product of values. A space with conditions, constraints and nested decisions is therefore a list of
dictionaries. If that list were too long, a single distribution draws whole configurations instead. The keys are those
of configurations: the best parameters of a search are a configuration, from which the space builds a pipeline.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, assert_never

from spacelang.draws.unit import placer
from spacelang.grouping import grouped
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, Simple, contains, decimals, members
from spacelang.ir.membership import exclusion
from spacelang.ir.prior import Normal, Uniform
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import Value, identity, plain
from spacelang.plugins import OptionError, option
from spacelang.reductions.questions import Piece, Questions, Slot
from spacelang.reductions.unfolding import Fork, Free
from spacelang.solver.counting import Structures
from spacelang.targets._chain import UNIFORM, findings_of, keeps_of, questions
from spacelang.targets._constructs import Construct, constructs_in, constructs_of
from spacelang.targets._exports import python as _python
from spacelang.targets._exports.nested import Nested
from spacelang.targets._exports.python import Code, Keyed, Listed, call, evaluated, functions, one_line, source, text
from spacelang.targets._exports.showing import QuestionForm
from spacelang.targets._exports.sklearn_dictionaries import Dictionary, dictionaries, dictionaries_needed
from spacelang.targets._lowered import ADVICE, GIANT, Finding, Keeps, Lowered, approximated, exact, report_of, rewritten
from spacelang.text import counted

if TYPE_CHECKING:
    from numpy.random import Generator

Parameters: TypeAlias = dict[str, Any]
"""The parameters of one candidate, as in `best_params_`; a whole configuration is under the single key WHOLE."""
WHOLE: Final = "configuration"

NORMAL: Final = exact("values are drawn from the normal distribution within the bounds")
JOINT: Final = rewritten(
    "one distribution draws whole configurations, because more than `most` dictionaries would be needed"
)
SPACED: Final = approximated("a grid has `points` values of a range")
SHARED: Final = exact("alternatives are drawn by their weights")


_HEAD: Final = '''"""The search space `{name}` for scikit-learn's searches.

`ParameterSampler` and `ParameterGrid` give configurations: the keys and values are those of the search space. The
searches themselves need an estimator with these parameters: `Estimator()` of a module that `spacelang compile` writes.
"""'''


DECODE: Final = '''\
def decode(parameters):
    """Return the configuration of the parameters of a search: `decode(search.best_params_)`."""
    return {{key: value.item() if hasattr(value, "item") else value for key, value in {values}.items()}}'''


def accepts(part: Simple) -> bool:
    """Return True if the values can be listed or drawn directly: all but ranges with excluded ends."""
    return not (isinstance(part, Real) and part.is_open)


@dataclass(frozen=True, slots=True)
class Sklearn:
    """Parameter dictionaries for `RandomizedSearchCV` and `GridSearchCV` of scikit-learn."""

    keeps: ClassVar[Keeps] = {
        **keeps_of(accepts),
        Construct.DECISIONS: (rewritten("a dictionary for alternatives with the same remaining choices"), JOINT),
        Construct.NESTED: (rewritten("in the dictionaries of the alternative that leads to it"),),
        Construct.ORDERS: (rewritten("in the dictionaries, like other decisions"),),
        Construct.FLOATS: (exact("a distribution with `rvs`"), SPACED),
        Construct.INTEGERS: (exact("a distribution with `rvs`"), SPACED, GIANT),
        Construct.LOG: (exact("a distribution on the log scale, or values evenly spaced on it"),),
        Construct.STEPS: (exact("a distribution over the members"), SPACED, GIANT),
        Construct.UNIONS: (exact("a distribution over the parts, or the values of all parts"),),
        Construct.WEIGHTS: (*ADVICE[Construct.WEIGHTS], SHARED),
        Construct.PRIORS: (*ADVICE[Construct.PRIORS], UNIFORM, NORMAL),
    }

    search: Literal["random", "grid"] = option(
        "random", "the search to compile for: `RandomizedSearchCV` or `GridSearchCV`"
    )
    points: int = option(5, "for `grid`, the number of values taken from a longer range, at least 2")
    most: int = option(2000, "maximum number of dictionaries")

    def __post_init__(self) -> None:
        """Raise OptionError for numbers out of bounds."""
        if self.points < 2:
            raise OptionError(f"`points` cannot be {self.points}", "a range has two ends: set `points` to 2 or more")
        if self.most < 1:
            raise OptionError(
                f"`most` cannot be {self.most}", "a search needs at least one dictionary: set `most` to 1 or more"
            )

    def lower(self, structures: Structures) -> Lowered["SearchDictionaries", Parameters]:
        """Return the dictionaries for the space of the structures; they are built when they are first used.

        Raises OptionError if a grid needs more than `most` dictionaries.
        """
        named = questions(structures, accepts, self.keeps)
        needed = dictionaries_needed(named.parts)
        if self.search == "grid" and needed > self.most:
            raise OptionError(
                f"a grid of `{structures.space.name}` has {needed:,} dictionaries, more than `most` allows",
                f"set `most` to {needed} or more, or `search` to `random`, which then draws whole configurations",
            )
        form = SearchDictionaries(named, self.points if self.search == "grid" else None, needed, self.most)
        report = report_of(structures.space, self.keeps, self._findings(form))
        return Lowered(form, form.encode, form.decode, form.reaches, form.sample, report)

    @staticmethod
    def _findings(form: "SearchDictionaries") -> Iterator[Finding]:
        space = form.named.space
        if form.is_joint:
            there = constructs_of(space)
            yield from (Finding(Construct.DECISIONS, JOINT, span) for span in there.get(Construct.DECISIONS, ()))
            yield from (Finding(Construct.WEIGHTS, SHARED, span) for span in there.get(Construct.WEIGHTS, ()))
        if form.points is None:
            yield from findings_of(form.named, Sklearn.keeps)
            yield from (
                Finding(Construct.PRIORS, NORMAL, node.span) for node in space.hyperparameters if _normal_of(node)
            )
            return
        for free, slot in form.named.slots():
            if _is_range(slot) and not _is_listed(slot, form.points):
                for construct in constructs_in(slot.part):
                    if SPACED in Sklearn.keeps[construct]:
                        yield Finding(construct, SPACED, free.node.span)


class SearchDictionaries(QuestionForm):
    """Parameter dictionaries for a search of scikit-learn, with the decoding of its parameters."""

    def __init__(self, named: Questions, points: int | None, needed: int, most: int) -> None:
        """Take questions, and the number of grid points per range, or None for distributions.

        `needed` is the number of dictionaries that cover the space. If it is larger than `most`, whole configurations
        are drawn.
        """
        super().__init__(named)
        self.points = points
        self.needed = needed
        self.is_joint = needed > most

    @cached_property
    def native(self) -> list[dict[str, Any]]:
        """The value for `param_distributions` of `RandomizedSearchCV` or `param_grid` of `GridSearchCV`."""
        found = evaluated(self._code, _vocabulary(functions(self._code)))
        return [found] if isinstance(found, dict) else list(found)

    def encode(self, configuration: Configuration) -> Parameters:
        """Return the parameters of a member, as `best_params_` would have them."""
        return {WHOLE: dict(configuration)} if self.is_joint else dict(configuration)

    def decode(self, parameters: Mapping[str, Any]) -> Configuration:
        """Return the member that parameters represent."""
        values = parameters[WHOLE] if self.is_joint else parameters
        return Configuration({key: plain(value) for key, value in values.items()})

    def reaches(self, parameters: Mapping[str, Any]) -> bool:
        """Return True if one of the dictionaries has exactly these parameters with these values."""
        if self.is_joint:
            return set(parameters) == {WHOLE} and self._draws_whole(self.decode(parameters))
        return any(
            all(self._has(entry, parameters[key]) for key, entry in dictionary)
            for dictionary in self._by_keys.get(frozenset(parameters), ())
        )

    def sample(self, count: int, rng: "Generator") -> list[Parameters]:
        """Draw `count` parameter settings with `ParameterSampler` of scikit-learn.

        It draws from lists without distributions without replacement; when they are exhausted, it starts again.
        """
        from sklearn.model_selection import ParameterGrid, ParameterSampler

        are_lists = all(isinstance(entry, list) for each in self.native for entry in each.values())
        at_once = min(count, len(ParameterGrid(self.native))) if are_lists else count
        found: list[Parameters] = []
        while len(found) < count:
            wanted = min(at_once, count - len(found))
            found.extend(ParameterSampler(self.native, wanted, random_state=int(rng.integers(2**31 - 1))))
        return found

    def particulars(self) -> dict[str, object]:
        """Return the kind of search, the number of dictionaries, and the default configuration."""
        return {
            "search": "random" if self.points is None else "grid",
            "dictionaries": 1 if self.is_joint else self.needed,
            "default": self.named.default.to_dict(),
        }

    def to_text(self) -> str:
        """Return the number of dictionaries, and the parts of which they are products."""
        if self.is_joint:
            head = f"one distribution for RandomizedSearchCV, instead of {self.needed:,} dictionaries"
        else:
            which = "RandomizedSearchCV" if self.points is None else "GridSearchCV"
            head = f"{counted(self.needed, 'dictionary', 'dictionaries')} for {which}"
        return f"{head}\n{super().to_text()}"

    def to_python(self) -> str:
        """Return a module with `dictionaries` and `decode(parameters)` that needs nothing but scikit-learn."""
        used = functions(self._code)
        blocks = [
            _HEAD.format(name=one_line(self.named.space.name)),
            *([_distributions_source()] if used else []),
            source("dictionaries", self._code),
            source("default", Keyed(tuple((key, _python.Literal(value)) for key, value in self.default.items()))),
            "\n" + DECODE.format(values=f"parameters[{text(WHOLE)}]" if self.is_joint else "parameters"),
        ]
        return "\n\n".join(blocks)

    @cached_property
    def _code(self) -> Listed | Keyed:
        if self.is_joint:
            tree = Nested(self.named, _one_of, self._values).entries(self.named.parts)
            return Keyed(((WHOLE, call("Together", tree)),))

        def code(entry: Free | tuple[str, ...]) -> Code:
            if not isinstance(entry, Free):
                return Listed(tuple(map(_python.Literal, entry)))
            return _list_of(self._values(entry))

        return Listed(tuple(Keyed(tuple((key, code(entry)) for key, entry in each)) for each in self._products))

    @cached_property
    def _products(self) -> tuple[Dictionary, ...]:
        return tuple(dictionaries(self.named.parts))

    @cached_property
    def _by_keys(self) -> dict[frozenset[str], list[Dictionary]]:
        return grouped((frozenset(key for key, _ in dictionary), dictionary) for dictionary in self._products)

    def _has(self, entry: Free | tuple[str, ...], given: object) -> bool:
        value = plain(given)
        if not isinstance(entry, Free):
            return value in entry
        if self.points is None:
            return contains(entry.domain, value)
        draw = self.named.draws[id(entry)]
        listed = (each for piece in draw.pieces for each in _listed(piece, self.points or 0))
        return any(identity(each) == identity(value) for each in listed)

    def _draws_whole(self, configuration: Configuration) -> bool:
        """Return True if the joint distribution can draw a configuration."""
        if exclusion(self.named.space, configuration) is not None:
            return False
        try:
            self.named.encode(configuration)
        except LookupError:
            return False
        return True

    def _values(self, free: Free) -> Code:
        """Return the code of the values of an independent hyperparameter.

        It is a list if all values are listed, else a distribution.
        """
        draw = self.named.draws[id(free)]
        if self.points is not None or not any(_is_range(piece) for piece in draw.pieces):
            values = [value for piece in draw.pieces for value in _listed(piece, self.points or 0)]
            return _choosable(values, is_joint=self.is_joint)
        normal = _normal_of(free.node)
        pieces = [_piece(piece, normal) for piece in draw.pieces]
        return call("OneOf", Listed(tuple(pieces))) if len(pieces) > 1 else pieces[0]

    def says(self, part: Fork | Free) -> str:
        """Return the names of the distributions of a part, or `list` if its values are listed."""
        if isinstance(part, Fork):
            return "one of"
        return ", ".join(sorted(functions(self._values(part))) or ["list"])


def _choosable(values: Sequence[Value], *, is_joint: bool) -> Code:
    literals = tuple(map(_python.Literal, values))
    if not is_joint:
        return Listed(literals)
    return call("OneOf", Listed(literals)) if len(literals) > 1 else literals[0]


def _list_of(code: Code) -> Code:
    """Return a single value as the one-element list that a dictionary needs, and other code unchanged."""
    return Listed((code,)) if isinstance(code, _python.Literal) else code


def _one_of(_name: str, options: Sequence[Code], shares: Sequence[float] | None) -> Code:
    listed = Listed(tuple(options))
    if shares is None:
        return call("OneOf", listed)
    return call("OneOf", listed, shares=Listed(tuple(map(_python.Literal, shares))))


def _normal_of(node: Hyperparameter) -> Normal | None:
    """Return the normal prior from which a range is drawn, or None."""
    match node.prior:
        case Normal() as normal:
            return normal if isinstance(node.domain, Real) else None
        case Uniform() | None:
            return None


def _piece(piece: Piece, normal: Normal | None) -> Code:
    if not isinstance(piece, Slot):
        return _python.Literal(piece.value)
    match piece.domain:
        case Categorical(values=values):
            return call("OneOf", Listed(tuple(map(_python.Literal, values))))
        case Grid(is_integral=True) as part:
            flags: dict[str, object] = {"step": part.step} if part.step != 1 else {}
            return call("Whole", part.lower, part.greatest, **flags, **({"log": True} if part.log else {}))
        case Grid() as part:
            return call("Steps", *decimals(part), 0, part.last_index)
        case Real() as part:
            log = {"log": True} if part.log else {}
            if normal is None:
                return call("Uniform", part.lower, part.upper, **log)
            return call("Normal", part.lower, part.upper, normal.mean, normal.deviation, **log)
        case _:
            assert_never(piece.domain)


def _is_range(piece: Piece) -> bool:
    return isinstance(piece, Slot) and not isinstance(piece.part, Categorical)


def _is_listed(slot: Slot, points: int) -> bool:
    """Return True if a grid includes all members of a range."""
    return slot.part.size is not None and slot.part.size <= points


def _listed(piece: Piece, points: int) -> list[Value]:
    """Return all values of a set, or `points` values of a range.

    The values of a range are evenly spaced, on a log scale under `log`, and include both ends.
    """
    if not isinstance(piece, Slot):
        return [piece.value]
    match piece.part:
        case Categorical() as part:
            return [*part.values]
        case Grid() | Real() as part if _is_listed(piece, points):
            return [*members(part)]
        case Grid() | Real() as part:
            at = placer(part)
            inner = (at(place / (points - 1)) for place in range(1, points - 1))
            values = [part.least, *inner, part.greatest]
            return list({identity(value): value for value in values}.values())
        case _:
            assert_never(piece.part)


def _vocabulary(used: frozenset[str]) -> dict[str, Callable[..., Any]]:
    """Return the distributions that code names, by name.

    If it names none, scikit-learn is not imported.
    """
    if not used:
        return {}
    module = import_module("spacelang.targets._exports.sklearn_distributions")
    return {name: getattr(module, name) for name in used}


def _distributions_source() -> str:
    """Return the source of the distributions without the docstring of their module."""
    text = inspect.getsource(import_module("spacelang.targets._exports.sklearn_distributions"))
    return text.split('"""', 2)[2].strip()

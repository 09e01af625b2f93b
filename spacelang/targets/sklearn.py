"""The target `sklearn`: the dictionaries that `RandomizedSearchCV` and `GridSearchCV` take.

A dictionary is a product of values, so that a space with conditions, constraints and nested decisions is a list of
them; where it would be too long, one distribution draws whole configurations. Keys are those of configurations: the
parameters that a search finds best *are* a configuration, from which the space builds its pipeline.
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
"""What a search tries at once: `best_params_`. Where whole configurations are drawn, one under the key WHOLE."""
WHOLE: Final = "configuration"

NORMAL: Final = exact("values are drawn from the normal distribution within the bounds")
JOINT: Final = rewritten("one distribution draws whole configurations: as dictionaries they would be more than `most`")
SPACED: Final = approximated("a grid has `points` values of a range")
SHARED: Final = exact("alternatives are drawn by their weights")


_HEAD: Final = '''"""The search space `{name}` for scikit-learn's searches.

Keys and values are those of configurations: `ParameterSampler` and `ParameterGrid` give configurations. The searches
themselves take an estimator whose parameters these are: `Estimator()` of a module that `spacelang compile` writes.
"""'''


DECODE: Final = '''\
def decode(parameters):
    """The configuration that parameters of a search stand for: `decode(search.best_params_)`."""
    return {{key: value.item() if hasattr(value, "item") else value for key, value in {values}.items()}}'''


def accepts(part: Simple) -> bool:
    """Whether values are listed or drawn as they are: all but those of ranges with excluded ends."""
    return not (isinstance(part, Real) and part.is_open)


@dataclass(frozen=True, slots=True)
class Sklearn:
    """The dictionaries of scikit-learn's `RandomizedSearchCV` and `GridSearchCV`."""

    keeps: ClassVar[Keeps] = {
        **keeps_of(accepts),
        Construct.DECISIONS: (rewritten("a dictionary for alternatives that leave the same to choose"), JOINT),
        Construct.NESTED: (rewritten("in the dictionaries of the alternative that leads to it"),),
        Construct.ORDERS: (rewritten("in the dictionaries as other decisions are"),),
        Construct.FLOATS: (exact("a distribution with `rvs`"), SPACED),
        Construct.INTEGERS: (exact("a distribution with `rvs`"), SPACED, GIANT),
        Construct.LOG: (exact("a distribution of logarithms, or values that are evenly spaced in them"),),
        Construct.STEPS: (exact("a distribution of the members"), SPACED, GIANT),
        Construct.UNIONS: (exact("a distribution over the parts, or the values of all of them"),),
        Construct.WEIGHTS: (*ADVICE[Construct.WEIGHTS], SHARED),
        Construct.PRIORS: (*ADVICE[Construct.PRIORS], UNIFORM, NORMAL),
    }

    search: Literal["random", "grid"] = option(
        "random", "which search it is for: `RandomizedSearchCV` or `GridSearchCV`"
    )
    points: int = option(5, "for `grid`, how many values a range with more members is given, from 2")
    most: int = option(2000, "how many dictionaries are listed at most")

    def __post_init__(self) -> None:
        """Raise OptionError for numbers out of their bounds."""
        if self.points < 2:
            raise OptionError(f"`points` cannot be {self.points}", "a range has two ends: `points` is 2 or more")
        if self.most < 1:
            raise OptionError(f"`most` cannot be {self.most}", "a search has one at least: `most` is 1 or more")

    def lower(self, structures: Structures) -> Lowered["SearchDictionaries", Parameters]:
        """The dictionaries for the space of the structures; they are listed when they are first asked for."""
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
    """What a search of scikit-learn takes, with the way from its parameters to configurations."""

    def __init__(self, named: Questions, points: int | None, needed: int, most: int) -> None:
        """Over named parts; `points` are those of a grid, None for distributions. `needed` dictionaries say it all."""
        super().__init__(named)
        self.points = points
        self.needed = needed
        self.is_joint = needed > most

    @cached_property
    def native(self) -> list[dict[str, Any]]:
        """What `RandomizedSearchCV` takes as `param_distributions`, `GridSearchCV` as `param_grid`."""
        found = evaluated(self._code, _vocabulary(functions(self._code)))
        return [found] if isinstance(found, dict) else list(found)

    def encode(self, configuration: Configuration) -> Parameters:
        """The parameters that stand for a member: `best_params_`, where a search finds it best."""
        return {WHOLE: dict(configuration)} if self.is_joint else dict(configuration)

    def decode(self, parameters: Mapping[str, Any]) -> Configuration:
        """The member that parameters stand for."""
        values = parameters[WHOLE] if self.is_joint else parameters
        return Configuration({key: plain(value) for key, value in values.items()})

    def reaches(self, parameters: Mapping[str, Any]) -> bool:
        """Whether one of the dictionaries has all of the parameters and no others."""
        if self.is_joint:
            return set(parameters) == {WHOLE} and self._draws_whole(self.decode(parameters))
        return any(
            all(self._has(entry, parameters[key]) for key, entry in dictionary)
            for dictionary in self._by_keys.get(frozenset(parameters), ())
        )

    def sample(self, count: int, rng: "Generator") -> list[Parameters]:
        """So many draws of scikit-learn's own `ParameterSampler`.

        It draws lists without any distribution until they are used up: then it begins again.
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
        """How many dictionaries say the parts, and the default configuration itself."""
        return {
            "search": "random" if self.points is None else "grid",
            "dictionaries": 1 if self.is_joint else self.needed,
            "default": self.named.default.to_dict(),
        }

    def to_text(self) -> str:
        """How many dictionaries there are, and the parts that they are products of."""
        if self.is_joint:
            head = f"one distribution for RandomizedSearchCV, instead of {self.needed:,} dictionaries"
        else:
            which = "RandomizedSearchCV" if self.points is None else "GridSearchCV"
            head = f"{counted(self.needed, 'dictionary', 'dictionaries')} for {which}"
        return f"{head}\n{super().to_text()}"

    def to_python(self) -> str:
        """A module with the `dictionaries` and `decode(parameters)`; it needs nothing but scikit-learn."""
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
        """Whether the tree of choices comes by a configuration."""
        if exclusion(self.named.space, configuration) is not None:
            return False
        try:
            self.named.encode(configuration)
        except LookupError:
            return False
        return True

    def _values(self, free: Free) -> Code:
        """The values of a free hyperparameter: a list where each of them is meant, else a distribution."""
        draw = self.named.draws[id(free)]
        if self.points is not None or not any(_is_range(piece) for piece in draw.pieces):
            values = [value for piece in draw.pieces for value in _listed(piece, self.points or 0)]
            return _choosable(values, is_joint=self.is_joint)
        normal = _normal_of(free.node)
        pieces = [_piece(piece, normal) for piece in draw.pieces]
        return call("OneOf", Listed(tuple(pieces))) if len(pieces) > 1 else pieces[0]

    def says(self, part: Fork | Free) -> str:
        """The distributions that it is drawn from, `list` where it is listed."""
        if isinstance(part, Fork):
            return "one of"
        return ", ".join(sorted(functions(self._values(part))) or ["list"])


def _choosable(values: Sequence[Value], *, is_joint: bool) -> Code:
    literals = tuple(map(_python.Literal, values))
    if not is_joint:
        return Listed(literals)
    return call("OneOf", Listed(literals)) if len(literals) > 1 else literals[0]


def _list_of(code: Code) -> Code:
    """A value alone as the list that a dictionary has of it."""
    return Listed((code,)) if isinstance(code, _python.Literal) else code


def _one_of(_name: str, options: Sequence[Code], shares: Sequence[float] | None) -> Code:
    listed = Listed(tuple(options))
    if shares is None:
        return call("OneOf", listed)
    return call("OneOf", listed, shares=Listed(tuple(map(_python.Literal, shares))))


def _normal_of(node: Hyperparameter) -> Normal | None:
    """The normal prior from which a range is drawn, if it is."""
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
    """Whether a grid has all members of a range."""
    return slot.part.size is not None and slot.part.size <= points


def _listed(piece: Piece, points: int) -> list[Value]:
    """All values of a set, so many of a range: evenly spaced, on logarithms under `log`, both ends among them."""
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
    """The distributions that code names; where it names none, scikit-learn is not asked for."""
    if not used:
        return {}
    module = import_module("spacelang.targets._exports.sklearn_distributions")
    return {name: getattr(module, name) for name in used}


def _distributions_source() -> str:
    """The source of the distributions without the docstring of their module."""
    text = inspect.getsource(import_module("spacelang.targets._exports.sklearn_distributions"))
    return text.split('"""', 2)[2].strip()

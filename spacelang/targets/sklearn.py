"""The target `sklearn`: the parameter dictionaries of `RandomizedSearchCV` and `GridSearchCV`.

A dictionary is a product of values. A space with conditions, constraints and nested decisions is therefore a list of
dictionaries. If that list were too long, a single distribution draws whole configurations instead. The keys are those
of configurations: the best parameters of a search are a configuration, from which the space builds a pipeline.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from spacelang.grouping import group_by_key
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain, affine_integer_coefficients, contains, members
from spacelang.ir.membership import first_exclusion
from spacelang.ir.prior import Normal
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import Value, identity_key, to_python_scalar
from spacelang.plugins import OptionError, option
from spacelang.reductions.case_splits import CaseSplit, IndependentHyperparameter
from spacelang.reductions.domain_reductions import evenly_spaced_members
from spacelang.reductions.quantile_reduction import QuantileReduction
from spacelang.reductions.space_questions import DrawnPiece, Piece, Questions
from spacelang.solver.counting import Structures
from spacelang.targets import _lowering
from spacelang.targets._exports import library_function_forms
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.library_function_forms import Dictionary, LibraryFunctionForm, NestedCodeGenerator
from spacelang.targets._lowering import OVERSIZED, Construct, Finding, PreservationTable, approximated, exact, rewritten
from spacelang.targets._random_draws import ACTIVITY_FIRST, DeviationReason, RandomDrawDeclaration
from spacelang.targets._reduction_chain import (
    UNIFORM,
    build_questions,
    preserved_by_reductions,
    reduction_findings,
)
from spacelang.targets._relations import (
    RELATIONS_DOC,
    Lowering,
    RelationsOption,
    lower_by_relations,
    quantile_decoder_source,
    translate_report_to_original,
    with_quantile_verdicts,
)
from spacelang.text import count_with_noun

if TYPE_CHECKING:
    from numpy.random import Generator

Parameters: TypeAlias = dict[str, Any]
"""The parameters of one candidate, as in `best_params_`; a whole configuration is under CONFIGURATION_KEY."""
CONFIGURATION_KEY: Final = "configuration"

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


def accepts(part: SimpleDomain) -> bool:
    """Return True if the values can be listed or drawn directly: all but ranges with excluded ends."""
    return not (isinstance(part, Real) and part.is_open)


def _keys_if_several(form: "SearchDictionaries") -> Iterable[str]:
    is_list = form.dictionary_count > 1 and not form.is_joint
    return (each.key for each in form.questions.space.variables.values() if is_list)


def _keys_if_grid(form: "SearchDictionaries") -> Iterable[str]:
    return (node.key for node in form.questions.space.hyperparameters if form.points is not None)


@dataclass(frozen=True, slots=True)
class Sklearn:
    """Parameter dictionaries for `RandomizedSearchCV` and `GridSearchCV` of scikit-learn."""

    random_draws: ClassVar[RandomDrawDeclaration] = RandomDrawDeclaration(
        "`ParameterSampler`",
        (
            DeviationReason("each dictionary is drawn equally often, however many structures it has", _keys_if_several),
            DeviationReason("the values of a grid are drawn evenly", _keys_if_grid),
            ACTIVITY_FIRST,
        ),
    )

    default_relations: ClassVar[tuple[Lowering, ...]] = ("cases",)

    preserves: ClassVar[PreservationTable] = with_quantile_verdicts(
        {
            **preserved_by_reductions(accepts),
            Construct.DECISIONS: (
                rewritten("one dictionary for all alternatives with the same remaining choices"),
                JOINT,
            ),
            Construct.NESTED: (
                rewritten("nested decisions are in the dictionaries of the alternative that contains them"),
            ),
            Construct.ORDERS: (rewritten("orders are in the dictionaries, like other decisions"),),
            Construct.FLOATS: (exact("a distribution object with the method `rvs`"), SPACED),
            Construct.INTEGERS: (exact("a distribution object with the method `rvs`"), SPACED, OVERSIZED),
            Construct.LOG: (exact("a distribution on the log scale, or values evenly spaced on it"),),
            Construct.STEPS: (exact("a distribution over the members"), SPACED, OVERSIZED),
            Construct.UNIONS: (exact("a distribution over the parts, or the values of all parts"),),
            Construct.WEIGHTS: (*_lowering.GUIDANCE[Construct.WEIGHTS], SHARED),
            Construct.PRIORS: (*_lowering.GUIDANCE[Construct.PRIORS], UNIFORM, NORMAL),
        }
    )

    search: Literal["random", "grid"] = option(
        "random", "the search to compile for: `RandomizedSearchCV` or `GridSearchCV`"
    )
    points: int = option(5, "for `grid`, the number of values taken from a longer range, at least 2")
    most: int = option(2000, "maximum number of dictionaries")
    relations: RelationsOption = option("auto", RELATIONS_DOC)

    def __post_init__(self) -> None:
        if self.points < 2:
            raise OptionError(f"`points` cannot be {self.points}", "a range has two ends: set `points` to 2 or more")
        if self.most < 1:
            remedy = "a search needs at least one dictionary: set `most` to 1 or more"
            raise OptionError(f"`most` cannot be {self.most}", remedy)

    def lower(self, structures: Structures) -> _lowering.LoweringResult["SearchDictionaries", Parameters]:
        """Return the dictionaries of a space, built on first use; raise OptionError if a grid needs too many."""
        return lower_by_relations(self, structures, self._lower)

    def _lower(self, reduction: QuantileReduction) -> _lowering.LoweringResult["SearchDictionaries", Parameters]:
        structures = reduction.reduced_structures
        named = build_questions(structures, accepts, self.preserves)
        needed = library_function_forms.count_dictionaries(named.parts)
        if self.search == "grid" and needed > self.most:
            raise OptionError(
                f"a grid of `{structures.space.name}` has {needed:,} dictionaries, more than `most` allows",
                f"set `most` to {needed} or more, or `search` to `random`, which then draws whole configurations",
            )
        points = self.points if self.search == "grid" else None
        form = SearchDictionaries(named, reduction, points, needed, self.most)
        found = _lowering.make_report(structures.space, self.preserves, self._findings(form))
        report = translate_report_to_original(reduction, found)
        return _lowering.LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, report)

    @staticmethod
    def _findings(form: "SearchDictionaries") -> Iterator[Finding]:
        space = form.questions.space
        if form.is_joint:
            there = _lowering.constructs_of(space)
            yield from (Finding(Construct.DECISIONS, JOINT, span) for span in there.get(Construct.DECISIONS, ()))
            yield from (Finding(Construct.WEIGHTS, SHARED, span) for span in there.get(Construct.WEIGHTS, ()))
        if form.points is None:
            yield from reduction_findings(form.questions, Sklearn.preserves)
            normal = filter(_normal_of, space.hyperparameters)
            yield from (Finding(Construct.PRIORS, NORMAL, node.span) for node in normal)
            return
        for free, slot in form.questions.drawn_pieces():
            if _is_range(slot) and not _has_all_members(slot, form.points):
                for construct in _lowering.constructs_in(slot.part):
                    if SPACED in Sklearn.preserves[construct]:
                        yield Finding(construct, SPACED, free.node.span)


class SearchDictionaries(LibraryFunctionForm):
    """Parameter dictionaries for a search of scikit-learn, with the decoding of its parameters."""

    def __init__(
        self, named: Questions, reduction: QuantileReduction, points: int | None, needed: int, most: int
    ) -> None:
        """Store the questions of the reduced space.

        `points` is the number of grid points per range, or None for distributions. `needed` is the number of
        dictionaries that the space needs; if it is more than `most`, a joint distribution replaces them.
        """
        super().__init__(named, reduction)
        self.points, self.dictionary_count, self.is_joint = points, needed, needed > most

    @cached_property
    def native(self) -> list[dict[str, Any]]:
        """The value for `param_distributions` of `RandomizedSearchCV` or `param_grid` of `GridSearchCV`."""
        found = py.evaluate(self._code, {name: getattr(_distributions(), name) for name in py.names_used(self._code)})
        return [found] if isinstance(found, dict) else list(found)

    def encode(self, configuration: Configuration) -> Parameters:
        """Return the parameters of a member, as `best_params_` would have them."""
        configuration = self.reduction.encode(configuration)
        return {CONFIGURATION_KEY: dict(configuration)} if self.is_joint else dict(configuration)

    def decode(self, parameters: Mapping[str, Any]) -> Configuration:
        """Return the member for the parameters that a search has drawn or found, such as `best_params_`."""
        return self.reduction.decode(self._drawn(parameters))

    def _drawn(self, parameters: Mapping[str, Any]) -> Configuration:
        values = parameters[CONFIGURATION_KEY] if self.is_joint else parameters
        return Configuration({key: to_python_scalar(value) for key, value in values.items()})

    def accepts(self, parameters: Mapping[str, Any]) -> bool:
        """Return True if a search can draw these parameters: one of the dictionaries has exactly these keys and values.

        If a joint distribution replaces the dictionaries, it must be able to draw the configuration.
        """
        if self.is_joint:
            return set(parameters) == {CONFIGURATION_KEY} and self._can_draw(self._drawn(parameters))
        alike = self._by_keys.get(frozenset(parameters), ())
        return any(all(self._contains(entry, parameters[key]) for key, entry in each) for each in alike)

    def sample(self, count: int, rng: "Generator") -> list[Parameters]:
        """Draw with `ParameterSampler`, which draws without replacement if all values are listed.

        When it has drawn everything, it starts again.
        """
        from sklearn.model_selection import ParameterGrid, ParameterSampler

        are_lists = all(isinstance(entry, list) for each in self.native for entry in each.values())
        at_once = min(count, len(ParameterGrid(self.native))) if are_lists else count
        found: list[Parameters] = []
        while len(found) < count:
            wanted = min(at_once, count - len(found))
            found.extend(ParameterSampler(self.native, wanted, random_state=int(rng.integers(2**31 - 1))))
        return found

    def additional_json_keys(self) -> dict[str, object]:
        """Return the kind of search, the number of dictionaries, and the default configuration."""
        search, count = "random" if self.points is None else "grid", 1 if self.is_joint else self.dictionary_count
        return {"search": search, "dictionaries": count, "default": self.questions.default.to_dict()}

    def to_text(self) -> str:
        """Return the number of dictionaries, and the parts of which they are products."""
        if self.is_joint:
            head = f"one distribution for RandomizedSearchCV, instead of {self.dictionary_count:,} dictionaries"
        else:
            which = "RandomizedSearchCV" if self.points is None else "GridSearchCV"
            head = f"{count_with_noun(self.dictionary_count, 'dictionary', 'dictionaries')} for {which}"
        return f"{head}\n{super().to_text()}"

    def to_python(self) -> str:
        """Return the source of a module with `dictionaries`, `default` and `decode(parameters)`.

        The module imports nothing but scikit-learn.
        """
        used = py.names_used(self._code)
        restored = [f"\n{block}" for block in quantile_decoder_source(self.reduction)]
        decode = DECODE.format(values=f'parameters["{CONFIGURATION_KEY}"]' if self.is_joint else "parameters")
        blocks = [
            _HEAD.format(name=py.docstring_safe_line(self.questions.space.name)),
            *([_distributions_source()] if used else []),
            *restored,
            py.assignment_source("dictionaries", self._code),
            py.assignment_source("default", py.literal_dict(self.default)),
            "\n" + (decode.replace("return {", "return values_of({") + ")" if restored else decode),
        ]
        return "\n\n".join(blocks)

    @cached_property
    def _code(self) -> py.ListNode | py.DictNode:
        if self.is_joint:
            tree = NestedCodeGenerator(self.questions, _choice_code, self._values_code).entries(self.questions.parts)
            return py.DictNode(((CONFIGURATION_KEY, py.call("JointDistribution", tree)),))

        def code(entry: IndependentHyperparameter | tuple[str, ...]) -> py.Code:
            found = self._values_code(entry) if isinstance(entry, IndependentHyperparameter) else py.literal_list(entry)
            return py.ListNode((found,)) if isinstance(found, py.LiteralNode) else found  # a dictionary needs a list

        products = (tuple((key, code(entry)) for key, entry in each) for each in self._products)
        return py.ListNode(tuple(map(py.DictNode, products)))

    @cached_property
    def _products(self) -> tuple[Dictionary, ...]:
        return tuple(library_function_forms.iter_dictionaries(self.questions.parts))

    @cached_property
    def _by_keys(self) -> dict[frozenset[str], list[Dictionary]]:
        return group_by_key((frozenset(key for key, _ in dictionary), dictionary) for dictionary in self._products)

    def _contains(self, entry: IndependentHyperparameter | tuple[str, ...], given: object) -> bool:
        value = to_python_scalar(given)
        if not isinstance(entry, IndependentHyperparameter):
            return value in entry
        if self.points is None:
            return contains(entry.domain, value)
        draw = self.questions.draws[id(entry)]
        listed = (each for piece in draw.pieces for each in _grid_values(piece, self.points or 0))
        return any(identity_key(each) == identity_key(value) for each in listed)

    def _can_draw(self, configuration: Configuration) -> bool:
        if first_exclusion(self.questions.space, configuration) is not None:
            return False
        try:
            self.questions.encode(configuration)
        except LookupError:
            return False
        return True

    def _values_code(self, free: IndependentHyperparameter) -> py.Code:
        """Return the code of a dictionary entry for a hyperparameter: the list of all its values, or a distribution."""
        draw = self.questions.draws[id(free)]
        # A list makes all values equally likely, but each piece of a union must be.
        has_equal_shares = len(draw.pieces) == 1 or not any(isinstance(piece, DrawnPiece) for piece in draw.pieces)
        if self.points is not None or (has_equal_shares and not any(_is_range(piece) for piece in draw.pieces)):
            listed = py.literal_list(value for piece in draw.pieces for value in _grid_values(piece, self.points or 0))
            if not self.is_joint:
                return listed
            return py.call("OneOf", listed) if len(listed.items) > 1 else listed.items[0]
        normal = _normal_of(free.node)
        pieces = [_piece_code(piece, normal) for piece in draw.pieces]
        return py.call("OneOf", py.ListNode(tuple(pieces))) if len(pieces) > 1 else pieces[0]

    def sampling_function_names(self, part: CaseSplit | IndependentHyperparameter) -> str:
        """Return the names of the distributions of a part; "list" if its values are listed, "one of" for a choice."""
        if isinstance(part, CaseSplit):
            return "one of"
        return ", ".join(sorted(py.names_used(self._values_code(part))) or ["list"])


def _choice_code(_name: str, options: Sequence[py.Code], shares: Sequence[float] | None) -> py.Code:
    named = {} if shares is None else {"shares": py.literal_list(shares)}
    return py.call("OneOf", py.ListNode(tuple(options)), **named)


def _normal_of(node: Hyperparameter) -> Normal | None:
    return node.prior if isinstance(node.prior, Normal) and isinstance(node.domain, Real) else None


def _piece_code(piece: Piece, normal: Normal | None) -> py.Code:
    if not isinstance(piece, DrawnPiece):
        return py.LiteralNode(piece.value)
    match piece.domain:
        case Categorical(values=values):
            return py.call("OneOf", py.literal_list(values))
        case Grid(is_integral=True) as part:
            flags: dict[str, object] = {"step": part.step} if part.step != 1 else {}
            return py.call("UniformInteger", part.lower, part.greatest, **flags, **({"log": True} if part.log else {}))
        case Grid() as part:
            return py.call("UniformGrid", *affine_integer_coefficients(part), 0, part.last_index)
        case Real() as part:
            name, moments = ("Normal", (normal.mean, normal.deviation)) if normal else ("Uniform", ())
            return py.call(name, part.lower, part.upper, *moments, **({"log": True} if part.log else {}))


def _is_range(piece: Piece) -> bool:
    return isinstance(piece, DrawnPiece) and not isinstance(piece.part, Categorical)


def _has_all_members(slot: DrawnPiece, points: int) -> bool:
    return slot.part.size is not None and slot.part.size <= points


def _grid_values(piece: Piece, points: int) -> list[Value]:
    """Return the values of a piece on a grid: all of a set or of a small range, else `points` of the range.

    These are evenly spaced on its scale and include both ends.
    """
    if not isinstance(piece, DrawnPiece):
        return [piece.value]
    match piece.part:
        case Categorical() as part:
            return [*part.values]
        case Grid() | Real() as part if _has_all_members(piece, points):
            return [*members(part)]
        case Grid() | Real() as part:
            return evenly_spaced_members(part, points)


def _distributions() -> ModuleType:
    return import_module(_DISTRIBUTIONS)  # which imports scikit-learn


def _distributions_source() -> str:
    """Return the source of the distributions without its docstring; nothing is imported for it."""
    spec = find_spec(_DISTRIBUTIONS)
    source = spec.loader.get_source(_DISTRIBUTIONS) if spec and isinstance(spec.loader, InspectLoader) else None
    assert source is not None
    return source.split('"""', 2)[2].strip()


_DISTRIBUTIONS: Final = "spacelang.targets._exports.sklearn_distributions"

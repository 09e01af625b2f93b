"""The target `hyperopt`: a search space of `hp.choice`, `hp.uniform` and other hyperopt expressions, for `fmin`.

Decisions are nested choices. No option contains what constraints exclude. A hyperparameter with a condition is drawn
whether or not the condition holds. A sample is a dictionary in which a choice may add nested dictionaries;
`HyperoptSpace.configuration` converts it into a configuration, without the hyperparameters whose condition does not
hold. An encoding has the format of hyperopt trials: the value of every drawn node by its label, where a choice has the
index of its option.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from spacelang.errors import import_optional
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain, contains
from spacelang.ir.value import is_number, to_python_scalar
from spacelang.plugins import option
from spacelang.reductions.case_splits import CaseSplit, IndependentHyperparameter, ValueSwitch
from spacelang.reductions.guarded_case_splits import unfold_with_condition_guards
from spacelang.reductions.quantile_reduction import QuantileReduction
from spacelang.reductions.space_questions import DrawnPiece, Questions
from spacelang.solver.counting import Structures
from spacelang.targets import _lowering
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.hyperopt_samples import GuardedSampleEntries, SwitchIndexWriter
from spacelang.targets._exports.library_function_forms import (
    FLATTEN_SOURCE,
    LibraryFunctionForm,
    NestedCodeGenerator,
    flattened,
)
from spacelang.targets._exports.value_tests import is_testable
from spacelang.targets._lowering import Construct, LoweringResult, PreservationTable, approximated, exact, rewritten
from spacelang.targets._random_draws import ACTIVITY_FIRST, CONNECTED_IN_TURN, RandomDrawDeclaration
from spacelang.targets._reduction_chain import (
    BELOW_CHOICES,
    TOO_ENTANGLED,
    build_questions,
    build_report,
    name_count_entry,
    preserved_by_reductions,
    unfolded_condition_findings,
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

if TYPE_CHECKING:
    from numpy.random import Generator

Values: TypeAlias = dict[str, Any]
"""Drawn values by label: the index of the option for a choice, a number for everything else."""

WIDER: Final = 0.499  # The share of a step by which ranges of integers are wider
EXACT_LOG_LIMIT: Final = 2**45  # Below this bound, rounding errors of logarithms do not change any integer


def accepts(part: SimpleDomain) -> bool:
    """Return True if hyperopt can draw the values: closed ranges, and integers that are consecutive or log-scaled."""
    match part:
        case Real():
            return not part.is_open
        case Grid():
            return part.log or part.is_consecutive
        case Categorical():
            return False


@dataclass(frozen=True, slots=True)
class Hyperopt:
    """A hyperopt search space for `fmin`: nested choices of independent hyperparameters."""

    paper: ClassVar[str] = "Bergstra et al., Making a Science of Model Search, ICML 2013"

    random_draws: ClassVar[RandomDrawDeclaration] = RandomDrawDeclaration(
        "`hyperopt.rand`", (CONNECTED_IN_TURN, ACTIVITY_FIRST)
    )

    default_relations: ClassVar[tuple[Lowering, ...]] = ("quantiles",)

    preserves: ClassVar[PreservationTable] = with_quantile_verdicts(
        {
            **preserved_by_reductions(accepts, "`hp.choice`"),
            Construct.FLOATS: (exact("`hp.uniform`"),),
            Construct.INTEGERS: (
                exact("`hp.quniform` widened by half a unit at both ends, so that all integers are equally likely"),
                _lowering.OVERSIZED,
            ),
            Construct.LOG: (exact("`hp.loguniform` and `hp.qloguniform`, clipped where rounding leaves the bounds"),),
            Construct.SETS: (exact("`hp.choice` among the values"),),
            Construct.CONDITIONS: (
                rewritten("every hyperparameter is drawn; `configuration` drops those whose condition does not hold"),
                BELOW_CHOICES,
                TOO_ENTANGLED,
            ),
            Construct.DEFAULTS: (approximated("hyperopt has no defaults; `trials([default])` evaluates it first"),),
            Construct.WEIGHTS: (exact("`hp.pchoice`"),),
        }
    )

    relations: RelationsOption = option("auto", RELATIONS_DOC)

    def lower(self, structures: Structures) -> LoweringResult["HyperoptSpace", Values]:
        """Return the search space of the structures; hyperopt itself is imported when it is first needed."""
        return lower_by_relations(self, structures, self._lower)

    def _lower(self, reduction: QuantileReduction) -> LoweringResult["HyperoptSpace", Values]:
        structures = reduction.reduced_structures
        unfolded = partial(unfold_with_condition_guards, is_testable=is_testable)
        named = build_questions(structures, accepts, self.preserves, unfolded=unfolded, sharing="options")
        unfolded_conditions = unfolded_condition_findings(named, BELOW_CHOICES)
        report = (*build_report(named, self.preserves, unfolded_conditions), name_count_entry(named))
        form = HyperoptSpace(named, reduction)
        whole = translate_report_to_original(reduction, report)
        return LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, whole)


class HyperoptSpace(LibraryFunctionForm):
    """A hyperopt search space, with the conversion of its samples and trials into configurations."""

    @cached_property
    def native(self) -> dict[str, Any]:
        """The search space for `fmin`; raises MissingLibraryError if hyperopt is not installed."""
        hp, scope = import_optional("hyperopt").hp, import_optional("hyperopt", "hyperopt.pyll").scope
        found: dict[str, Any] = py.evaluate(self._code, {"hp": hp, "scope": scope, "log": math.log})
        return found

    def trials(self, points: Sequence[Mapping[str, Any]]) -> Any:
        """Return trials that `fmin(…, trials=…)` evaluates first, one for the values of each point.

        Use this instead of `points_to_evaluate` of `fmin`: in spaces with choices, that makes searches that learn from
        trials fail at the labels that a point does not have.
        """
        found = import_optional("hyperopt").Trials()
        found.insert_trial_docs([self.trial_document(number, point) for number, point in enumerate(points)])
        found.refresh()
        return found

    @property
    def labels(self) -> Collection[str]:
        """The labels of everything that may be drawn; empty if there is nothing to choose."""
        return self.questions.by_name.keys()

    def trial_document(self, number: int, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the hyperopt trial document of a point that is to be evaluated; `number` is the trial id."""
        absent: list[Any] = []  # shared by all labels that do not occur in the trial; never modified
        drawn_here = {label: [number] if label in point else absent for label in self.labels}
        values = {label: [point[label]] if label in point else absent for label in self.labels}
        misc = {"tid": number, "cmd": _COMMAND, "idxs": drawn_here, "vals": values}
        blank = {"result": {"status": "new"}, "state": 0, "spec": None, **dict.fromkeys(_EMPTY_FIELDS)}
        return {**blank, "tid": number, "version": 0, "misc": misc}

    @staticmethod
    def values_of(document: Mapping[str, Any]) -> Values:
        """Return the values by label in a trial document, stored or suggested by hyperopt."""
        return {label: to_python_scalar(found[0]) for label, found in document["misc"]["vals"].items() if len(found)}

    def configuration(self, sample: Mapping[str, Any]) -> Configuration:
        """Return the configuration of a sample, as `fmin` passes it to an objective.

        The draws of `pyll.stochastic.sample` are such samples, too.
        """
        return self.reduction.decode(self._conditional.active_values(flattened(sample)))

    def encode(self, configuration: Configuration) -> Values:
        """Return the values of a member by label, as in `trials.argmin` and `points_to_evaluate`.

        Hyperparameters whose condition does not hold have their defaults: hyperopt needs a value for every label.
        """
        return self.questions.encode(self.reduction.encode(configuration), with_guarded=True)

    def encode_active(self, configuration: Configuration) -> Values:
        """Return the values of a member by label, without those that `configuration` drops.

        TPE needs no other values of a finished trial, and learns nothing from values that had no effect.
        """
        return self.questions.encode(self.reduction.encode(configuration))

    def decode(self, values: Mapping[str, Any]) -> Configuration:
        """Return the member for values by label, computed by hyperopt as in `space_eval`.

        Values of hyperparameters whose condition does not hold may be missing.
        """
        # Hyperopt cannot make a graph of an empty dictionary, the space whose only configuration is empty.
        if not self.native:
            return self.configuration({})
        graph, nodes = self._graph
        known = {nodes[label]: value for label, value in {**self._guarded, **values}.items() if label in nodes}
        rec_eval = import_optional("hyperopt", "hyperopt.pyll").rec_eval
        found = self.configuration(rec_eval(graph, memo=known, print_node_on_error=False))
        if missing := self._guarded.keys() - values.keys():
            for label in self.encode_active(found):
                if label in missing:
                    raise ValueError(f"`{label}` has no value")
        return found

    def accepts(self, values: Mapping[str, Any]) -> bool:
        """Return True if hyperopt can draw exactly these values, with no label missing or superfluous."""
        supports = self._supports
        are_drawn = all(label in supports and supports[label](value) for label, value in values.items())
        return are_drawn and self.questions.are_answered(values, with_guarded=True)

    def sample(self, count: int, rng: "Generator") -> list[Values]:
        """Draw `count` points with the random search of hyperopt (`hyperopt.rand.suggest`)."""
        if not self.labels or not count:
            return [{} for _ in range(count)]  # nothing to draw
        base, rand = import_optional("hyperopt", "hyperopt.base"), import_optional("hyperopt", "hyperopt.rand")
        seed = int(rng.integers(2**31 - 1))
        found: list[Values] = [{} for _ in range(count)]
        idxs, vals = rand.suggest_batch([*range(count)], base.Domain(None, self.native), base.Trials(), seed)
        for label, several in idxs.items():
            for place, value in zip(several, vals[label], strict=True):
                found[place][label] = to_python_scalar(value)
        return found

    def to_python(self) -> str:
        """Return the source of a module that imports only hyperopt.

        It has `space`, `default`, `configuration(sample)`, `decode(values)` and `trials(points)`.
        """
        used = {name.partition(".")[0] for name in py.names_used(self._code)}
        restored = [f"\n{block}" for block in quantile_decoder_source(self.reduction)]
        result = "values_of(found)" if restored else "found"
        imports = [
            *(["from math import log", ""] if "log" in used else []),
            f"from hyperopt import Trials, {'hp, ' if 'hp' in used else ''}pyll, space_eval",
            "from hyperopt.fmin import generate_trial",
            *(["from hyperopt.pyll import scope"] if "scope" in used else []),
        ]
        advice = "# The default configuration, as values for `trials([default])` and `space_eval(space, default)`.\n"
        blocks = [
            f'"""The search space `{py.docstring_safe_line(self.questions.space.name)}` for hyperopt."""',
            "\n".join(imports),
            py.assignment_source("space", self._code),
            advice + py.assignment_source("default", py.literal_dict(self.default)),
            *restored,
            "\n" + FLATTEN_SOURCE,
            "\n" + self._conditional.source(result),
            "\n" + DECODE,
            "\n" + TRIALS,
        ]
        return "\n\n".join(block for block in blocks if block)

    @cached_property
    def _graph(self) -> tuple[Any, dict[str, Any]]:
        """The hyperopt graph of the space, and the node in it that draws each label.

        It is made once, unlike in `space_eval`, which makes it for each call.
        """
        pyll = import_optional("hyperopt", "hyperopt.pyll")
        graph = pyll.as_apply(self.native)
        drawn_nodes = (node for node in pyll.dfs(graph) if node.name == "hyperopt_param")
        return graph, {node.arg["label"].obj: node for node in drawn_nodes}

    @cached_property
    def _guarded(self) -> Values:
        """The values by label for the defaults of all hyperparameters that have guards."""
        draws = self.questions.draws
        inside = (part for guard in self.questions.guards.values() for part in guard.parts)
        values = (
            draws[id(part)].encode(part.node.default) for part in inside if isinstance(part, IndependentHyperparameter)
        )
        return {label: value for each in values for label, value in each.items()}

    @cached_property
    def _conditional(self) -> GuardedSampleEntries:
        return GuardedSampleEntries(self.questions)

    @cached_property
    def _draws(self) -> "_DrawCodes":
        return _DrawCodes(self.questions)

    @cached_property
    def _code(self) -> py.DictNode:
        draws = self._draws
        names = self._conditional.names
        nested = NestedCodeGenerator(self.questions, draws.choice, draws.value, draws.switch, names)
        return nested.entries(self.questions.parts)

    def sampling_function_names(self, part: CaseSplit | IndependentHyperparameter) -> str:
        """Return the names of the `hp` functions that draw a part."""
        if isinstance(part, CaseSplit):
            return "hp.choice" if self.questions.case_weights.case_probabilities(part) is None else "hp.pchoice"
        used = py.names_used(self._draws.value(part))
        return ", ".join(sorted(name for name in used if name.startswith("hp.")))

    @cached_property
    def _supports(self) -> dict[str, Callable[[Any], bool]]:
        return {name: _support_test(domain) for name, domain in self.questions.domains.items()}


DECODE: Final = '''\
def decode(values):
    """Return the configuration of the values by label that `fmin` returns, or of `trials.argmin`."""
    return configuration(space_eval(space, values)) if space else {}'''

TRIALS: Final = '''\
def trials(points):
    """Return trials that `fmin(…, trials=…)` evaluates first, one for the values of each point."""
    nodes = pyll.dfs(pyll.as_apply(space))
    labels = [node.arg["label"].obj for node in nodes if node.name == "hyperopt_param"]
    found = Trials()
    for number, point in enumerate(points):
        document = generate_trial(number, point)
        for values in (document["misc"]["idxs"], document["misc"]["vals"]):
            values.update({label: [] for label in labels if label not in point})
        found.insert_trial_doc(document)
    found.refresh()
    return found'''

_EMPTY_FIELDS: Final = ("exp_key", "owner", "book_time", "refresh_time")
_COMMAND: Final = ("domain_attachment", "FMinIter_Domain")
"""Fields of an unevaluated trial besides its values, as hyperopt itself writes them."""


class _DrawCodes:
    """A writer of the hyperopt code that draws values.

    Draws with equal labels are the same code object, so that hyperopt makes one node of them.
    """

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._numbers: dict[str, py.Code] = {}
        self._choices: dict[str, py.Code] = {}
        self._switches = SwitchIndexWriter(questions, self._number)

    def choice(self, name: str, options: Sequence[py.Code], shares: Sequence[float] | None = None) -> py.Code:
        """Return the code that chooses between options; the first call for a name decides the result of all."""
        if name not in self._choices:
            self._choices[name] = self._new_choice(name, options, shares)
        return self._choices[name]

    def _new_choice(self, name: str, options: Sequence[py.Code], shares: Sequence[float] | None) -> py.Code:
        if (index := self._switches.drawn_index_if_used(name)) is not None:
            return py.call("scope.switch", index, *options)
        if shares is None:
            return py.call("hp.choice", name, py.ListNode(tuple(options)))
        pairs = zip(map(py.LiteralNode, shares), options, strict=True)
        return py.call("hp.pchoice", name, py.ListNode(tuple(py.ListNode(pair, is_tuple=True) for pair in pairs)))

    def switch(self, part: ValueSwitch, options: Sequence[py.Code]) -> py.Code:
        """Return the code that selects one of the options by a value that was drawn before."""
        index = self._switches.indices[id(part)]
        if isinstance(index, py.LiteralNode):
            assert isinstance(index.value, int)
            return options[index.value]
        return py.call("scope.switch", index, *options)

    def value(self, free: IndependentHyperparameter) -> py.Code:
        """Return the code that draws the value of an independent hyperparameter."""
        draw = self._questions.draws[id(free)]
        pieces = [
            self._piece(piece) if isinstance(piece, DrawnPiece) else py.LiteralNode(piece.value)
            for piece in draw.pieces
        ]
        return self.choice(draw.choice, pieces) if len(pieces) > 1 else pieces[0]

    def _piece(self, piece: DrawnPiece) -> py.Code:
        match piece.part:
            case Ordinal(values=values):
                return py.call("scope.getitem", py.literal_list(values), self._number(piece))
            case Categorical(values=values):
                return self.choice(piece.name, py.literal_list(values).items)
            case Grid() as part if not accepts(part):
                return py.grid_member_code(part, self._number(piece))
            case _:
                return self._number(piece)

    def _number(self, piece: DrawnPiece) -> py.Code:
        if piece.name not in self._numbers:
            self._numbers[piece.name] = _number_code(piece.name, piece.domain)
        return self._numbers[piece.name]


def _number_code(name: str, domain: SimpleDomain) -> py.Code:
    match domain:
        case Grid(log=True):
            return _log_integer_code(name, domain)
        case Grid() if domain.upper < EXACT_LOG_LIMIT:
            return py.call("scope.int", py.call("hp.quniform", name, *map(_rounded, _wide_ends(domain)), q=1))
        case Grid():
            return py.call("hp.uniformint", name, domain.lower, domain.upper)
        case Real(lower=lower, upper=upper):
            ends = (py.call("log", lower), py.call("log", upper)) if domain.log else (lower, upper)
            number = py.call("hp.loguniform" if domain.log else "hp.uniform", name, *ends)
            is_safe = not domain.log and lower + (upper - lower) <= upper
            return number if is_safe else py.call("scope.max", lower, py.call("scope.min", upper, number))
        case Categorical():
            raise TypeError("sets are drawn by their indices")


def _wide_ends(part: Grid) -> tuple[float, float]:
    """Return the ends of a range with almost half a step more, so that its ends are drawn as often as other numbers.

    With half a step, hyperopt could round a number out of the range.
    """
    wide = WIDER * min(part.step, part.lower) if part.log else WIDER
    return part.lower - wide, part.greatest + (WIDER * part.step if part.log else WIDER)


def _rounded(end: float) -> float:
    return round(end, 3)


def _log_integer_code(name: str, part: Grid) -> py.Code:
    last = part.greatest
    bounds = [py.call("log", _rounded(end)) for end in _wide_ends(part)]
    if part.step == 1:
        whole = py.call("scope.int", py.call("hp.qloguniform", name, *bounds, 1))
        # Below EXACT_LOG_LIMIT, rounding errors of logarithms cannot move a bound.
        return whole if last < EXACT_LOG_LIMIT else py.call("scope.max", part.lower, py.call("scope.min", last, whole))
    # Round to the nearest step: `int` truncates.
    away = py.infix(py.infix(py.call("hp.loguniform", name, *bounds), "-", part.lower), "/", part.step)
    place = py.call("scope.int", py.infix(away, "+", 0.5))
    inside = py.call("scope.max", 0, py.call("scope.min", part.size - 1, place))
    return py.grid_member_code(part, inside)


def _support_test(domain: SimpleDomain) -> Callable[[Any], bool]:
    """Return a function that tests whether hyperopt may draw a value of a domain, allowing for rounding."""
    match domain:
        case Grid(log=False):
            return lambda value: contains(domain, value)
        case Grid() | Real():
            is_drawn_as_rounded_real = isinstance(domain, Grid) and domain.step != 1  # a draw is not yet a member
            ends = lower, upper = _wide_ends(domain) if is_drawn_as_rounded_real else (domain.least, domain.greatest)  # type: ignore[arg-type]
            return lambda value: (
                is_number(value)
                and (lower <= value <= upper or any(math.isclose(value, end, rel_tol=1e-12) for end in ends))
            )
        case Categorical():
            raise TypeError("sets are drawn by their indices")

"""The target `optuna`: a define-by-run function `suggest(trial)` that asks an optuna trial for a configuration.

Each question depends on the previous answers, so that conditions and constraints hold and every answer is a member.
Each hyperparameter has one name, under which a trial is always asked for the same distribution. Where constraints
narrow a range, its bounds vary; where they narrow a set or a decision, each selection has a name of its own. A use of a
chain has the same names for any number of uses. An encoding is the parameter dictionary of a trial, as `FixedTrial` and
`study.enqueue_trial` take it.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from spacelang.errors import import_optional
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain
from spacelang.ir.value import Value, to_python_scalar
from spacelang.plugins import option
from spacelang.reductions.domains import split_into_simple
from spacelang.reductions.guarded_unfolding import unfold_with_guards
from spacelang.reductions.quantile_relations import QuantileReduction
from spacelang.reductions.space_questions import DrawnPiece, Question, Questions
from spacelang.reductions.unfolding import (
    Fork,
    FreeHyperparameter,
)
from spacelang.reductions.varying_bounds import VaryingRange
from spacelang.solver.counting import Structures
from spacelang.targets import _lowering
from spacelang.targets._exports import python_nodes as py
from spacelang.targets._exports.found_functions import FunctionWriter, labels_of
from spacelang.targets._exports.library_function_forms import LibraryFunctionForm
from spacelang.targets._exports.optuna_bounds import FLOAT_BOUNDS_SOURCE, BoundedSuggestion, needs_float_bounds
from spacelang.targets._exports.optuna_calls import describe_suggest_call, suggest_call_code
from spacelang.targets._exports.quantile_source import quantile_source
from spacelang.targets._exports.value_tests import is_testable
from spacelang.targets._lowering import OVERSIZED, Construct, PreservationTable, approximated, exact, rewritten
from spacelang.targets._random_draws import (
    CONNECTED_IN_TURN,
    Deviation,
    RandomDraws,
    keys_with,
)
from spacelang.targets._reduction_chain import (
    BELOW_CHOICES,
    EVENLY,
    NESTED,
    TOO_ENTANGLED,
    build_questions,
    build_report,
    constraint_findings,
    even_draws_entries,
    names_entry,
    preserved_by_reductions,
    unfolded_condition_findings,
)
from spacelang.targets._relations import (
    RELATIONS_DOC,
    Lowering,
    RelationsOption,
    lower_by_relations,
    refuse_other_relations,
    relations_entry,
    report_of_original,
    with_quantiles,
)

if TYPE_CHECKING:
    from numpy.random import Generator

Parameters: TypeAlias = dict[str, Any]  # The parameters of a trial, by the names under which they were suggested
DECODE: Final = '''\
def decode(parameters):
    """Return the configuration of a trial with these parameters: `decode(study.best_params)`."""
    from optuna.trial import FixedTrial

    return suggest(FixedTrial(dict(parameters)))'''
BOUNDED: Final = exact("bounds of `suggest_int` and `suggest_float` that depend on earlier values")
MAX_FLOAT_STEPS: Final = 10**6
"""Optuna can tell the members of a grid of floats from other numbers up to this many steps."""


def accepts(part: SimpleDomain) -> bool:
    """Return True for closed ranges, integers, few float steps, and values that differ (for optuna, `true` is 1)."""
    match part:
        case Ordinal():
            return False
        case Categorical(values=values):
            return len(set(values)) == len(values) and not any(isinstance(value, tuple) for value in values)
        case Grid():
            return part.is_integral or part.size <= MAX_FLOAT_STEPS
        case Real():
            return not part.is_open


def can_have_varying_bounds(each: VaryingRange) -> bool:
    """Return True if optuna can draw from every part of a range that bounds may leave."""
    if isinstance(each.domain, Grid):
        return accepts(each.domain) and not _is_stepped_log(each.domain)
    return len(split_into_simple(each.domain)) == 1


def _is_stepped_log(part: SimpleDomain) -> bool:
    return isinstance(part, Grid) and part.log and part.step != 1


@dataclass(frozen=True, slots=True)
class Optuna:
    """A define-by-run function that asks a trial of optuna for a configuration, parameter by parameter."""

    paper: ClassVar[str] = "Akiba et al., Optuna: A Next-generation Hyperparameter Optimization Framework, KDD 2019"

    random_draws: ClassVar[RandomDraws] = RandomDraws(
        "`RandomSampler`",
        (
            EVENLY,
            CONNECTED_IN_TURN,
            Deviation(
                "steps on a log scale are rounded", lambda form: keys_with(form.questions.space, _is_stepped_log)
            ),
        ),
    )

    default_relations: ClassVar[tuple[Lowering, ...]] = ("native", "quantiles")

    preserves: ClassVar[PreservationTable] = with_quantiles(
        {
            **preserved_by_reductions(accepts, "`suggest_categorical`"),
            Construct.FLOATS: (exact("`suggest_float`"),),
            Construct.INTEGERS: (exact("`suggest_int`"), OVERSIZED),
            Construct.LOG: (exact("`log=True`"),),
            Construct.STEPS: (
                rewritten("`step=…`, rounded to the decimals of the step; under `log` the nearest step"),
                OVERSIZED,
            ),
            Construct.CONDITIONS: (
                rewritten("an `if` of the function: a hyperparameter is asked for only where its condition holds"),
                BELOW_CHOICES,
                TOO_ENTANGLED,
            ),
            Construct.DEFAULTS: (approximated("optuna has no defaults; enqueue `default` with `enqueue_trial`"),),
            Construct.SETS: (exact("`suggest_categorical`, with strings for values that optuna cannot tell apart"),),
            Construct.RULES_ON_VALUES: (NESTED, BOUNDED, TOO_ENTANGLED),
        }
    )

    relations: RelationsOption = option("auto", RELATIONS_DOC)

    def lower(self, structures: Structures) -> _lowering.LoweringResult["OptunaFunction", Parameters]:
        """Return the function for the space of the structures; optuna itself is imported when it is first needed."""
        return lower_by_relations(self, structures, self._lower, partial(self._lower, use_bounds=True))

    def _lower(
        self, reduction: QuantileReduction, *, use_bounds: bool = False
    ) -> _lowering.LoweringResult["OptunaFunction", Parameters]:
        structures = reduction.reduced
        unfolded = partial(unfold_with_guards, is_testable=is_testable)
        can_vary = can_have_varying_bounds if use_bounds else None
        named = build_questions(
            structures, accepts, self.preserves, unfolded=unfolded, varying_bounds=True, can_vary=can_vary
        )
        bounded = named.bounded_constraints
        if self.relations == "native":
            refuse_other_relations(structures.space, bounded, self.preserves)
        findings = (*unfolded_condition_findings(named, BELOW_CHOICES), *constraint_findings(bounded, BOUNDED))
        report = [*build_report(named, self.preserves, findings), names_entry(named), *even_draws_entries(named)]
        if bounded:
            report.append(relations_entry("native", bounded, "by bounds that depend on earlier values"))
        form = OptunaFunction(named, reduction)
        return _lowering.LoweringResult(
            form, form.encode, form.decode, form.accepts, form.sample, report_of_original(reduction, report)
        )


class OptunaFunction(LibraryFunctionForm):
    """A function that asks trials of optuna for configurations."""

    def __init__(self, named: Questions, reduction: QuantileReduction) -> None:
        """Make the function from the questions of a reduced space; optuna is imported only to build trials."""
        super().__init__(named, reduction)
        self._question_codes: dict[int, py.Code] = {}
        draws = (each for draw in named.draws.values() for each in draw.questions.values())
        self._own_questions = {*named.forks, *map(id, draws)}
        self._labels = {n: labels_of(each) for n, each in named.by_name.items() if not isinstance(each, DrawnPiece)}

    def native(self, trial: Any) -> dict[str, Value]:
        """Ask a trial for a configuration and return it as a dictionary; to be called by an objective."""

        def answer(name: str, question: Question) -> Any:
            found = py.evaluate(self._question_code(name, question), {"trial": trial, "round": round})
            # Optuna returns NumPy numbers near the ends of ranges.
            return to_python_scalar(found) if isinstance(question, DrawnPiece) else self._labels[name].index(found)

        found = self.questions.ask_values(answer)
        return dict(self.reduction.decode(Configuration(found))) if self.reduction.groups else found

    def encode(self, configuration: Configuration) -> Parameters:
        """Return the parameters of a trial that gives a member."""
        answers, labels = self.questions.encode(self.reduction.encode(configuration)), self._labels
        return {name: labels[name][answer] if name in labels else answer for name, answer in answers.items()}

    def decode(self, parameters: Mapping[str, Any]) -> Configuration:
        """Return the member of a trial with these parameters; raise ValueError for missing or invalid ones."""
        return Configuration(self.native(import_optional("optuna").trial.FixedTrial(dict(parameters))))

    def accepts(self, parameters: Mapping[str, Any]) -> bool:
        """Return True if a trial can have exactly these parameters, with none missing or superfluous."""
        trial = import_optional("optuna").trial.FixedTrial(dict(parameters))
        try:
            # Optuna only warns about values outside a distribution.
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.native(trial)
        except (ValueError, TypeError, UserWarning):
            return False
        return set(trial.params) == set(parameters)

    def sample(self, count: int, rng: "Generator") -> list[Parameters]:
        """Return the parameters of `count` trials of a study with the random sampler of optuna."""
        optuna = import_optional("optuna")
        sampler = optuna.samplers.RandomSampler(seed=int(rng.integers(2**31 - 1)))
        with silence_optuna(optuna):
            study = optuna.create_study(sampler=sampler)
        trials = [study.ask() for _ in range(count)]
        for trial in trials:
            self.native(trial)
        return [dict(trial.params) for trial in trials]

    def to_python(self) -> str:
        """Return a module with `suggest(trial)`, `decode(parameters)` and a `default` trial; it needs optuna only."""
        head = f'"""The search space `{py.docstring_safe_line(self.questions.space.name)}` for optuna."""'
        advice = "# The default configuration, for `study.enqueue_trial(default)`.\n"
        default = advice + py.assignment_source("default", py.literal_dict(self.default))
        imports = [FLOAT_BOUNDS_SOURCE] if needs_float_bounds(self.questions.varying_ranges.values()) else []
        writer = FunctionWriter(self.questions, "suggest", "trial", self._question_code, self._bounded_code)
        restored = quantile_source(self.reduction)
        written = writer.functions(
            "Ask a trial of optuna for a configuration.", "values_of(found)" if restored else "found"
        )
        return "\n\n\n".join([head, *imports, *restored, default, *written, DECODE])

    def _bounded_code(self, name: str, varying: VaryingRange, known: frozenset[str]) -> py.Code:
        return BoundedSuggestion(name, varying, self.questions.space, known).code

    def _question_code(self, name: str, question: Question) -> py.Code:
        if id(question) not in self._own_questions:  # a range whose bounds depend on earlier values
            return suggest_call_code(name, question)
        if id(question) not in self._question_codes:
            self._question_codes[id(question)] = suggest_call_code(name, question)
        return self._question_codes[id(question)]

    def sampling_function_names(self, part: Fork | FreeHyperparameter) -> str:
        """Return the names of the trial methods that suggest a part."""
        if isinstance(part, Fork):
            return "suggest_categorical"
        asked = self.questions.draws[id(part)].questions
        return ", ".join(dict.fromkeys(describe_suggest_call(self._question_code(*each)) for each in asked.items()))


@contextmanager
def silence_optuna(optuna: Any) -> Iterator[None]:
    """Suppress optuna log messages below errors, and its warnings about experimental features."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(verbosity)

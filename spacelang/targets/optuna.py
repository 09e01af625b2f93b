"""The target `optuna`: a define-by-run function `suggest(trial)` that asks an optuna trial for a configuration.

Each question depends on the previous answers, so that conditions and constraints hold and every answer is a member.
Each hyperparameter has one name, under which a trial is always asked for the same distribution. Where constraints
narrow a range, its bounds vary; where they narrow a set or a decision, each selection has a name of its own, because
optuna does not accept different choices under one name. With `relations=rejection` nothing is narrowed. A use of a
chain has the same names for any number of uses. An encoding is the parameter dictionary of a trial, as `FixedTrial` and
`study.enqueue_trial` take it.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from spacelang.errors import import_optional
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain
from spacelang.ir.domain_properties import has_distinct_scalars
from spacelang.ir.value import Value, to_python_scalar
from spacelang.plugins import option
from spacelang.reductions.case_splits import (
    CaseSplit,
    IndependentHyperparameter,
)
from spacelang.reductions.domain_reductions import split_into_simple
from spacelang.reductions.guarded_case_splits import unfold_with_condition_guards
from spacelang.reductions.quantile_reduction import QuantileReduction
from spacelang.reductions.relation_groups import without_constraints
from spacelang.reductions.space_questions import DrawnPiece, Question, Questions
from spacelang.reductions.varying_bounds import VaryingRange
from spacelang.solver.counting import Structures
from spacelang.targets import _lowering
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.library_function_forms import LibraryFunctionForm
from spacelang.targets._exports.optuna_calls import (
    EXACT_SOURCE,
    BoundedSuggestion,
    describe_suggest_call,
    suggest_call_code,
)
from spacelang.targets._exports.question_functions import QuestionFunctionWriter, case_labels
from spacelang.targets._exports.rejection_constraints import (
    PRUNING,
    RejectionConstraints,
    can_be_tested,
    violations_source,
)
from spacelang.targets._exports.value_tests import is_testable
from spacelang.targets._lowering import OVERSIZED, Construct, PreservationTable, approximated, exact, rewritten
from spacelang.targets._random_draws import (
    ACTIVITY_FIRST,
    CONNECTED_IN_TURN,
    REPEATED_REASON,
    DeviationReason,
    RandomDrawDeclaration,
    keys_of_constrained_variables,
    keys_of_hyperparameters_with,
)
from spacelang.targets._reduction_chain import (
    BELOW_CHOICES,
    EVENLY,
    NESTED,
    TOO_ENTANGLED,
    build_questions,
    build_report,
    constraint_findings,
    name_count_entry,
    preserved_by_reductions,
    unfolded_condition_findings,
)
from spacelang.targets._relations import (
    NOT_IN_PYTHON,
    REJECTED,
    RELATIONS_DOC,
    TOO_RARE,
    Lowering,
    RelationsOption,
    is_relation,
    lower_by_relations,
    quantile_decoder_source,
    refuse_other_relations,
    relations_report_entry,
    translate_report_to_original,
    with_quantile_verdicts,
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
    """Return True for closed ranges, integers, grids of few floats, and unordered sets of distinct values.

    Sets with tuples are not accepted, and none that has both `true` and 1, which are one value for optuna.
    """
    match part:
        case Ordinal():
            return False
        case Categorical():
            return has_distinct_scalars(part)
        case Grid():
            return part.is_integral or part.size <= MAX_FLOAT_STEPS
        case Real():
            return not part.is_open


def can_have_varying_bounds(each: VaryingRange) -> bool:
    """Return True if optuna can draw from any part of the range that its limits may leave."""
    if isinstance(each.domain, Grid):
        return accepts(each.domain) and not _is_stepped_log(each.domain)
    return len(split_into_simple(each.domain)) == 1


def _is_stepped_log(part: SimpleDomain) -> bool:
    return isinstance(part, Grid) and part.log and part.step != 1


@dataclass(frozen=True, slots=True)
class Optuna:
    """A define-by-run function that asks a trial of optuna for a configuration, parameter by parameter."""

    paper: ClassVar[str] = "Akiba et al., Optuna: A Next-generation Hyperparameter Optimization Framework, KDD 2019"

    random_draws: ClassVar[RandomDrawDeclaration] = RandomDrawDeclaration(
        "`RandomSampler`",
        (
            EVENLY,
            DeviationReason(
                REPEATED_REASON,
                lambda form: keys_of_constrained_variables(form.questions.structures) if form.prunes_violations else (),
            ),
            CONNECTED_IN_TURN,
            ACTIVITY_FIRST,
            DeviationReason(
                "steps on a log scale are rounded",
                lambda form: keys_of_hyperparameters_with(form.questions.space, _is_stepped_log),
            ),
        ),
    )

    default_relations: ClassVar[tuple[Lowering, ...]] = ("native", "quantiles")

    preserves: ClassVar[PreservationTable] = with_quantile_verdicts(
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
            Construct.RULES_ON_DECISIONS: (NESTED, REJECTED, TOO_ENTANGLED, TOO_RARE),
            Construct.RULES_ON_VALUES: (NESTED, BOUNDED, REJECTED, TOO_ENTANGLED, TOO_RARE, NOT_IN_PYTHON),
        }
    )

    relations: RelationsOption = option("auto", RELATIONS_DOC)

    def lower(self, structures: Structures) -> _lowering.LoweringResult["OptunaFunction", Parameters]:
        """Return the function for the space of the structures; optuna itself is imported when it is first needed."""
        bounded = partial(self._lower, can_vary=can_have_varying_bounds)
        return lower_by_relations(self, structures, self._lower, bounded, self._reject)

    def _lower(
        self, reduction: QuantileReduction, *, can_vary: Callable[[VaryingRange], bool] | None = None
    ) -> _lowering.LoweringResult["OptunaFunction", Parameters]:
        unfolded = partial(unfold_with_condition_guards, is_testable=is_testable)
        structures = reduction.reduced_structures
        named = build_questions(
            structures, accepts, self.preserves, unfolded=unfolded, sharing="ranges", can_vary=can_vary
        )
        bounded = named.bounded_constraints
        if self.relations == "native":
            refuse_other_relations(structures.space, bounded, self.preserves)
        how = "expressed by bounds that depend on earlier values"
        entries = [relations_report_entry("native", bounded, how)] if bounded else []
        return self._result(OptunaFunction(named, reduction), constraint_findings(bounded, BOUNDED), entries)

    def _reject(self, reduction: QuantileReduction) -> _lowering.LoweringResult["OptunaFunction", Parameters]:
        """Compile a space so that trials that violate a constraint are pruned, instead of never drawn.

        Constraints that the function cannot test are unfolded into cases, or refused if they are relations.
        """
        space = reduction.structures.space
        rejected = RejectionConstraints(space, tuple(rule for rule in space.constraints if can_be_tested(rule, space)))
        untestable = [rule for rule in space.constraints if is_relation(rule) and rule not in rejected.constraints]
        if untestable:
            _lowering.make_report(space, self.preserves, constraint_findings(untestable, NOT_IN_PYTHON))
        free = without_constraints(reduction.structures, rejected.constraints)
        unfolded = unfold_with_condition_guards(free, is_testable)
        named = build_questions(
            reduction.structures, accepts, self.preserves, unfolded=lambda _: unfolded, sharing="ranges"
        )
        share = rejected.member_share(named)
        if not share:
            _lowering.make_report(space, self.preserves, constraint_findings(rejected.constraints, TOO_RARE))
        entry = relations_report_entry(
            "rejection",
            rejected.constraints,
            f"tested after each draw; a share of {share:.2g} of the draws satisfies them",
        )
        form = OptunaFunction(named, reduction, rejected)
        return self._result(form, constraint_findings(rejected.constraints, REJECTED), [entry])

    def _result(
        self, form: "OptunaFunction", findings: Iterable[_lowering.Finding], entries: Sequence[_lowering.ReportEntry]
    ) -> _lowering.LoweringResult["OptunaFunction", Parameters]:
        named = form.questions
        found = build_report(named, self.preserves, (*unfolded_condition_findings(named, BELOW_CHOICES), *findings))
        report = (*found, name_count_entry(named), *entries)
        whole = translate_report_to_original(form.reduction, report)
        return _lowering.LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, whole)


class OptunaFunction(LibraryFunctionForm):
    """A function that asks trials of optuna for configurations."""

    def __init__(
        self, named: Questions, reduction: QuantileReduction, rejected: RejectionConstraints | None = None
    ) -> None:
        """Make the function from the questions of a reduced space; trials that violate `rejected` are pruned."""
        super().__init__(named, reduction)
        self._rejected = rejected
        self._question_codes: dict[int, py.Code] = {}
        draws = (each for draw in named.draws.values() for each in draw.questions.values())
        self._own_questions = {*named.forks, *map(id, draws)}
        self._labels = {n: case_labels(each) for n, each in named.by_name.items() if not isinstance(each, DrawnPiece)}

    def native(self, trial: Any) -> dict[str, Value]:
        """Ask a trial for a configuration and return it as a dictionary; to be called by an objective.

        Raise TrialPruned if the configuration violates a constraint, if constraints are expressed by rejection.
        """
        found = self._ask(trial)
        if self._rejected is not None:
            amounts = self._rejected.violations(Configuration(found))
            if hasattr(trial, "set_constraint"):  # Optuna 5
                for number, amount in enumerate(amounts, 1):
                    trial.set_constraint(f"relation {number}", amount)
            else:
                trial.set_user_attr("constraints", amounts)
            if any(amounts):
                raise import_optional("optuna").TrialPruned("a constraint of the search space is violated")
        return found

    def ask(self, study: Any) -> tuple[Any, dict[str, Value]]:
        """Ask a study for trials until one is a member of the space; return it with its configuration.

        Trials that are no member are reported to the study as pruned.
        """
        optuna = import_optional("optuna")
        while True:
            trial = study.ask()
            try:
                return trial, self.native(trial)
            except optuna.TrialPruned:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)

    def _ask(self, trial: Any) -> dict[str, Value]:
        def answer(name: str, question: Question) -> Any:
            found = py.evaluate(self._question_code(name, question), {"trial": trial, "round": round})
            # Optuna returns NumPy numbers near the ends of ranges.
            return to_python_scalar(found) if isinstance(question, DrawnPiece) else self._labels[name].index(found)

        found = self.questions.ask_values(answer)
        return dict(self.reduction.decode(Configuration(found))) if self.reduction.groups else found

    def encode(self, configuration: Configuration) -> Parameters:
        """Return the trial parameters with which the function returns a member."""
        answers, labels = self.questions.encode(self.reduction.encode(configuration)), self._labels
        return {name: labels[name][answer] if name in labels else answer for name, answer in answers.items()}

    def decode(self, parameters: Mapping[str, Any]) -> Configuration:
        """Return the member that the function returns for a trial with these parameters.

        Raise ValueError for missing or invalid ones.
        """
        return Configuration(self._ask(import_optional("optuna").trial.FixedTrial(dict(parameters))))

    def accepts(self, parameters: Mapping[str, Any]) -> bool:
        """Return True if a trial can have exactly these parameters, with none missing or superfluous."""
        trial = import_optional("optuna").trial.FixedTrial(dict(parameters))
        try:
            # Optuna only warns about values outside a distribution.
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = Configuration(self._ask(trial))
        except (ValueError, TypeError, UserWarning):
            return False
        is_allowed = self._rejected is None or not any(self._rejected.violations(found))
        return is_allowed and set(trial.params) == set(parameters)

    def sample(self, count: int, rng: "Generator") -> list[Parameters]:
        """Return the parameters of `count` trials of a study with the random sampler of optuna."""
        optuna = import_optional("optuna")
        sampler = optuna.samplers.RandomSampler(seed=int(rng.integers(2**31 - 1)))
        with silence_optuna(optuna):
            study = optuna.create_study(sampler=sampler)
            trials = [self.ask(study)[0] for _ in range(count)]
        return [dict(trial.params) for trial in trials]

    @property
    def prunes_violations(self) -> bool:
        """True if trials that violate a constraint are pruned."""
        return self._rejected is not None

    @property
    def function_line_count(self) -> int:
        """The number of lines of the functions that ask a trial."""
        return sum(each.count("\n") + 1 for each in self._functions)

    @cached_property
    def _functions(self) -> list[str]:
        result = "values_of(found)" if self.reduction.groups else "found"
        name = "suggest" if self._rejected is None else "ask"
        writer = QuestionFunctionWriter(self.questions, name, "trial", self._question_code, self._bounded_code)
        return writer.function_sources("Ask a trial of optuna for a configuration.", result)

    def to_python(self) -> str:
        """Return a module with `suggest(trial)`, `decode(parameters)` and a `default` trial; it needs optuna only."""
        head = f'"""The search space `{py.docstring_safe_line(self.questions.space.name)}` for optuna."""'
        advice = "# The default configuration, for `study.enqueue_trial(default)`.\n"
        default = advice + py.assignment_source("default", py.literal_dict(self.default))
        restored, written, decode = quantile_decoder_source(self.reduction), [*self._functions], DECODE
        if self._rejected is not None:
            written += [violations_source(self._rejected, self.questions.names), PRUNING]
            decode = decode.replace("suggest(", "ask(")
        needs_exact = any("_exactly(" in each or "nextafter(" in each for each in written)
        return "\n\n\n".join([head, *([EXACT_SOURCE] if needs_exact else []), *restored, default, *written, decode])

    def _bounded_code(self, name: str, varying: VaryingRange, known: frozenset[str]) -> py.Code:
        return BoundedSuggestion(name, varying, self.questions.space, known).code

    def _question_code(self, name: str, question: Question) -> py.Code:
        if id(question) not in self._own_questions:  # a range whose bounds depend on earlier values
            return suggest_call_code(name, question)
        if id(question) not in self._question_codes:
            self._question_codes[id(question)] = suggest_call_code(name, question)
        return self._question_codes[id(question)]

    def sampling_function_names(self, part: CaseSplit | IndependentHyperparameter) -> str:
        """Return the names of the trial methods that a part calls, such as `suggest_int`."""
        if isinstance(part, CaseSplit):
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

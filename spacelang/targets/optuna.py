"""The target `optuna`: a define-by-run function `suggest(trial)` that asks an optuna trial for a configuration.

Each question depends on the previous answers, so that conditions and constraints hold and every answer is a member.
Each hyperparameter has one name, under which a trial is always asked for the same distribution. Where constraints
narrow a range, its bounds vary; where they narrow a set, each of its parts has a name of its own. An encoding is the
parameter dictionary of a trial, as `FixedTrial` and `study.enqueue_trial` take it.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain
from spacelang.ir.space import Choice
from spacelang.ir.value import Value, to_python_scalar
from spacelang.optional_imports import import_optional
from spacelang.plugins import option
from spacelang.reductions.domains import split_into_simple
from spacelang.reductions.guarded_unfolding import unfold_with_guards
from spacelang.reductions.space_questions import DrawnPiece, Question, Questions
from spacelang.reductions.unfolding import (
    Case,
    Fork,
    FreeHyperparameter,
    Guard,
    Parts,
    RangeComparison,
    UnfoldedPart,
    ValueSwitch,
    all_parts,
    inner_parts,
)
from spacelang.reductions.varying_bounds import VaryingRange
from spacelang.solver.counting import Structures
from spacelang.targets import _lowering
from spacelang.targets._exports import python_nodes as py
from spacelang.targets._exports.library_function_forms import LibraryFunctionForm
from spacelang.targets._exports.optuna_bounds import FLOAT_BOUNDS_SOURCE, BoundedSuggestion, needs_float_bounds
from spacelang.targets._exports.optuna_calls import describe_suggest_call, draw_code, labels_of, suggest_call_code
from spacelang.targets._exports.python_conditions import FoundValueTests
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
    NO_SUCH_MEANS,
    RELATIONS_DOC,
    Lowering,
    RelationsOption,
    lower_by_relations,
    refuse_other_relations,
    relations_entry,
)
from spacelang.text import unique_name

if TYPE_CHECKING:
    from numpy.random import Generator

Parameters: TypeAlias = dict[str, Any]  # The parameters of a trial, by the names under which they were suggested
MAX_DEPTH: Final = 8  # The maximum nesting depth of statements in generated code
MIN_FUNCTION_PARTS: Final = 5  # Repeated parts with fewer parts inside are written repeatedly
Known: TypeAlias = frozenset[str]
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

    default_relations: ClassVar[tuple[Lowering, ...]] = ("native", "cases")

    preserves: ClassVar[PreservationTable] = {
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
        Construct.RULES_ON_VALUES: (NESTED, BOUNDED, TOO_ENTANGLED, NO_SUCH_MEANS),
    }

    relations: RelationsOption = option("auto", RELATIONS_DOC)

    def lower(self, structures: Structures) -> _lowering.LoweringResult["OptunaFunction", Parameters]:
        """Return the function for the space of the structures; optuna itself is imported when it is first needed."""
        return lower_by_relations(self, structures, self._lower)

    def _lower(
        self, structures: Structures, use_bounds: bool
    ) -> _lowering.LoweringResult["OptunaFunction", Parameters]:
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
        form = OptunaFunction(named)
        return _lowering.LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, tuple(report))


class OptunaFunction(LibraryFunctionForm):
    """A function that asks trials of optuna for configurations."""

    def __init__(self, named: Questions) -> None:
        """Make the function from questions; optuna is imported only to build trials."""
        super().__init__(named)
        self._question_codes: dict[int, py.Code] = {}
        self._labels = {n: labels_of(each) for n, each in named.by_name.items() if not isinstance(each, DrawnPiece)}

    def native(self, trial: Any) -> dict[str, Value]:
        """Ask a trial for a configuration and return it as a dictionary; to be called by an objective."""

        def answer(name: str, question: Question) -> Any:
            found = py.evaluate(self._question_code(name, question), {"trial": trial, "round": round})
            # Optuna returns NumPy numbers near the ends of ranges.
            return to_python_scalar(found) if isinstance(question, DrawnPiece) else self._labels[name].index(found)

        return self.questions.ask_values(answer)

    def encode(self, configuration: Configuration) -> Parameters:
        """Return the parameters of a trial that gives a member."""
        answers, labels = self.questions.encode(configuration), self._labels
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
        return "\n\n\n".join([head, *imports, default, *_SourceWriter(self).functions(), DECODE])

    def question_code_and_labels(self, fork: Fork) -> tuple[py.Code, tuple[str, ...]]:
        """Return the code that asks for the case of a fork of several, and the labels of the cases."""
        name = self.questions.forks[id(fork)]
        return self._question_code(name, fork), self._labels[name]

    def _question_code(self, name: str, question: Question) -> py.Code:
        if self.questions.by_name.get(name) is not question:
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


class _SourceWriter:
    """A writer of the function; parts that are used repeatedly or nested deeply become functions of their own."""

    def __init__(self, form: OptunaFunction) -> None:
        self._form, self._questions = form, form.questions
        self._tests = FoundValueTests(form.questions.space, form.questions.names)
        inside = [parts for part in form.questions.every_part for parts in inner_parts(part)]
        alternatives = (parts for parts in inside if len(parts) > 1)
        contents: Iterable[UnfoldedPart | Parts] = chain(form.questions.parts, *inside, alternatives)
        self._uses = Counter(contents)
        self._names: dict[UnfoldedPart | Parts, str] = {}
        self._written: list[str] = []

    def functions(self) -> list[str]:
        head = ["def suggest(trial):", '    """Ask a trial of optuna for a configuration."""', "    found = {}"]
        last = "\n".join([*head, *self._part_lines(self._questions.parts, 1, frozenset()), "    return found"])
        return [*self._written, last]

    def _part_lines(self, several: Parts, depth: int, known: Known) -> Iterator[str]:
        """Yield the lines of parts; `known` are the addresses of variables with a value in `found`."""
        for part in several:
            if isinstance(part, FreeHyperparameter):
                yield from self._value_lines(part, depth, known)
                known |= {part.node.address}
            elif self._is_function(part, depth):
                yield f"{'    ' * depth}{self._function_name(part)}(trial, found)"
            else:
                yield from self._lines_of(part, depth, known)
            if isinstance(part, Fork) and part.node is not None and all(case.branch is not None for case in part.cases):
                known |= {part.node.address}

    def _is_function(self, content: UnfoldedPart | Parts, depth: int = 0) -> bool:
        parts = content if isinstance(content, tuple) else (content,)
        if depth > MAX_DEPTH:
            return any(map(inner_parts, parts))
        return self._uses[content] > 1 and len([*islice(all_parts(parts), MIN_FUNCTION_PARTS)]) == MIN_FUNCTION_PARTS

    def _function_name(self, content: UnfoldedPart | Parts, title: str = "") -> str:
        if content not in self._names:
            if not isinstance(content, tuple):
                inner = next(each for each in all_parts((content,)) if isinstance(each, Fork | FreeHyperparameter))
                title = self._questions.forks.get(id(inner), self._questions.base_name(inner))
            word = "".join(c if c.isalnum() and c.isascii() else "_" for c in title)
            self._names[content] = name = unique_name(f"_suggest_{word}", {*self._names.values()}, "_")
            if isinstance(content, tuple):
                lines = self._part_lines(content, 1, frozenset())
            else:
                lines = self._lines_of(content, 1, frozenset())
            self._written.append("\n".join([f"def {name}(trial, found):", *lines]))
        return self._names[content]

    def _lines_of(self, part: UnfoldedPart, depth: int, known: Known) -> Iterator[str]:
        match part:
            case Guard():
                test = self._tests.condition(part.condition, known)
                yield from self._if_lines([(test, part.parts)], depth, known)
            case ValueSwitch():
                domains = ((case.domain, case.parts) for case in part.cases if case.domain is not None)
                tests = [(self._tests.value_within(part.node, domain), parts) for domain, parts in domains]
                yield from self._if_lines(tests, depth, known)
            case Fork() if len(part.cases) == 1:
                yield from self._case_lines(part, part.cases[0], depth, known)
            case Fork(node=Choice() as node) if all(case.branch is not None for case in part.cases):
                indent, entry = "    " * depth, f"found[{py.literal_source(node.key)}]"
                code, _ = self._form.question_code_and_labels(part)
                yield f"{indent}{entry} = {py.expression_source(code, len(indent), len(entry) + 3)}"
                tests = [(py.infix(self._tests.value(node), "==", case.branch), case.parts) for case in part.cases]
                labels = [f"{node.name}_{case.branch}" for case in part.cases]
                yield from self._if_lines(tests, depth, known | {node.address}, labels)
            case Fork():
                yield from self._match_lines(part, depth, known)
            case FreeHyperparameter() | RangeComparison():
                raise TypeError("a comparison of ranges cannot be asked for")

    def _if_lines(
        self, tests: Sequence[tuple[py.Code, Parts]], depth: int, known: Known, labels: Sequence[str] = ()
    ) -> Iterator[str]:
        indent, word = "    " * depth, "if"
        for place, (test, parts) in enumerate(tests):
            if labels and self._is_function(parts):
                body = [f"{indent}    {self._function_name(parts, labels[place])}(trial, found)"]
            else:
                body = [*self._part_lines(parts, depth + 1, known)]
            if body:
                yield f"{indent}{word} {py.expression_source(test, len(indent), len(word) + 2)}:"
                yield from body
                word = "elif"

    def _match_lines(self, fork: Fork, depth: int, known: Known) -> Iterator[str]:
        """Yield the lines of a choice between cases that are no branches."""
        indent = "    " * depth
        code, labels = self._form.question_code_and_labels(fork)
        told = zip(labels, fork.cases, strict=True)
        bodies = [(word, list(self._case_lines(fork, case, depth + 2, known))) for word, case in told]
        yield f"{indent}match {py.expression_source(code, len(indent), 7)}:"
        for word, body in bodies:
            yield f"{indent}    case {py.literal_source(word)}:"
            yield from body or [f"{indent}        pass"]

    def _case_lines(self, fork: Fork, case: Case, depth: int, known: Known) -> Iterator[str]:
        if isinstance(fork.node, Choice) and case.branch is not None:
            yield f"{'    ' * depth}found[{py.literal_source(fork.node.key)}] = {py.literal_source(case.branch)}"
            known |= {fork.node.address}
        yield from self._part_lines(case.parts, depth, known)

    def _value_lines(self, free: FreeHyperparameter, depth: int, known: Known) -> Iterator[str]:
        question, pieces = draw_code(self._questions.draws[id(free)])
        if (varying := self._questions.varying_ranges.get(free.node.address)) is not None:
            (piece,) = self._questions.draws[id(free)].pieces
            assert isinstance(piece, DrawnPiece)
            pieces = [("", BoundedSuggestion(piece.name, varying, self._questions.space, known).code)]
        indent, entry = "    " * depth, f"found[{py.literal_source(free.node.key)}]"
        if question is None:
            yield f"{indent}{entry} = {py.expression_source(pieces[0][1], len(indent), len(entry) + 3)}"
            return
        yield f"{indent}match {py.expression_source(question, len(indent), 7)}:"
        for word, code in pieces:
            yield f"{indent}    case {py.literal_source(word)}:"
            yield f"{indent}        {entry} = {py.expression_source(code, len(indent) + 8, len(entry) + 3)}"

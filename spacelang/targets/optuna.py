"""The target `optuna`: a define-by-run function `suggest(trial)` that asks an optuna trial for a configuration.

Each question depends on the previous answers, so that conditions and constraints hold and every answer is a member.
Each part of the unfolded space has its own name, under which a trial is always asked for the same distribution. An
encoding is the parameter dictionary of a trial, as `FixedTrial` and `study.enqueue_trial` take it.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice
from spacelang.ir.value import Value, to_python_scalar
from spacelang.optional_imports import import_optional
from spacelang.reductions.questions import DrawnPiece, Question, Questions
from spacelang.reductions.unfolding import Case, Fork, FreeHyperparameter, Parts
from spacelang.solver.counting import Structures
from spacelang.targets._constructs import Construct
from spacelang.targets._exports.optuna_questions import accepts, draw_code, labels_of, question_code, question_text
from spacelang.targets._exports.python_nodes import (
    Code,
    DictNode,
    LiteralNode,
    assignment_source,
    evaluate,
    expression_source,
    literal_source,
    one_line,
)
from spacelang.targets._exports.rendering import QuestionForm
from spacelang.targets._lowering import OVERSIZED, LoweringResult, PreservationTable, approximated, exact, rewritten
from spacelang.targets._reduction_chain import build_questions, build_report, preserved_by_reductions

if TYPE_CHECKING:
    from numpy.random import Generator

Parameters: TypeAlias = dict[str, Any]
"""The parameters of a trial, by the names under which they were suggested."""

MAX_MATCH_DEPTH: Final = 6
"""The maximum nesting depth of `match` statements in generated code."""


DECODE: Final = '''\
def decode(parameters):
    """Return the configuration of a trial with these parameters: `decode(study.best_params)`."""
    from optuna.trial import FixedTrial

    return suggest(FixedTrial(dict(parameters)))'''


@dataclass(frozen=True, slots=True)
class Optuna:
    """A define-by-run function that asks a trial of optuna for a configuration, parameter by parameter."""

    paper: ClassVar[str] = "Akiba et al., Optuna: A Next-generation Hyperparameter Optimization Framework, KDD 2019"

    preserves: ClassVar[PreservationTable] = {
        **preserved_by_reductions(accepts, "`suggest_categorical`"),
        Construct.FLOATS: (exact("`suggest_float`"),),
        Construct.INTEGERS: (exact("`suggest_int`"), OVERSIZED),
        Construct.LOG: (exact("`log=True`"),),
        Construct.STEPS: (
            rewritten("`step=…`, rounded to the decimals of the step; under `log` the nearest step"),
            OVERSIZED,
        ),
        Construct.DEFAULTS: (approximated("optuna has no defaults; enqueue `default` with `enqueue_trial`"),),
        Construct.SETS: (exact("`suggest_categorical`, of strings where optuna cannot tell the values apart"),),
    }

    def lower(self, structures: Structures) -> LoweringResult["OptunaFunction", Parameters]:
        """Return the function for the space of the structures; optuna itself is imported when it is first needed."""
        named = build_questions(structures, accepts, self.preserves)
        report = build_report(named, self.preserves)
        form = OptunaFunction(named)
        return LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, report)


class OptunaFunction(QuestionForm):
    """A function that asks trials of optuna for configurations."""

    def __init__(self, named: Questions) -> None:
        """Make the function from questions; optuna is imported only to build trials."""
        super().__init__(named)
        self._question_codes = {name: question_code(name, question) for name, question in named.by_name.items()}
        self._labels = {n: labels_of(each) for n, each in named.by_name.items() if not isinstance(each, DrawnPiece)}

    def native(self, trial: Any) -> dict[str, Value]:
        """Ask a trial for a configuration and return it as a dictionary; to be called by an objective."""

        def answer(name: str, question: Question) -> Any:
            found = evaluate(self._question_codes[name], {"trial": trial, "round": round})
            if not isinstance(question, DrawnPiece):
                return self._labels[name].index(found)
            # Optuna returns NumPy numbers near the ends of ranges.
            return to_python_scalar(found)

        return self.questions.ask_values(answer)

    def encode(self, configuration: Configuration) -> Parameters:
        """Return the parameters of a trial that gives a member."""
        return {
            name: self._labels[name][answer] if name in self._labels else answer
            for name, answer in self.questions.encode(configuration).items()
        }

    def decode(self, parameters: Mapping[str, Any]) -> Configuration:
        """Return the member of a trial with these parameters; raise ValueError for missing or invalid ones."""
        return Configuration(self.native(import_optional("optuna").trial.FixedTrial(dict(parameters))))

    def accepts(self, parameters: Mapping[str, Any]) -> bool:
        """Return True if a trial can have exactly these parameters.

        Each value must be in its distribution, and no parameter may be missing or superfluous.
        """
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
        default = DictNode(tuple((name, LiteralNode(value)) for name, value in self.default.items()))
        blocks = [
            f'"""The search space `{one_line(self.questions.space.name)}` for optuna."""',
            "# The default configuration, for `study.enqueue_trial(default)`.\n"
            + assignment_source("default", default),
            *_SourceWriter(self).functions(),
            DECODE,
        ]
        return "\n\n\n".join(blocks)

    def case_labels(self, fork: Fork) -> tuple[str, ...]:
        """Return the labels of the cases of a fork; the fork must have several cases."""
        return self._labels[self.questions.forks[id(fork)]]

    def question_code(self, fork: Fork) -> Code:
        """Return the code that asks for the case of a fork."""
        return self._question_codes[self.questions.forks[id(fork)]]

    def sampling_function_names(self, part: Fork | FreeHyperparameter) -> str:
        """Return the names of the trial methods that suggest a part."""
        if isinstance(part, Fork):
            return "suggest_categorical"
        return ", ".join(
            dict.fromkeys(
                question_text(self._question_codes[name]) for name in self.questions.draws[id(part)].questions
            )
        )


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
    """A writer of the function as source.

    Forks that are used in several places or nested deeply become functions of their own.
    """

    def __init__(self, form: OptunaFunction) -> None:
        self._form = form
        cases = [case.parts for part in form.questions.every_part if isinstance(part, Fork) for case in part.cases]
        self._uses = Counter(id(part) for parts in (form.questions.parts, *cases) for part in parts)
        self._names: dict[int, str] = {}
        self._written: list[str] = []

    def functions(self) -> list[str]:
        """Return the source of every function, `suggest` last."""
        head = ["def suggest(trial):", '    """Ask a trial of optuna for a configuration."""', "    found = {}"]
        last = "\n".join([*head, *self._part_lines(self._form.questions.parts, 1), "    return found"])
        return [*self._written, last]

    def _part_lines(self, several: Parts, depth: int) -> Iterator[str]:
        for part in several:
            if isinstance(part, FreeHyperparameter):
                yield from self._value_lines(part, depth)
            elif isinstance(part, Fork):
                is_choice = id(part) in self._form.questions.forks
                if is_choice and (self._uses[id(part)] > 1 or depth > MAX_MATCH_DEPTH):
                    yield f"{'    ' * depth}{self._function_name(part)}(trial, found)"
                else:
                    yield from self._fork_lines(part, depth)

    def _function_name(self, fork: Fork) -> str:
        if id(fork) not in self._names:
            word = "".join(c if c.isalnum() and c.isascii() else "_" for c in self._form.questions.forks[id(fork)])
            name = f"_{word}"
            while name in self._names.values():
                name += "_"
            self._names[id(fork)] = name
            self._written.append("\n".join([f"def {name}(trial, found):", *self._fork_lines(fork, 1)]))
        return self._names[id(fork)]

    def _fork_lines(self, fork: Fork, depth: int) -> Iterator[str]:
        indent = "    " * depth
        if len(fork.cases) == 1:
            yield from self._case_lines(fork, fork.cases[0], depth)
            return
        question = expression_source(self._form.question_code(fork), len(indent), 20)
        told = list(zip(self._form.case_labels(fork), fork.cases, strict=True))
        if isinstance(fork.node, Choice) and all(case.branch is not None for case in fork.cases):
            entry = f"found[{literal_source(fork.node.key)}]"
            yield f"{indent}{entry} = {expression_source(self._form.question_code(fork), len(indent), len(entry) + 3)}"
            bodies = [(word, list(self._part_lines(case.parts, depth + 2))) for word, case in told]
            question = entry
        else:
            bodies = [(word, list(self._case_lines(fork, case, depth + 2))) for word, case in told]
        if any(body for _, body in bodies):
            yield f"{indent}match {question}:"
        for word, body in bodies:
            if body:
                yield f"{indent}    case {literal_source(word)}:"
                yield from body

    def _case_lines(self, fork: Fork, case: Case, depth: int) -> Iterator[str]:
        if isinstance(fork.node, Choice) and case.branch is not None:
            yield f"{'    ' * depth}found[{literal_source(fork.node.key)}] = {literal_source(case.branch)}"
        yield from self._part_lines(case.parts, depth)

    def _value_lines(self, free: FreeHyperparameter, depth: int) -> Iterator[str]:
        question, pieces = draw_code(self._form.questions.draws[id(free)])
        indent, entry = "    " * depth, f"found[{literal_source(free.node.key)}]"
        if question is None:
            yield f"{indent}{entry} = {expression_source(pieces[0][1], len(indent), len(entry) + 3)}"
            return
        yield f"{indent}match {expression_source(question, len(indent), 7)}:"
        for word, code in pieces:
            yield f"{indent}    case {literal_source(word)}:"
            yield f"{indent}        {entry} = {expression_source(code, len(indent) + 8, len(entry) + 3)}"

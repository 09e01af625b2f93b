"""The target `optuna`: a function `suggest(trial)` that asks a trial of optuna for a configuration, define-by-run.

What is asked depends on what was answered before, so that conditions and constraints are kept and every answer is a
member. Each part of the unfolded space has a name of its own, under which a trial is always asked for the same
distribution. An encoding is the dictionary of a trial's parameters, as `FixedTrial` and `study.enqueue_trial` take it.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice
from spacelang.ir.value import Value, plain
from spacelang.optional import library
from spacelang.reductions.questions import Question, Questions, Slot
from spacelang.reductions.unfolding import Case, Fork, Free, Parts
from spacelang.solver.counting import Structures
from spacelang.targets._chain import keeps_of, questions, reported
from spacelang.targets._constructs import Construct
from spacelang.targets._exports.optuna_questions import accepts, asked, asking, question_of, words_of
from spacelang.targets._exports.python import Code, Keyed, Literal, evaluated, expression, one_line, source, text
from spacelang.targets._exports.showing import QuestionForm
from spacelang.targets._lowered import GIANT, Keeps, Lowered, approximated, exact, rewritten

if TYPE_CHECKING:
    from numpy.random import Generator

Parameters: TypeAlias = dict[str, Any]
"""What a trial answered, by the name that it was asked under."""

DEEP: Final = 6
"""So many `match` statements stand within each other at most."""


DECODE: Final = '''\
def decode(parameters):
    """The configuration of a trial that has these parameters: `decode(study.best_params)`."""
    from optuna.trial import FixedTrial

    return suggest(FixedTrial(dict(parameters)))'''


@dataclass(frozen=True, slots=True)
class Optuna:
    """A define-by-run function of optuna: it asks a trial for a configuration, one part after another."""

    paper: ClassVar[str] = "Akiba et al., Optuna: A Next-generation Hyperparameter Optimization Framework, KDD 2019"

    keeps: ClassVar[Keeps] = {
        **keeps_of(accepts, "`suggest_categorical`"),
        Construct.FLOATS: (exact("`suggest_float`"),),
        Construct.INTEGERS: (exact("`suggest_int`"), GIANT),
        Construct.LOG: (exact("`log=True`"),),
        Construct.STEPS: (
            rewritten("`step=…`, rounded to the decimals of the step; under `log` the nearest step"),
            GIANT,
        ),
        Construct.DEFAULTS: (approximated("optuna knows none; `default` is a trial for `enqueue_trial`"),),
        Construct.SETS: (exact("`suggest_categorical`, of the words for values that optuna does not tell apart"),),
    }

    def lower(self, structures: Structures) -> Lowered["OptunaFunction", Parameters]:
        """The function for the space of the structures; optuna itself is imported when it is first needed."""
        named = questions(structures, accepts, self.keeps)
        report = reported(named, self.keeps)
        form = OptunaFunction(named)
        return Lowered(form, form.encode, form.decode, form.reaches, form.sample, report)


class OptunaFunction(QuestionForm):
    """What asks trials of optuna for configurations."""

    def __init__(self, named: Questions) -> None:
        """The function over questions; it needs optuna only to make trials of its own."""
        super().__init__(named)
        self._asking = {name: asking(name, question) for name, question in named.by_name.items()}
        self._words = {n: words_of(each) for n, each in named.by_name.items() if not isinstance(each, Slot)}

    def native(self, trial: Any) -> dict[str, Value]:
        """The configuration that a trial answers, as a dictionary; to be called by an objective."""

        def answer(name: str, question: Question) -> Any:
            found = evaluated(self._asking[name], {"trial": trial, "round": round})
            if not isinstance(question, Slot):
                return self._words[name].index(found)
            # Optuna answers with NumPy's numbers near the ends of ranges.
            return plain(found)

        return self.named.ask(answer)

    def encode(self, configuration: Configuration) -> Parameters:
        """The parameters of a trial that answers a member."""
        return {
            name: self._words[name][answer] if name in self._words else answer
            for name, answer in self.named.encode(configuration).items()
        }

    def decode(self, parameters: Mapping[str, Any]) -> Configuration:
        """The member that a trial with these parameters answers; raises ValueError where one is missing or unknown."""
        return Configuration(self.native(library("optuna").trial.FixedTrial(dict(parameters))))

    def reaches(self, parameters: Mapping[str, Any]) -> bool:
        """Whether a trial can have exactly these parameters: each within its distribution, none too many or missing."""
        trial = library("optuna").trial.FixedTrial(dict(parameters))
        try:
            # Optuna only warns of parameters that a distribution does not contain.
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.native(trial)
        except (ValueError, TypeError, UserWarning):
            return False
        return set(trial.params) == set(parameters)

    def sample(self, count: int, rng: "Generator") -> list[Parameters]:
        """The parameters of so many trials of a study with optuna's own random sampler."""
        optuna = library("optuna")
        sampler = optuna.samplers.RandomSampler(seed=int(rng.integers(2**31 - 1)))
        with quiet(optuna):
            study = optuna.create_study(sampler=sampler)
        trials = [study.ask() for _ in range(count)]
        for trial in trials:
            self.native(trial)
        return [dict(trial.params) for trial in trials]

    def to_python(self) -> str:
        """A module with `suggest(trial)`, `decode(parameters)` and a `default` trial; it needs nothing but optuna."""
        default = Keyed(tuple((name, Literal(value)) for name, value in self.default.items()))
        blocks = [
            f'"""The search space `{one_line(self.named.space.name)}` for optuna."""',
            "# The default configuration, for `study.enqueue_trial(default)`.\n" + source("default", default),
            *_Source(self).functions(),
            DECODE,
        ]
        return "\n\n\n".join(blocks)

    def words(self, fork: Fork) -> tuple[str, ...]:
        """What the cases of a fork with several of them are called."""
        return self._words[self.named.forks[id(fork)]]

    def question(self, fork: Fork) -> Code:
        """What asks for the case of a fork."""
        return self._asking[self.named.forks[id(fork)]]

    def says(self, part: Fork | Free) -> str:
        """What a trial is asked for it."""
        if isinstance(part, Fork):
            return "suggest_categorical"
        return ", ".join(
            dict.fromkeys(question_of(self._asking[name]) for name in self.named.draws[id(part)].questions)
        )


@contextmanager
def quiet(optuna: Any) -> Iterator[None]:
    """Have optuna log errors only, and warn of nothing that is an experiment."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(verbosity)


class _Source:
    """The function as source: what is asked in several places, or deep inside, is a function of its own."""

    def __init__(self, form: OptunaFunction) -> None:
        self._form = form
        cases = [case.parts for part in form.named.all if isinstance(part, Fork) for case in part.cases]
        self._uses = Counter(id(part) for parts in (form.named.parts, *cases) for part in parts)
        self._names: dict[int, str] = {}
        self._written: list[str] = []

    def functions(self) -> list[str]:
        """The source of every function, `suggest` last."""
        head = ["def suggest(trial):", '    """The configuration that a trial answers."""', "    found = {}"]
        last = "\n".join([*head, *self._lines(self._form.named.parts, 1), "    return found"])
        return [*self._written, last]

    def _lines(self, several: Parts, depth: int) -> Iterator[str]:
        for part in several:
            if isinstance(part, Free):
                yield from self._value(part, depth)
            elif isinstance(part, Fork):
                is_choice = id(part) in self._form.named.forks
                if is_choice and (self._uses[id(part)] > 1 or depth > DEEP):
                    yield f"{'    ' * depth}{self._function(part)}(trial, found)"
                else:
                    yield from self._fork(part, depth)

    def _function(self, fork: Fork) -> str:
        if id(fork) not in self._names:
            word = "".join(c if c.isalnum() and c.isascii() else "_" for c in self._form.named.forks[id(fork)])
            name = f"_{word}"
            while name in self._names.values():
                name += "_"
            self._names[id(fork)] = name
            self._written.append("\n".join([f"def {name}(trial, found):", *self._fork(fork, 1)]))
        return self._names[id(fork)]

    def _fork(self, fork: Fork, depth: int) -> Iterator[str]:
        indent = "    " * depth
        if len(fork.cases) == 1:
            yield from self._case(fork, fork.cases[0], depth)
            return
        question = expression(self._form.question(fork), len(indent), 20)
        told = list(zip(self._form.words(fork), fork.cases, strict=True))
        if isinstance(fork.node, Choice) and all(case.branch is not None for case in fork.cases):
            entry = f"found[{text(fork.node.key)}]"
            yield f"{indent}{entry} = {expression(self._form.question(fork), len(indent), len(entry) + 3)}"
            bodies = [(word, list(self._lines(case.parts, depth + 2))) for word, case in told]
            question = entry
        else:
            bodies = [(word, list(self._case(fork, case, depth + 2))) for word, case in told]
        if any(body for _, body in bodies):
            yield f"{indent}match {question}:"
        for word, body in bodies:
            if body:
                yield f"{indent}    case {text(word)}:"
                yield from body

    def _case(self, fork: Fork, case: Case, depth: int) -> Iterator[str]:
        if isinstance(fork.node, Choice) and case.branch is not None:
            yield f"{'    ' * depth}found[{text(fork.node.key)}] = {text(case.branch)}"
        yield from self._lines(case.parts, depth)

    def _value(self, free: Free, depth: int) -> Iterator[str]:
        question, pieces = asked(self._form.named.draws[id(free)])
        indent, entry = "    " * depth, f"found[{text(free.node.key)}]"
        if question is None:
            yield f"{indent}{entry} = {expression(pieces[0][1], len(indent), len(entry) + 3)}"
            return
        yield f"{indent}match {expression(question, len(indent), 7)}:"
        for word, code in pieces:
            yield f"{indent}    case {text(word)}:"
            yield f"{indent}        {entry} = {expression(code, len(indent) + 8, len(entry) + 3)}"

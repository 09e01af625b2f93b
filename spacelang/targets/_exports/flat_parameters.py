"""Compiled spaces as flat parameters, for libraries whose spaces have no conditions: every trial has all parameters.

The function `decode` of such a form asks the questions of the space, and reads only the parameters that are active.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, TypeVar

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain, contains
from spacelang.ir.space import Choice
from spacelang.ir.value import is_number, to_python_scalar
from spacelang.reductions.case_splits import CaseSplit, IndependentHyperparameter
from spacelang.reductions.guarded_case_splits import unfold_with_condition_guards
from spacelang.reductions.quantile_reduction import QuantileReduction
from spacelang.reductions.space_questions import DrawnPiece, Question, Questions
from spacelang.solver.counting import Structures
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.library_function_forms import LibraryFunctionForm
from spacelang.targets._exports.question_functions import QuestionFunctionWriter, case_labels
from spacelang.targets._exports.value_tests import is_testable
from spacelang.targets._lowering import LoweringResult, rewritten
from spacelang.targets._reduction_chain import (
    BELOW_CHOICES,
    TOO_ENTANGLED,
    build_questions,
    build_report,
    name_count_entry,
    unfolded_condition_findings,
)
from spacelang.targets._relations import (
    RelationsTarget,
    lower_by_relations,
    quantile_decoder_source,
    translate_report_to_original,
)
from spacelang.text import unique_name

if TYPE_CHECKING:
    from numpy.random import Generator

Values: TypeAlias = dict[str, Any]
"""The values of all parameters by name; `decode` ignores those that are not active."""
IGNORED: Final = (
    rewritten("every parameter is drawn; `decode` ignores those whose condition does not hold"),
    BELOW_CHOICES,
    TOO_ENTANGLED,
)
"""The verdicts on conditions."""
_ROUNDING: Final = 1e-12  # The relative error with which libraries compute the ends of ranges on a log scale


@dataclass(frozen=True, slots=True)
class FlatParameter:
    """A parameter of a library: `code` makes it, and `answer` turns its value into the answer to a question.

    The answer is the label of a case or piece, or a member of the domain from which the question draws.
    """

    name: str
    code: py.Code
    answer: py.Code
    can_be: Callable[[Any], bool]  # True for the values that the library may give the parameter
    exponent: int = 0  # Values are multiplied by 2 to this power in the library


F = TypeVar("F", bound="FlatParameters")


def lower_to_flat_parameters(
    target: RelationsTarget,
    structures: Structures,
    accepts: Callable[[SimpleDomain], bool],
    make_form: Callable[[Questions, QuantileReduction], F],
) -> LoweringResult[F, Values]:
    """Compile a space for a target whose library draws all parameters in every trial.

    `accepts` returns True for the domains from which the library can draw, and `make_form` makes the form.
    """
    unfolded = partial(unfold_with_condition_guards, is_testable=is_testable)
    keeps = target.preserves

    def lower(reduction: QuantileReduction) -> LoweringResult[F, Values]:
        named = build_questions(reduction.reduced_structures, accepts, keeps, unfolded=unfolded, sharing="answers")
        report = build_report(named, keeps, unfolded_condition_findings(named, BELOW_CHOICES))
        form = make_form(named, reduction)
        entries = translate_report_to_original(reduction, (*report, name_count_entry(named)))
        return LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, entries)

    return lower_by_relations(target, structures, lower)


class FlatParameters(LibraryFunctionForm):
    """A compiled space whose parameters are all drawn in every trial."""

    argument: ClassVar[str]  # The name of the argument of `decode` in generated modules
    reserved: ClassVar[frozenset[str]] = frozenset()  # Names that the library reads in another way

    @abstractmethod
    def make_set_parameter(self, part: Categorical) -> py.Code:
        """Return the code that makes a parameter with the values of a set."""

    @abstractmethod
    def make_number_parameter(self, name: str, part: Grid | Real) -> FlatParameter:
        """Return a parameter with this name from which the library draws the numbers of a range."""

    @abstractmethod
    def sample(self, count: int, rng: "Generator") -> list[Values]:
        """Draw `count` points like the random search of the library."""

    @cached_property
    def parameters(self) -> Mapping[str, FlatParameter]:
        """The parameters by the name of the question that each one answers (see reductions/space_questions.py)."""
        names: set[str] = set()
        found: dict[str, FlatParameter] = {}
        for question, asked in self.questions.by_name.items():
            # Libraries join the keys of nested dictionaries with slashes.
            word = question.replace("/", "_")
            name = unique_name(f"{word}_" if word in self.reserved else word, names, "_")
            names.add(name)
            found[question] = self._make_parameter(name, asked)
        return found

    @property
    def parameter_codes(self) -> py.DictNode:
        """The code of a dictionary of all parameters by name."""
        return py.DictNode(tuple((each.name, each.code) for each in self.parameters.values()))

    def parameter_value_code(self, name: str) -> py.Code:
        """Return the code that reads the value of a parameter from the argument of `decode`."""
        return py.SubscriptNode(py.NameNode(self.argument), py.LiteralNode(name))

    def encode(self, configuration: Configuration) -> Values:
        """Return the values of all parameters for a member; parameters that are not active have their defaults."""
        answers = {**self._answers_if_inactive, **self.questions.encode(self.reduction.encode(configuration))}
        found: Values = {}
        for question, each in self.parameters.items():
            asked, answer = self.questions.by_name[question], answers[question]
            label = answer if isinstance(asked, DrawnPiece) else case_labels(asked)[answer]
            found[each.name] = math.ldexp(label, each.exponent) if each.exponent else label
        return found

    def decode(self, values: Mapping[str, Any]) -> Configuration:
        """Return the member to which the values of the active parameters lead.

        Values of other parameters are ignored. Raise ValueError if the value of an active one is missing.
        """
        names = {self.argument: values, "round": round, "min": min, "max": max}

        def answer(question: str, asked: Question) -> Any:
            each = self.parameters[question]
            if each.name not in values:
                raise ValueError(f"`{each.name}` has no value")
            found = to_python_scalar(py.evaluate(each.answer, names))
            return found if isinstance(asked, DrawnPiece) else case_labels(asked).index(found)

        return self.reduction.decode(Configuration(self.questions.ask_values(answer)))

    def accepts(self, values: Mapping[str, Any]) -> bool:
        """Return True if the library can draw these values, with one for each parameter and no others."""
        several = {each.name: each for each in self.parameters.values()}
        return values.keys() == several.keys() and all(several[name].can_be(value) for name, value in values.items())

    def module_source(self, library: str, definitions: Sequence[str], advice: str, summary: str) -> str:
        """Return a module with the definitions of the parameters for a library, the default, and `decode`.

        `advice` is what the default is for, and `summary` the docstring of `decode`.
        """
        default = py.assignment_source("default", py.literal_dict(self.default))
        return "\n\n".join(
            [
                f'"""The search space `{py.docstring_safe_line(self.questions.space.name)}` for {library}."""',
                *definitions,
                f"# The default configuration, for {advice}.\n{default}",
                *("\n" + each for each in self._decode_functions(summary)),
            ]
        )

    def _decode_functions(self, summary: str) -> list[str]:
        """Return the sources of `decode`, with `summary` as its docstring, and of the functions it calls."""
        writer = QuestionFunctionWriter(
            self.questions, "decode", self.argument, lambda name, _: self.parameters[name].answer
        )
        restored = quantile_decoder_source(self.reduction)
        return [*restored, *writer.function_sources(summary, "values_of(found)" if restored else "found")]

    def sampling_function_names(self, part: CaseSplit | IndependentHyperparameter) -> str:
        """Return the names of the library functions that make the parameters of a part."""
        asked = (
            [self.questions.forks[id(part)]]
            if isinstance(part, CaseSplit)
            else self.questions.draws[id(part)].questions
        )
        used = (name for question in asked for name in sorted(py.names_used(self.parameters[question].code)))
        return ", ".join(dict.fromkeys(used))

    @cached_property
    def _answers_if_inactive(self) -> dict[str, Any]:
        """The answer to each question that its parameter gets while it is inactive, by name.

        It is the default of the variable, or another valid answer if the question does not offer the default.
        """
        found: dict[str, Any] = {}
        for part in self.questions.every_unfolded_part:
            if isinstance(part, IndependentHyperparameter):
                draw, default = self.questions.draws[id(part)], part.node.default
                if draw.choice:
                    found[draw.choice] = next(
                        (place for place, piece in enumerate(draw.pieces) if contains(piece.part, default)), 0
                    )
                for piece in draw.pieces:
                    if isinstance(piece, DrawnPiece):
                        inside = default if contains(piece.part, default) else piece.part.representative
                        found[piece.name] = piece.reduction.encode(inside)
            elif isinstance(part, CaseSplit) and id(part) in self.questions.forks:
                node = part.node
                wanted = node.branches[node.default].name if isinstance(node, Choice) else None
                branches = [case.branch for case in part.cases]
                found[self.questions.forks[id(part)]] = branches.index(wanted) if wanted in branches else 0
        return found

    def _make_parameter(self, name: str, asked: Question) -> FlatParameter:
        domain = asked.domain if isinstance(asked, DrawnPiece) else Categorical(case_labels(asked))
        if isinstance(domain, Categorical):
            return FlatParameter(
                name, self.make_set_parameter(domain), self.parameter_value_code(name), partial(contains, domain)
            )
        return self.make_number_parameter(name, domain)


def clip_to_range(number: py.Code, part: Grid | Real) -> py.Code:
    """Return the code that clips a number to the ends of a range."""
    return py.call("min", py.call("max", number, part.least), part.greatest)


def nearest_member_code(number: py.Code, part: Grid) -> py.Code:
    """Return the code that rounds a number to the nearest member of a grid."""
    place = py.call("round", py.infix(py.infix(number, "-", part.lower), "/", part.step))
    return py.grid_member_code(part, py.call("min", py.call("max", place, 0), part.last_index))


def is_within_rounding(lower: float, upper: float, value: Any) -> bool:
    """Return True if `value` is a number from `lower` to `upper`, or nearly equal to one of them."""
    ends = (lower, upper)
    return is_number(value) and (
        lower <= value <= upper or any(math.isclose(value, end, rel_tol=_ROUNDING) for end in ends)
    )

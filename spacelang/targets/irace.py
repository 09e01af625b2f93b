"""The target `irace`: a file of parameters with conditions and forbidden combinations, for irace.

Each question of the space is a parameter: a decision or a set is categorical (`c`), an ordered set is ordinal (`o`),
ranges are integer (`i`) or real (`r`). Conditions become conditions in R. Constraints become forbidden combinations if
irace draws enough configurations that satisfy them, else they are expressed by additional categorical parameters. An
encoding is a configuration of irace: the values of its active parameters by name.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain
from spacelang.ir.membership import is_violated
from spacelang.ir.space import Constraint
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment
from spacelang.plugins import option
from spacelang.reductions.case_splits import UnfoldedParts
from spacelang.reductions.guarded_case_splits import unfold_with_condition_guards
from spacelang.reductions.quantile_reduction import QuantileReduction
from spacelang.reductions.space_questions import Question, Questions
from spacelang.solver.counting import Structures
from spacelang.targets._exports import r_conditions as r
from spacelang.targets._irace import DIGITS, MISSING, IraceParameter, make_condition_writer, make_parameter
from spacelang.targets._lowering import (
    OVERSIZED,
    Construct,
    FormWithTextRepr,
    LoweringResult,
    PreservationTable,
    approximated,
    exact,
    make_report,
    refused,
    rewritten,
)
from spacelang.targets._random_draws import (
    ACTIVITY_FIRST,
    CONNECTED_IN_TURN,
    REPEATED_REASON,
    DeviationReason,
    RandomDrawDeclaration,
    keys_of_constrained_variables,
)
from spacelang.targets._reduction_chain import (
    EVENLY,
    NESTED,
    TOO_ENTANGLED,
    build_questions,
    constraint_findings,
    preserved_by_reductions,
    reduction_findings,
    unfolded_condition_findings,
)
from spacelang.targets._relations import (
    RELATIONS_DOC,
    Lowering,
    RelationsOption,
    lower_by_relations,
    refuse_other_relations,
    translate_report_to_original,
    with_quantile_verdicts,
)
from spacelang.targets._text_and_dot import digraph, quote_dot
from spacelang.text import count_with_noun

if TYPE_CHECKING:
    from numpy.random import Generator

Values: TypeAlias = dict[str, Any]
"""A configuration of irace: words and numbers by the names of its active parameters."""

MAX_DOMAIN_WIDTH: Final = 40  # The maximum width of the column of domains in the file
TRIED: Final = 200  # The number of draws that decide whether constraints can be forbidden combinations
MIN_SHARE: Final = 0.1
"""The minimum share of draws that satisfy all constraints: irace gives up after 100 forbidden draws in a row."""
UNFOLDED: Final = rewritten("conditions on additional categorical parameters that choose among cases")
FORBIDDEN: Final = exact("a forbidden combination")
TOO_RARE: Final = refused(
    "irace draws too few configurations that satisfy the constraint to forbid the others, or cannot test it; "
    "`--set relations=auto` expresses it in another way if there is one"
)


def accepts(part: SimpleDomain) -> bool:
    """Return True for sets, consecutive integers and closed ranges."""
    match part:
        case Categorical():
            return True
        case Grid():
            return part.is_consecutive
        case Real():
            return not part.is_open and not r.needs_log_encoding(part)


@dataclass(frozen=True, slots=True)
class Irace:
    """A file of parameters for irace, with conditions, forbidden combinations and a default configuration."""

    paper: ClassVar[str] = (
        "López-Ibáñez et al., The irace Package: Iterated Racing for Automatic Algorithm Configuration, "
        "Operations Research Perspectives 2016"
    )

    random_draws: ClassVar[RandomDrawDeclaration] = RandomDrawDeclaration(
        "the first iteration of irace",
        (
            EVENLY,
            DeviationReason(
                REPEATED_REASON,
                lambda form: keys_of_constrained_variables(form.questions.structures) if form.constraints else (),
            ),
            CONNECTED_IN_TURN,
            ACTIVITY_FIRST,
        ),
    )

    default_relations: ClassVar[tuple[Lowering, ...]] = ("native", "quantiles")

    preserves: ClassVar[PreservationTable] = with_quantile_verdicts(
        {
            **preserved_by_reductions(accepts, "a categorical parameter"),
            Construct.FLOATS: (
                exact(f"`r`, which irace rounds to {DIGITS} decimals; very small or large numbers are scaled"),
            ),
            Construct.INTEGERS: (exact("`i`; `r` and rounded where numbers are too large for R"), OVERSIZED),
            Construct.SETS: (exact("`c`"),),
            Construct.ORDERED: (exact("`o`"),),
            Construct.CONDITIONS: (
                exact("a condition in R"),
                UNFOLDED,
                TOO_ENTANGLED,
            ),
            **dict.fromkeys(
                (Construct.RULES_ON_DECISIONS, Construct.RULES_ON_VALUES), (FORBIDDEN, NESTED, TOO_ENTANGLED, TOO_RARE)
            ),
            Construct.DEFAULTS: (
                approximated("irace has no defaults; the file ends with one for `configurationsFile`"),
            ),
        }
    )

    relations: RelationsOption = option("auto", RELATIONS_DOC)

    def lower(self, structures: Structures) -> LoweringResult["IraceParameters", Values]:
        """Return the parameters for the space of the structures."""
        return lower_by_relations(self, structures, self._lower, self._lower)

    def _lower(self, reduction: QuantileReduction) -> LoweringResult["IraceParameters", Values]:
        structures = reduction.reduced_structures
        form = None if self.relations == "cases" else self._with_forbidden(reduction)
        if form is None and self.relations == "native":
            refuse_other_relations(structures.space, (), self.preserves, TOO_RARE)
        if form is None:
            form = IraceParameters(build_questions(structures, accepts, self.preserves), (), reduction)
        named, space = form.questions, structures.space
        found = [*reduction_findings(named, self.preserves), *unfolded_condition_findings(named, UNFOLDED)]
        if not form.constraints:
            found += constraint_findings(space.constraints, NESTED)
        report = translate_report_to_original(reduction, make_report(space, self.preserves, found))
        return LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, report)

    def _with_forbidden(self, reduction: QuantileReduction) -> "IraceParameters | None":
        """Return the parameters with constraints as forbidden combinations.

        Return None if R cannot test the constraints or irace would draw forbidden combinations too often.
        """
        structures = reduction.reduced_structures
        space = structures.space
        if not all(r.can_be_tested_in_r(rule.expression, space) for rule in space.constraints):
            return None
        free = Structures(replace(space, constraints=())) if space.constraints else structures

        def unfolded(_: Structures) -> UnfoldedParts:
            return unfold_with_condition_guards(free, r.can_be_tested_in_r, tests_unfolded=False)

        questions = build_questions(structures, accepts, self.preserves, unfolded=unfolded)
        form = IraceParameters(questions, space.constraints, reduction)
        if not space.constraints:
            return form
        return form if form.are_constraints_testable and form.member_share() >= MIN_SHARE else None


class IraceParameters(FormWithTextRepr):
    """Parameters of irace with their conditions, and forbidden combinations for `constraints`."""

    comment_sign: ClassVar[str] = "#"

    def __init__(self, questions: Questions, constraints: Sequence[Constraint], reduction: QuantileReduction) -> None:
        """Store the questions of the reduced space, and the constraints that its answers may violate.

        These constraints become forbidden combinations.
        """
        self.questions, self.constraints, self.reduction = questions, tuple(constraints), reduction

    @cached_property
    def parameters(self) -> Mapping[str, IraceParameter]:
        """The parameters by the name of the question that each one answers (see reductions/space_questions.py)."""
        names, labels = self._condition_writer.names, self._condition_writer.labels
        conditions = self._condition_writer.conditions_by_question()
        return {
            question: make_parameter(names[question], asked, labels.get(question, ()), conditions[question])
            for question, asked in self.questions.by_name.items()
        }

    @cached_property
    def forbidden(self) -> tuple[str, ...]:
        """The forbidden combinations, as expressions in R."""
        return tuple(map(self._condition_writer.violation, self.constraints))

    @property
    def are_constraints_testable(self) -> bool:
        """True if R can test the constraints: each variable in them occurs at most once in the unfolded space."""
        return all(self._condition_writer.is_testable(rule.expression) for rule in self.constraints)

    @property
    def initial_configurations(self) -> str:
        """The default configuration as a table, for `configurationsFile` of irace."""
        default = self._encode_reduced(self.questions.default)
        names = [parameter.name for parameter in self.parameters.values()]
        row = [_cell(default[name]) if name in default else "NA" for name in names]
        widths = [max(len(name), len(cell)) for name, cell in zip(names, row, strict=True)]
        lines = (" ".join(map(str.ljust, line, widths)).rstrip() for line in (names, row))
        return "\n".join(lines)

    def to_text(self) -> str:
        """Return the file of parameters, as irace 4 reads it."""
        several = self.parameters.values()
        columns = zip(*((each.name, each.kind, each.domain) for each in several), strict=True)
        name, kind, domain = (max(map(len, column)) for column in columns) if several else (0, 0, 0)
        lines = [
            f"{each.name:{name}} {r.quoted(f'--{each.name} '):{name + 5}} {each.kind:{kind}} "
            + (f"{each.domain:{min(domain, MAX_DOMAIN_WIDTH)}} | {each.condition}" if each.condition else each.domain)
            for each in several
        ]
        return "\n".join(
            [
                f"# {self._title}",
                *(lines or ["# There is nothing to choose."]),
                *(["", "[forbidden]", *self.forbidden] if self.forbidden else []),
                "",
                "[global]",
                f"digits = {DIGITS}",
                *(["", "# The default configuration, for `configurationsFile`:"] if lines else []),
                *(f"# {line}" for line in (self.initial_configurations.splitlines() if lines else ())),
            ]
        )

    def to_json(self) -> dict[str, object]:
        """Return the parameters, the forbidden combinations, the default and the whole file."""
        entries = [
            {
                "name": each.name,
                "question": question,
                "type": each.kind,
                **({"values": [*each.labels]} if each.labels else {"bounds": [*each.bounds]}),
                **({"condition": each.condition} if each.condition else {}),
            }
            for question, each in self.parameters.items()
        ]
        default = self._encode_reduced(self.questions.default)
        return {"parameters": entries, "forbidden": [*self.forbidden], "default": default, "file": self.to_text()}

    def to_dot(self) -> str:
        """Return a DOT graph with a node for each parameter and an edge to each one whose condition mentions it."""
        several = [*self.parameters.values()]
        nodes = [f"{quote_dot(each.name)} [label={quote_dot(f'{each.name} {each.kind}')}]" for each in several]
        edges = [
            f"{quote_dot(other.name)} -> {quote_dot(each.name)} [label={quote_dot(each.condition)}]"
            for each in several
            for other in several
            if re.search(rf"(?<![\w.\"]){re.escape(other.name)}(?![\w.\"])", each.condition)
        ]
        return digraph(self.questions.space.name, self._title, [*nodes, *edges])

    def encode(self, configuration: Configuration) -> Values:
        """Return a member as a configuration of irace."""
        return self._encode_reduced(self.reduction.encode(configuration))

    def _encode_reduced(self, configuration: Configuration) -> Values:
        answers = self.questions.encode(configuration)
        return {self.parameters[question].name: self.parameters[question].encode(a) for question, a in answers.items()}

    def decode(self, values: Mapping[str, Any]) -> Configuration:
        """Return the member of a configuration of irace, whose values may be text.

        Inactive parameters may be missing, None or NA; columns whose name begins with a dot are ignored. Raises
        ValueError for anything else.
        """
        return self.reduction.decode(self._decode_reduced(values))

    def _decode_reduced(self, values: Mapping[str, Any]) -> Configuration:
        given = {name: value for name, value in values.items() if not name.startswith(".") and not _is_missing(value)}

        def answer(question: str, _: Question) -> Any:
            parameter = self.parameters[question]
            if parameter.name not in given:
                raise ValueError(f"`{parameter.name}` is active but has no value")
            return parameter.decode(given.pop(parameter.name))

        found = Configuration(self.questions.ask_values(answer))
        if given:
            raise ValueError(f"`{next(iter(given))}` has a value but is not active here")
        return found

    def accepts(self, values: Mapping[str, Any]) -> bool:
        """Return True if irace can draw exactly these values: active parameters, and no forbidden combination."""
        try:
            return self._is_allowed(self._decode_reduced(values))
        except ValueError:
            return False

    def sample(self, count: int, rng: "Generator") -> list[Values]:
        """Draw configurations like the first ones of irace: uniformly, and again if they are forbidden."""
        found: list[Values] = []
        while len(found) < count:
            values = self.draw(rng)
            if not self.constraints or self._is_allowed(self._decode_reduced(values)):
                found.append(values)
        return found

    def member_share(self) -> float:
        """Estimate the probability that a draw satisfies the constraints."""
        rng = Random(0)  # works without NumPy, which may be missing
        return sum(self._is_allowed(self._decode_reduced(self.draw(rng))) for _ in range(TRIED)) / TRIED

    def draw(self, rng: "Generator | Random") -> Values:
        """Draw one configuration like irace, which may be a forbidden combination."""
        found: Values = {}

        def answer(question: str, _: Question) -> Any:
            parameter = self.parameters[question]
            found[parameter.name] = parameter.draw(rng)
            return parameter.decode(found[parameter.name])

        self.questions.ask_values(answer)
        return found

    def _is_allowed(self, configuration: Configuration) -> bool:
        if not self.constraints:
            return True
        assignment = Assignment.from_configuration(self.questions.space, configuration)
        return not any(is_violated(rule, assignment) for rule in self.constraints)

    @property
    def _title(self) -> str:
        conditional = sum(1 for each in self.parameters.values() if each.condition)
        counts = (
            count_with_noun(len(self.parameters), "parameter"),
            f"{conditional} conditional",
            count_with_noun(len(self.constraints), "forbidden combination"),
        )
        return f"{self.questions.space.name}: {', '.join(counts)}"

    @cached_property
    def _condition_writer(self) -> r.RConditionWriter:
        return make_condition_writer(self.questions)


def _is_missing(value: Any) -> bool:
    return value is None or value in MISSING or (isinstance(value, float) and math.isnan(value))


def _cell(value: Value) -> str:
    """Return a value as text in R, for a cell of a table."""
    return r.quoted(value) if isinstance(value, str) else r.number_text(value)

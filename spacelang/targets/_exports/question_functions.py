"""Functions in Python source that ask for a configuration, question by question, and return it as a dictionary."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, TypeAlias

from spacelang.ir.domain import Categorical, Grid, describe, literal
from spacelang.ir.space import Choice
from spacelang.reductions.case_splits import (
    Case,
    CaseSplit,
    GuardedParts,
    IndependentHyperparameter,
    RangeComparison,
    UnfoldedPart,
    UnfoldedParts,
    ValueSwitch,
    all_parts,
    inner_parts,
)
from spacelang.reductions.domain_reductions import MemberIndexReduction, MemberRenamingReduction
from spacelang.reductions.space_questions import DrawnPiece, IndependentHyperparameterDraw, Piece, Question, Questions
from spacelang.reductions.varying_bounds import VaryingRange
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.library_function_forms import case_label
from spacelang.targets._exports.python_conditions import PythonConditionWriter
from spacelang.targets._exports.value_tests import implies
from spacelang.text import unique_name

AskCode: TypeAlias = Callable[[str, Question], py.Code]
"""Returns the code that asks a question, given its name: a label of a case or piece, or a number or value to decode."""
Known: TypeAlias = frozenset[str]
MAX_DEPTH: Final = 8  # The maximum nesting depth of statements
MIN_FUNCTION_PARTS: Final = 5  # Repeated parts with fewer parts inside are written repeatedly


def case_labels(choice: CaseSplit | IndependentHyperparameterDraw) -> tuple[str, ...]:
    """Return distinct labels for the cases of a case split, or for the pieces of a draw."""
    if isinstance(choice, IndependentHyperparameterDraw):
        pieces = choice.pieces
        return tuple(describe(each.part) if isinstance(each, DrawnPiece) else literal(each.value) for each in pieces)
    words = tuple(case_label(choice, case) for case in choice.cases)
    return words if len(set(words)) == len(words) else tuple(f"{n}: {word}" for n, word in enumerate(words, 1))


def draw_code(draw: IndependentHyperparameterDraw, ask: AskCode) -> tuple[py.Code | None, list[tuple[str, py.Code]]]:
    """Return two values: the code that asks which piece of a draw to take, and the label and code of each piece.

    The first is None if there is only one piece.
    """
    pieces = [*zip(case_labels(draw), (_piece_code(piece, ask) for piece in draw.pieces), strict=True)]
    return (ask(draw.choice, draw) if draw.choice else None), pieces


class QuestionFunctionWriter:
    """A writer of a function; parts that are used repeatedly or nested deeply become functions of their own.

    The function takes one argument, from which `ask` reads the answers, and returns a configuration as a dictionary.
    """

    def __init__(
        self,
        questions: Questions,
        name: str,
        argument: str,
        ask: AskCode,
        ask_within: Callable[[str, VaryingRange, Known], py.Code] | None = None,
    ) -> None:
        """Prepare a function with a name and an argument; `ask` returns the code that asks a question.

        `ask` takes the name of the question and the question. `ask_within` returns the code that asks for a number of a
        range that earlier values limit; it takes the name, the range, and the addresses that have a value in `found` by
        then.
        """
        self._ask_within = ask_within
        self._questions, self._name, self._argument, self._ask = questions, name, argument, ask
        self._tests = PythonConditionWriter(questions.space, questions.names)
        inside = [parts for part in questions.every_unfolded_part for parts in inner_parts(part)]
        alternatives = (parts for parts in inside if len(parts) > 1)
        contents: Iterable[UnfoldedPart | UnfoldedParts] = chain(questions.parts, *inside, alternatives)
        self._uses = Counter(contents)
        self._names: dict[UnfoldedPart | UnfoldedParts, str] = {}
        self._written: list[str] = []

    def function_sources(self, summary: str, result: str = "found") -> list[str]:
        """Return the sources of the functions that the function calls, and its own source as the last one.

        `summary` is its docstring, and `result` the expression that it returns.
        """
        head = [f"def {self._name}({self._argument}):", f'    """{summary}"""', "    found = {}"]
        last = "\n".join([*head, *self._part_lines(self._questions.parts, 1, frozenset()), f"    return {result}"])
        return [*self._written, last]

    def _part_lines(self, several: UnfoldedParts, depth: int, known: Known) -> Iterator[str]:
        """Yield the lines of parts; `known` are the addresses of variables with a value in `found`."""
        guards: list[GuardedParts] = []
        for part in several:
            if isinstance(part, IndependentHyperparameter):
                yield from self._value_lines(part, depth, known)
                known |= {part.node.address}
            elif self._is_function(part, depth):
                yield f"{'    ' * depth}{self._function_name(part)}({self._argument}, found)"
            else:
                implied = self._known_under(part, guards) if isinstance(part, GuardedParts) else frozenset()
                yield from self._lines_of(part, depth, known | implied)
            if isinstance(part, GuardedParts):
                guards.append(part)
            if (
                isinstance(part, CaseSplit)
                and part.node is not None
                and all(case.branch is not None for case in part.cases)
            ):
                known |= {part.node.address}

    def _known_under(self, guard: GuardedParts, earlier: Iterable[GuardedParts]) -> Known:
        """Return the addresses of hyperparameters in earlier guards whose condition follows from that of `guard`."""
        space = self._questions.space
        implied = (each for each in earlier if implies(guard.condition, each.condition, space))
        inside = (part for each in implied for part in each.parts)
        return frozenset(part.node.address for part in inside if isinstance(part, IndependentHyperparameter))

    def _is_function(self, content: UnfoldedPart | UnfoldedParts, depth: int = 0) -> bool:
        parts = content if isinstance(content, tuple) else (content,)
        if depth > MAX_DEPTH:
            return any(map(inner_parts, parts))
        return self._uses[content] > 1 and len([*islice(all_parts(parts), MIN_FUNCTION_PARTS)]) == MIN_FUNCTION_PARTS

    def _function_name(self, content: UnfoldedPart | UnfoldedParts, title: str = "") -> str:
        if content not in self._names:
            if not isinstance(content, tuple):
                inner = next(
                    each for each in all_parts((content,)) if isinstance(each, CaseSplit | IndependentHyperparameter)
                )
                title = self._questions.forks.get(id(inner), self._questions.base_name(inner))
            word = "".join(c if c.isalnum() and c.isascii() else "_" for c in title)
            self._names[content] = name = unique_name(f"_{self._name}_{word}", {*self._names.values()}, "_")
            if isinstance(content, tuple):
                lines = self._part_lines(content, 1, frozenset())
            else:
                lines = self._lines_of(content, 1, frozenset())
            self._written.append("\n".join([f"def {name}({self._argument}, found):", *lines]))
        return self._names[content]

    def _lines_of(self, part: UnfoldedPart, depth: int, known: Known) -> Iterator[str]:
        match part:
            case GuardedParts():
                test = self._tests.condition(part.condition, known)
                yield from self._if_lines([(test, part.parts)], depth, known)
            case ValueSwitch():
                domains = ((case.domain, case.parts) for case in part.cases if case.domain is not None)
                tests = [(self._tests.is_within_code(part.node, domain), parts) for domain, parts in domains]
                are_all = len(tests) == len(part.cases) > 1
                yield from self._if_lines(tests, depth, known, are_all=are_all)
            case CaseSplit() if len(part.cases) == 1:
                yield from self._case_lines(part, part.cases[0], depth, known)
            case CaseSplit(node=Choice() as node) if all(case.branch is not None for case in part.cases):
                indent, entry = "    " * depth, f"found[{py.literal_source(node.key)}]"
                code = self._ask(self._questions.forks[id(part)], part)
                yield f"{indent}{entry} = {py.expression_source(code, len(indent), len(entry) + 3)}"
                tests = [(py.infix(self._tests.value(node), "==", case.branch), case.parts) for case in part.cases]
                labels = [f"{node.name}_{case.branch}" for case in part.cases]
                yield from self._if_lines(tests, depth, known | {node.address}, labels)
            case CaseSplit():
                yield from self._match_lines(part, depth, known)
            case IndependentHyperparameter() | RangeComparison():
                raise TypeError("comparisons of ranges must be replaced before questions are built")

    def _if_lines(
        self,
        tests: Sequence[tuple[py.Code, UnfoldedParts]],
        depth: int,
        known: Known,
        labels: Sequence[str] = (),
        *,
        are_all: bool = False,
    ) -> Iterator[str]:
        """Yield the lines of `if` and `elif` statements, one for each test with the parts that it selects.

        At most one test may be true. With `are_all`, one always is, so that the last one becomes `else`. `labels` are
        titles for functions of the parts.
        """
        indent, word = "    " * depth, "if"
        are_all = are_all and all(parts for _, parts in tests)
        for place, (test, parts) in enumerate(tests):
            if labels and self._is_function(parts):
                body = [f"{indent}    {self._function_name(parts, labels[place])}({self._argument}, found)"]
            else:
                body = [*self._part_lines(parts, depth + 1, known)]
            if body:
                if are_all and place == len(tests) - 1:
                    yield f"{indent}else:"
                else:
                    yield f"{indent}{word} {py.expression_source(test, len(indent), len(word) + 2)}:"
                yield from body
                word = "elif"

    def _match_lines(self, fork: CaseSplit, depth: int, known: Known) -> Iterator[str]:
        """Yield the lines of a `match` statement that asks for the case of a case split."""
        indent = "    " * depth
        code = self._ask(self._questions.forks[id(fork)], fork)
        told = zip(case_labels(fork), fork.cases, strict=True)
        bodies = [(word, list(self._case_lines(fork, case, depth + 2, known))) for word, case in told]
        yield f"{indent}match {py.expression_source(code, len(indent), 7)}:"
        for word, body in bodies:
            yield f"{indent}    case {py.literal_source(word)}:"
            yield from body or [f"{indent}        pass"]

    def _case_lines(self, fork: CaseSplit, case: Case, depth: int, known: Known) -> Iterator[str]:
        if isinstance(fork.node, Choice) and case.branch is not None:
            yield f"{'    ' * depth}found[{py.literal_source(fork.node.key)}] = {py.literal_source(case.branch)}"
            known |= {fork.node.address}
        yield from self._part_lines(case.parts, depth, known)

    def _value_lines(self, free: IndependentHyperparameter, depth: int, known: Known) -> Iterator[str]:
        draw, varying = self._questions.draws[id(free)], self._questions.varying_ranges.get(free.node.address)
        question, pieces = draw_code(draw, self._ask)
        if varying is not None and draw.questions:
            assert self._ask_within is not None
            pieces = [("", self._ask_within(next(iter(draw.questions)), varying, known))]
        indent, entry = "    " * depth, f"found[{py.literal_source(free.node.key)}]"
        if question is None:
            yield f"{indent}{entry} = {py.expression_source(pieces[0][1], len(indent), len(entry) + 3)}"
            return
        yield f"{indent}match {py.expression_source(question, len(indent), 7)}:"
        for word, code in pieces:
            yield f"{indent}    case {py.literal_source(word)}:"
            yield f"{indent}        {entry} = {py.expression_source(code, len(indent) + 8, len(entry) + 3)}"


def _piece_code(piece: Piece, ask: AskCode) -> py.Code:
    if not isinstance(piece, DrawnPiece):
        return py.LiteralNode(piece.value)
    answer = ask(piece.name, piece)
    match piece.reduction:
        case MemberIndexReduction(part=Grid() as part):
            return py.grid_member_code(part, answer)
        case MemberIndexReduction(part=Categorical(values=values)):
            return py.SubscriptNode(py.literal_list(values), answer)
        case MemberRenamingReduction(part=Categorical() as part):
            return py.SubscriptNode(py.literal_dict({literal(value): value for value in part.values}), answer)
        case _:
            return answer

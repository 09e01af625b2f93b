"""Structures: turn sequences, choices, unions, `columns` and `permute` into trees of operators and stages."""

import re
from collections.abc import Sequence
from dataclasses import field, replace
from itertools import permutations
from typing import Final, Protocol

from spacelang.analysis import alternatives, repeated_stages
from spacelang.analysis.alternatives import Alternative, alternatives_of_structure, is_valid_identifier
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.imported_modules import Module
from spacelang.analysis.literal_values import read_annotations, span_of_annotation
from spacelang.analysis.operators import OperatorReader, ReadOperator
from spacelang.analysis.space_drafts import AddressPrefix
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.names import DuplicateName
from spacelang.diagnostics.structure import (
    InvalidColumnPattern,
    RepeatedColumnSelector,
    StageWithBody,
    TooManyPermutedSteps,
    UnknownColumnSelector,
)
from spacelang.frozen import frozen
from spacelang.ir import space as ir
from spacelang.ir.data_binding import is_selected
from spacelang.ir.space import COLUMN_KINDS, MAX_PERMUTED_STEPS
from spacelang.ir.walk import PIPELINE_GROUP
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import name_of_single_step, step_labels, structure_title
from spacelang.text import Span, unique_name

STEPS: Final = "steps of the pipeline"  # What an annotation marks here, as messages name it


@frozen
class StructureContext:
    """The address prefix of a structure (`place`), and the names below it that are `taken`, with their spans."""

    place: AddressPrefix
    taken: dict[str, Span] = field(default_factory=dict)
    is_list: bool = False
    """True for the members of a list of operators, joined by `&`."""


class _Stages(Protocol):
    around: list[str]  # The forms around the structure that is being read, which may not contain every other form

    def make_stage_use(
        self, home: Module, stage: ast.Stage, written: ast.OperatorReference, spot: "StructureContext"
    ) -> ir.Choice | None: ...

    def make_chain_use(
        self, home: Module, stage: ast.Stage, written: ast.Repetition, alias: ast.Word | None
    ) -> ir.Choice | None: ...

    def steps_of_imported_pipeline(self, module: Module, written: ast.OperatorReference) -> list[ir.Node]: ...

    def top_level_context(self, spot: StructureContext) -> StructureContext: ...

    def report_unknown_step(self, module: Module, written: ast.OperatorReference) -> None: ...

    def mark_incomplete(self) -> None: ...


class StructureReader:
    """A reader of the structures of one module; `stages` are those of all modules (`StageReader`)."""

    def __init__(self, module: Module, operators: OperatorReader, stages: _Stages, report: DiagnosticCollector) -> None:
        self._module = module
        self._operators = operators
        self._stages = stages
        self._report = report

    def read_steps(self, structure: ast.Structure, spot: StructureContext) -> list[ir.Node]:
        """Return the steps that a structure adds to the sequence around it."""
        match structure:
            case ast.JoinedStructures(sign="->", parts=parts):
                return [step for part in parts for step in self.read_steps(part, spot)]
            case ast.Parenthesised(alias=None, annotations=()):
                return self.read_steps(structure.part, spot)
            case ast.Parenthesised():
                return self._group(structure, spot)
            case ast.OperatorReference():
                return self._steps_by_name(structure, spot)
            case ast.NoneStep():
                read_annotations(structure.annotations, STEPS, self._report)
                return []
            case ast.Repetition():
                return self._chain(structure, None)
            case _:
                return [self._step(structure, spot)]

    def _step(
        self,
        structure: ast.JoinedStructures | ast.OptionalStructure | ast.ColumnSplit | ast.Permutation,
        spot: StructureContext,
    ) -> ir.Node:
        match structure:
            case ast.JoinedStructures(sign="&", parts=parts):
                self._stages.around.append("&")
                inside = replace(spot, is_list=False)
                sides = tuple(
                    self._member(part, inside) if spot.is_list else self.read_node(part, spot) for part in parts
                )
                self._stages.around.pop()
                return ir.Product(ir.ProductKind.PARALLEL, sides, structure.span)
            case ast.JoinedStructures() | ast.OptionalStructure():
                return self._choice(structure, spot, None)
            case ast.ColumnSplit():
                return self._columns(structure, spot)
            case ast.Permutation():
                return self._permutation(structure, spot, None)

    def read_node(self, structure: ast.Structure, spot: StructureContext) -> ir.Node:
        """Return a structure as a single node."""
        steps = self.read_steps(structure, spot)
        return steps[0] if len(steps) == 1 else ir.Product(ir.ProductKind.SEQUENCE, tuple(steps), structure.span)

    def read_alternatives(
        self,
        several: Sequence[Alternative],
        place: AddressPrefix,
        read_operator: ReadOperator | None = None,
        are_lists: bool = False,
    ) -> tuple[tuple[ir.Branch, ...], int]:
        """Return the branches of a decision and the index of the default; report duplicates and annotations.

        With `are_lists`, alternatives joined by `&` are lists of operators.
        """
        branches: list[ir.Branch] = []
        names: dict[str, Alternative] = {}
        default: tuple[int, Span] | None = None
        for alternative in map(self._with_short_name, several):
            if alternative.name in names:
                self._report.add(alternatives.duplicate_diagnostic(alternative, names[alternative.name]))
                continue
            names[alternative.name] = alternative
            if alternative.alias is not None:
                alternatives.check_name(alternative.alias, self._report)
            advice = read_annotations(alternative.annotations, "alternatives", self._report)
            if advice.default:
                mark = span_of_annotation("default", alternative.annotations)
                if default is not None:
                    self._report.add(alternatives.second_default_diagnostic(mark, default[1]))
                default = default or (len(branches), mark)
            self._operators.draft.branches.append((place.address, alternative.name))
            is_list = are_lists and alternatives.is_joined_by(alternative.structure, "&")
            spot = StructureContext(place.alternative(alternative.name), is_list=is_list)
            node = self._branch(alternative, spot, read_operator or self._operators.read)
            self._operators.draft.branches.pop()
            branches.append(ir.Branch(alternative.name, node, advice.weight, alternative.span, alternative.value))
        return tuple(branches), 0 if default is None else default[0]

    def _with_short_name(self, alternative: Alternative) -> Alternative:
        """Return the alternative named after its class alone: `xgboost.XGBClassifier` becomes `XGBClassifier`."""
        written = alternative.structure
        if not isinstance(written, ast.OperatorReference) or alternative.alias is not None:
            return alternative
        package, *_, plain = (word.text for word in (*written.name.words, written.name.words[-1]))
        return replace(alternative, name=plain) if self._operators.is_catalogue_name(package) else alternative

    def _branch(self, alternative: Alternative, spot: StructureContext, read_operator: ReadOperator) -> ir.Node:
        written, place = alternative.structure, spot.place
        if isinstance(written, ast.NoneStep):
            return ir.SKIPPED_STEP
        if isinstance(written, ast.OperatorReference):
            # Everything else is an operator, even if no catalogue knows its name: the reader of operators reports that.
            is_step = self._stage_of(written) is not None or self._imported_module(written) is not None
            if not is_step and not self._is_damaged(written):
                return read_operator(written.name, written.body, place)
            if not is_step:
                # Expressions may name things inside it, with or without the name of the alternative.
                self._operators.draft.dubious.update((place.address, place.key))
        alias = alternative.alias
        # A quoted name is used for the alternative only: the decision inside needs a plain word.
        if (
            alias is not None
            and is_valid_identifier(alias)
            and isinstance(written, ast.JoinedStructures | ast.OptionalStructure | ast.Permutation | ast.Repetition)
        ):
            return self._aliased(written, alias, spot)
        return self.read_node(written, spot)

    # ---- steps by name

    def _stage_of(self, written: ast.OperatorReference) -> tuple[Module, ast.Stage] | None:
        home, rest = self._module.resolve_module_prefix(written.name)
        return (home, home.stages[rest]) if rest in home.stages else None

    def _imported_module(self, written: ast.OperatorReference) -> Module | None:
        home, rest = self._module.resolve_module_prefix(written.name)
        return home.imports.get(rest)

    def _is_damaged(self, written: ast.OperatorReference) -> bool:
        home, rest = self._module.resolve_module_prefix(written.name)
        return rest in home.damaged

    def _steps_by_name(self, written: ast.OperatorReference, spot: StructureContext) -> list[ir.Node]:
        read_annotations(written.annotations, STEPS, self._report)
        if self._is_damaged(written):
            return []
        stage, imported = self._stage_of(written), self._imported_module(written)
        if stage is not None or imported is not None:
            self._check_no_body(written, "a stage" if stage is not None else "an import")
        if stage is not None:
            used = self._stages.make_stage_use(*stage, written, spot)
            return [] if used is None else [used]
        if imported is not None:
            return self._stages.steps_of_imported_pipeline(imported, written)
        if not self._operators.is_operator(written.name):
            self._stages.report_unknown_step(self._module, written)
            return []
        place = spot.place.child(self.assign_name(written.name.words[-1].text, written.alias, written.name.span, spot))
        return [self._operators.read(written.name, written.body, place)]

    def _check_no_body(self, written: ast.OperatorReference, kind: str) -> None:
        if written.body is not None:
            self._report.add(StageWithBody(written.body.span, stage=written.name.text, kind=kind))
            self._stages.mark_incomplete()

    def assign_name(self, wanted: str, alias: ast.Word | None, span: Span, spot: StructureContext) -> str:
        """Reserve and return the name of a part: its alias (reported if taken), else `wanted`, numbered if taken."""
        if alias is None:
            is_free = wanted not in spot.taken
            called = wanted if is_free else unique_name(wanted, {wanted, *spot.taken, *self._module.stages})
            spot.taken[called] = span
            return called
        alternatives.check_step_name(alias, self._report)
        stage = self._module.stages.get(alias.text) if not spot.place.address else None
        is_own = stage is not None and stage.name.text == wanted
        first = spot.taken.get(alias.text) or (stage.name.span if stage is not None and not is_own else None)
        if first is not None:
            related, remedy = (RelatedPlace(first, "first used here"),), "choose another name after `as`"
            self._report.add(DuplicateName(alias.span, kind="step", name=alias.text, remedy=remedy, related=related))
            self._stages.mark_incomplete()
        spot.taken.setdefault(alias.text, alias.span)
        return alias.text

    # ---- groups and choices

    def _group(self, group: ast.Parenthesised, spot: StructureContext) -> list[ir.Node]:
        """Return the steps of a group in parentheses that has a name or annotations.

        The name becomes that of the decision, chain, permutation or single step inside, else a part of all addresses
        inside. A group with the name `PIPELINE_GROUP` is read like the top level of the pipeline.
        """
        part = alternatives.without_brackets(group.part)
        if group.alias is not None and group.alias.text == PIPELINE_GROUP:
            read_annotations(group.annotations, STEPS, self._report)
            return self.read_steps(part, self._stages.top_level_context(spot))
        if isinstance(part, ast.OptionalStructure) or alternatives.is_joined_by(part, "|"):
            advice = read_annotations(group.annotations, "stages", self._report)
            return [replace(self._choice(part, spot, group.alias), first=advice.first)]
        read_annotations(group.annotations, STEPS, self._report)
        if group.alias is None:
            return self.read_steps(part, spot)
        if isinstance(part, ast.Permutation):
            return [self._permutation(part, spot, group.alias)]
        if isinstance(part, ast.Repetition):
            return self._chain(part, group.alias)
        if isinstance(part, ast.OperatorReference) and part.alias is None:
            return self.read_steps(replace(part, alias=group.alias), spot)
        called = self.assign_name(structure_title(part), group.alias, group.span, spot)
        return self.read_steps(part, StructureContext(spot.place.child(called)))

    def _aliased(
        self,
        part: ast.JoinedStructures | ast.OptionalStructure | ast.Permutation | ast.Repetition,
        alias: ast.Word,
        spot: StructureContext,
    ) -> ir.Node:
        """Return the node of an alternative with a name. If the node is a decision, it gets this name too."""
        if isinstance(part, ast.Repetition):
            return next(iter(self._chain(part, alias)), ir.SKIPPED_STEP)
        if isinstance(part, ast.Permutation):
            return self._permutation(part, spot, alias)
        is_choice = isinstance(part, ast.OptionalStructure) or part.sign == "|"
        return self._choice(part, spot, alias) if is_choice else self.read_node(part, spot)

    def _member(self, written: ast.Structure, spot: StructureContext) -> ir.Node:
        """Return the node of a list member.

        An optional member, `A?` or `(none | A)`, is a decision named `A`; of these two, only `A?` is in the list by
        default.
        """
        part, alias = alternatives.without_brackets(written), None
        if isinstance(part, ast.Parenthesised) and not part.annotations:
            alias = part.alias
            part = alternatives.without_brackets(part.part)
        is_present = isinstance(part, ast.OptionalStructure)
        if not is_present and not alternatives.is_joined_by(part, "|"):
            return self.read_node(written, spot)
        found = self._choice(part, spot, alias, name_of_single_step(part))
        return replace(found, default=1) if is_present and found.default == 0 and len(found.branches) > 1 else found

    def _choice(
        self, structure: ast.Structure, spot: StructureContext, alias: ast.Word | None, wanted: str | None = None
    ) -> ir.Choice:
        """Return a decision named after its alias, else with the `wanted` name, else `choice_` and a number."""
        if alias is None and wanted is None:
            called = self._numbered("choice", spot, structure.span)
        else:
            called = self.assign_name(wanted or structure_title(structure), alias, structure.span, spot)
        place = spot.place.child(called)
        branches, default = self.read_alternatives(alternatives_of_structure(structure), place)
        span = structure.span if alias is None else alias.span
        return ir.Choice(called, place.address, place.key, branches, default, span=span)

    def _numbered(self, word: str, spot: StructureContext, span: Span) -> str:
        number = 1
        while f"{word}_{number}" in spot.taken or f"{word}_{number}" in self._module.stages:
            number += 1
        return self.assign_name(f"{word}_{number}", None, span, spot)

    # ---- chains, columns and permutations

    def _chain(self, written: ast.Repetition, alias: ast.Word | None) -> list[ir.Node]:
        """Return the decision of a chain as a list, which is empty after a mistake was reported."""
        read_annotations(written.annotations, STEPS, self._report)
        used = alternatives.without_brackets(written.part)
        found: ir.Choice | None = None
        if not isinstance(used, ast.OperatorReference):
            self._report.add(repeated_stages.chain_without_stage_diagnostic(used))
        elif not self._is_damaged(used):
            stage = self._stage_of(used)
            if stage is not None:
                self._check_no_body(used, "a stage")
                read_annotations(used.annotations, STEPS, self._report)
                found = self._stages.make_chain_use(*stage, written, used.alias if alias is None else alias)
            elif self._operators.is_operator(used.name) or self._imported_module(used) is not None:
                self._report.add(repeated_stages.chain_without_stage_diagnostic(used))
            else:
                self._stages.report_unknown_step(self._module, used)
        if found is None:
            self._stages.mark_incomplete()
        return [] if found is None else [found]

    def _columns(self, written: ast.ColumnSplit, spot: StructureContext) -> ir.Product:
        read_annotations(written.annotations, STEPS, self._report)
        found = [self._selector(selector) for selector, _ in written.parts]
        everything = tuple(dict.fromkeys(each for each in found if each is not None))
        selectors: dict[ir.ColumnSelector, Span] = {}
        parts: list[ir.Node] = []
        for selector, (name, part) in zip(found, written.parts, strict=True):
            if selector is not None and selector in selectors:
                related = (RelatedPlace(selectors[selector], "the first one"),)
                self._report.add(RepeatedColumnSelector(name.span, selector=name.span.text, related=related))
            node = self._part(part, spot, selector, everything)
            if selector is not None and selector not in selectors:
                selectors[selector] = name.span
                parts.append(node)
        return ir.Product(ir.ProductKind.COLUMNS, tuple(parts), written.span, tuple(selectors))

    def _part(
        self,
        written: ast.Structure,
        spot: StructureContext,
        selector: ir.ColumnSelector | None,
        selectors: tuple[ir.ColumnSelector, ...],
    ) -> ir.Node:
        """Return a part of `columns(…)`.

        If the part receives no column of the data, mistakes in it that the size of the data causes are not reported.
        """
        draft, before = self._operators.draft, len(self._report.found)
        received = draft.columns
        if received is not None and selector is not None:
            draft.columns = tuple(each for each in received if is_selected(each, selector, selectors) is not False)
        node = self.read_node(written, spot)
        if draft.columns == ():
            self._report.discard_data_dependent(before)
        draft.columns = received
        return node

    def _selector(self, written: ast.Word | ast.QuotedString) -> ir.ColumnSelector | None:
        if isinstance(written, ast.Word):
            if written.text in COLUMN_KINDS:
                return ir.ColumnSelector(written.text)
            near, listed = nearest_name(written.text, COLUMN_KINDS), ", ".join(f"`{name}`" for name in COLUMN_KINDS)
            self._report.add(UnknownColumnSelector(written.span, name=written.text, near=near, listed=listed))
            return None
        try:
            re.compile(written.value)
        except re.error as error:
            self._report.add(InvalidColumnPattern(written.span, reason=str(error)))
            return None
        return ir.ColumnSelector("pattern", written.value)

    def _permutation(self, written: ast.Permutation, spot: StructureContext, alias: ast.Word | None) -> ir.Product:
        """Return a permutation: the decision on the order of its steps, and the steps."""
        read_annotations(written.annotations, STEPS, self._report)
        wanted = "order" if alias is None else structure_title(written)
        called = self.assign_name(wanted, alias, written.span, spot)
        place = spot.place.child(called)
        self._stages.around.append("permute(…)")
        steps = tuple(self.read_node(part, spot) for part in written.parts)
        self._stages.around.pop()
        if len(steps) > MAX_PERMUTED_STEPS:
            self._report.add(TooManyPermutedSteps(written.span, steps=len(steps), limit=MAX_PERMUTED_STEPS))
            return ir.Product(ir.ProductKind.SEQUENCE, steps, written.span)
        labels = _unique_titles(step_labels(written))
        orders = tuple(
            ir.Branch(ir.name_of_step_order(o), ir.SKIPPED_STEP, span=written.span) for o in permutations(labels)
        )
        order = ir.Choice(called, place.address, place.key, orders, span=written.span)
        return ir.Product(ir.ProductKind.PERMUTATION, (order, *steps), written.span, labels=labels)


def _unique_titles(titles: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for wanted in titles:
        found[unique_name(wanted, found)] = None
    return tuple(found)

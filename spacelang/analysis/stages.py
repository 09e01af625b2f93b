"""Items of a file to a draft of the tree: header, stages, the pipeline line, constraints."""

from typing import Final

from spacelang.analysis import alternatives, annotations
from spacelang.analysis.bodies import OperatorReader
from spacelang.analysis.drafts import Draft, PendingRule, Scope
from spacelang.analysis.modules import Module, head
from spacelang.analysis.places import Place
from spacelang.analysis.report import Report
from spacelang.catalog.catalogue import Catalogue
from spacelang.diagnostics.diagnostic import Diagnostic, Related
from spacelang.diagnostics.files import NoStage
from spacelang.diagnostics.names import DuplicateName, UnknownStep, UnreachableStage
from spacelang.diagnostics.structure import MisplacedAnnotation
from spacelang.diagnostics.syntax import NotSupportedYet
from spacelang.ir import space as ir
from spacelang.suggest import nearest
from spacelang.syntax import ast
from spacelang.text import Span

_LATER: Final = {
    ast.Import: ("`import`", "write its stages into this file"),
    ast.Use: ("`use`", "choose among the operators of scikit-learn"),
    ast.Params: ("`params`", "write the hyperparameters into each body"),
    ast.Abstract: ("`abstract`", "choose among the operators of scikit-learn"),
    ast.Task: ("`task`", "give metric, validation and limits as options of `spacelang run`"),
}
"""Items that cannot be compiled yet, and what to do instead."""

_SIGNS: Final = {"|": "a choice in the pipeline", "&": "`&`"}


class StageReader:
    """Reads the stages and the pipeline of a module."""

    def __init__(self, module: Module, catalogue: Catalogue, report: Report) -> None:
        self._module = module
        self._catalogue = catalogue
        self._report = report
        self._damaged = module.damaged
        self._is_torn = module.is_torn
        self.draft = Draft(ir.NOTHING, dubious=set(module.damaged), is_whole=not module.is_torn)
        self._operators = OperatorReader(catalogue, self.draft, report)
        self._stages: dict[str, ir.Choice] = {}
        self._first: Span | None = None
        self._is_misnamed = False

    def read(self) -> Draft:
        """The draft of the module."""
        for item in self._module.file.items:
            match item:
                case ast.Stage() if item is self._module.stages[item.name.text]:
                    self._stage(item)
                case ast.Rule():
                    self.draft.rules.append(PendingRule(item, Scope()))
                case ast.Import() | ast.Use() | ast.Params() | ast.Abstract() | ast.Task():
                    self._refuse(item)
                case _:
                    pass
        self.draft.root = self._root(self._module.file, self._module.pipeline)
        return self.draft

    def _refuse(self, item: ast.Import | ast.Use | ast.Params | ast.Abstract | ast.Task) -> None:
        construct, instead = _LATER[type(item)]
        self._report.add(NotSupportedYet(primary=head(item), construct=construct, instead=instead))
        if isinstance(item, ast.Use):
            self._operators.refuse(item.name.words[0].text)
        elif isinstance(item, ast.Abstract):
            self._operators.refuse(item.name.text)
        elif isinstance(item, ast.Import):
            self._is_torn = True  # The stages may be those of the other file.
            if item.alias is not None:
                self._operators.refuse(item.alias.text)
                self.draft.dubious.add(item.alias.text)

    def _stage(self, stage: ast.Stage) -> None:
        name = stage.name.text
        alternatives.check_name(stage.name, self._report)
        advice = annotations.read(stage.annotations, "stages", self._report)
        if advice.first:
            self._check_first(annotations.place_of("first", stage.annotations))
        branches, default = alternatives.read(stage.structure, Place(name, name), self._operators.read, self._report)
        if not branches:
            self.draft.dubious.add(name)
        self._stages[name] = ir.Choice(name, name, name, branches, default, advice.first, stage.name.span)

    def _check_first(self, mark: Span) -> None:
        if self._first is not None:
            related = (Related(self._first, "the other one"),)
            problem, reason = "marks a second stage", "one is enough"
            self._report.add(
                MisplacedAnnotation(primary=mark, name="first", problem=problem, reason=reason, related=related)
            )
        self._first = self._first or mark

    def _root(self, file: ast.File, pipeline: ast.Pipeline | None) -> ir.Node:
        self.draft.declared.extend(self._stages.values())
        if pipeline is None:
            if not self._stages and not self._is_torn:
                self._report.add(NoStage(primary=Span(file.span.source, 0, 0)))
            return ir.Product(ir.Kind.SEQUENCE, tuple(self._stages.values()), file.span)
        used: dict[str, Span] = {}
        steps = self._steps(pipeline.structure, used)
        for name, stage in self._stages.items():
            if name not in used and not self._is_misnamed:
                self._report.add(UnreachableStage(primary=stage.span, name=name))
        self.draft.declared.extend(step for step in steps if isinstance(step, ir.Operator))
        return ir.Product(ir.Kind.SEQUENCE, tuple(steps), pipeline.span)

    def _steps(self, structure: ast.Structure, used: dict[str, Span]) -> list[ir.Node]:
        match structure:
            case ast.Joined(sign="->", parts=parts):
                return [step for part in parts for step in self._steps(part, used)]
            case ast.Group(part=part, alias=None, annotations=()):
                return self._steps(part, used)
            case ast.Operator():
                return self._step(structure, used)
            case ast.Joined():
                construct = _SIGNS[structure.sign]
            case ast.Maybe():
                construct = "`?`"
            case ast.Columns():
                construct = "`columns`"
            case ast.Permute():
                construct = "`permute`"
            case ast.Nothing() | ast.Group():
                construct = "this structure in the pipeline"
        for part in _named_parts(structure):
            used.setdefault(part.name.text, part.span)
            self._check_step(part)
        instead = "declare a stage for each decision and join the stages by `->`"
        return self._without(NotSupportedYet(primary=structure.span, construct=construct, instead=instead))

    def _step(self, written: ast.Operator, used: dict[str, Span]) -> list[ir.Node]:
        name = written.name.text
        called = name if written.alias is None else written.alias.text
        annotations.read(written.annotations, "steps of the pipeline", self._report)
        if not self._check_step(written):
            return []
        is_stage = name in self._stages or name in self._damaged
        if called in used or (called in self._stages and not is_stage):
            first = used.setdefault(called, self._stages[called].span if called in self._stages else written.span)
            return self._without(self._taken(written, called, first, is_stage=is_stage))
        used[called] = written.span
        if name in self._damaged:
            return []
        if is_stage and (written.body is not None or written.alias is not None):
            construct, instead = "a stage with a body or another name in the pipeline", f"write `{name}`"
            used[name] = written.span
            return self._without(NotSupportedYet(primary=written.span, construct=construct, instead=instead))
        if is_stage:
            return [self._stages[name]]
        if written.alias is not None:
            alternatives.check_name(written.alias, self._report)
        return [self._operators.read(written.name, written.body, Place(called, called))]

    def _check_step(self, written: ast.Operator) -> bool:
        """Whether a step is a stage (damaged or not) or an operator; else that is reported."""
        name = written.name.text
        if name in self._stages or name in self._damaged or name in self._catalogue:
            return True
        self._is_misnamed = True
        if self._operators.is_refused(written.name):
            self.draft.is_whole = False
            return False
        near = nearest(name, [*self._stages, *self._catalogue])
        self._without(UnknownStep(primary=written.name.span, name=name, near=near))
        return False

    def _taken(self, written: ast.Operator, called: str, first: Span, *, is_stage: bool) -> Diagnostic:
        if is_stage:
            return NotSupportedYet(primary=written.name.span, construct="a stage that is used twice")
        if written.alias is None:
            construct = "an operator that is used twice without another name"
            return NotSupportedYet(primary=written.name.span, construct=construct, instead=f"write `{called} as …`")
        related = (Related(first, "first used here"),)
        remedy = "choose another name after `as`"
        return DuplicateName(primary=written.alias.span, kind="step", name=called, remedy=remedy, related=related)

    def _without(self, problem: Diagnostic) -> list[ir.Node]:
        """No step, because of a problem: what is left of the pipeline is not judged by its places."""
        self._report.add(problem)
        self.draft.is_whole = False
        return []


def _named_parts(structure: ast.Structure) -> list[ast.Operator]:
    match structure:
        case ast.Operator():
            return [structure]
        case ast.Joined(parts=parts) | ast.Permute(parts=parts):
            return [name for part in parts for name in _named_parts(part)]
        case ast.Columns(parts=columns):
            return [name for _, part in columns for name in _named_parts(part)]
        case ast.Maybe(part=part) | ast.Group(part=part):
            return _named_parts(part)
        case ast.Nothing():
            return []

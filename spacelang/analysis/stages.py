"""Stages and the pipeline of a module: build the draft of the tree. Every use of a stage is a separate decision."""

from dataclasses import replace
from typing import Final

from spacelang.analysis import alternatives, declarations, repeated_stages
from spacelang.analysis.alternatives import alternatives_of_structure, mentioned_operators
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.imported_modules import Module
from spacelang.analysis.literal_values import read_annotations, span_of_annotation
from spacelang.analysis.operators import BodyReader, OperatorReader
from spacelang.analysis.parameter_groups import BodyMember, ParameterGroupExpander
from spacelang.analysis.space_drafts import (
    AddressPrefix,
    Definition,
    PendingConstraint,
    Scope,
    SpaceDraft,
    StageNameResolver,
    UnexpandedChain,
)
from spacelang.analysis.structure_reader import StructureContext, StructureReader
from spacelang.catalog.catalogue import FileCatalogues
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.names import UnknownPipelineStep, UnreachableStage
from spacelang.diagnostics.reading import NoPipelineOrStage, TextTooLarge
from spacelang.diagnostics.structure import MisplacedAnnotation, RecursiveStage, StageWithBody
from spacelang.ir import space as ir
from spacelang.ir.data_binding import DataColumn
from spacelang.ir.repeated_stages import MAX_USES_IN_CHAIN, name_of_nth_use
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span

CHAIN: Final = "repeat(…)"  # The form around the uses of a chain
MAX_DEPTH: Final = 32
MAX_USES: Final = 500  # The maximum number of repeated uses of stages in a space


class StageReader:
    """A reader of the stages and the pipeline of a module, and of what it uses from imported modules."""

    def __init__(
        self,
        module: Module,
        catalogue: FileCatalogues,
        report: DiagnosticCollector,
        columns: tuple[DataColumn, ...] | None = None,
    ) -> None:
        """Create the reader; `columns` are those that the pipeline can receive, None for a space without data."""
        self._module = module
        self._catalogue = catalogue
        self._report = report
        self._names = StageNameResolver(module)
        self._top = StructureContext(AddressPrefix("", "", self._names))
        self._modules: dict[int, Module] = {}
        self._readers: dict[int, tuple[OperatorReader, StructureReader]] = {}
        self._groups = ParameterGroupExpander(report)
        self._open: list[tuple[Module, ast.Stage]] = []
        self._cycles: set[frozenset[str]] = set()
        self._first: tuple[ast.Stage, Span] | None = None
        self._is_misnamed = False
        self._is_full = False
        self.around: list[str] = []
        self.draft = SpaceDraft(
            ir.SKIPPED_STEP, dubious=set(module.damaged), is_whole=not module.has_unreadable_items, columns=columns
        )

    def read(self) -> SpaceDraft:
        """Return the draft of the module."""
        taken = self._reserve_values(self._module)
        steps = self._steps(self._module)
        values = [*self._values(self._module, taken), *self._imported_values()]
        root = ir.Product(ir.ProductKind.SEQUENCE, (*values, *steps), self._span)
        unused = [stage for stage in self._module.stages.values() if not self._is_used(self._module, stage)]
        for stage in unused:
            # A part that could not be parsed may have named it.
            if not (self._is_misnamed or self._module.damaged or self._module.has_unreadable_items):
                self._report.add(UnreachableStage(stage.name.span, name=stage.name.text))
        # Read unused stages last: their names must not clash with those of the pipeline, such as stages of other files.
        left_out = [self._read_use(self._module, stage, None) for stage in unused]
        uses = [use for chain in self.draft.chains.values() for use in chain.uses]
        self.draft.declared.extend((root, *left_out, *uses))
        self.draft.root = repeated_stages.expand_chains_in_tree(root, self.draft.chains)
        self._add_rules()
        declarations.check_reusable_declarations(self._module, self._catalogue, self._groups, self._report)
        return self.draft

    def _reserve_values(self, module: Module) -> dict[str, str]:
        """Reserve an address for each `var` of a file and return it by name; record the `let` lines in the draft.

        The address differs from the name if a stage of another file has that name.
        """
        _, structures = self._readers_of(module)
        found = {}
        for item in module.values.values():
            if isinstance(item, ast.Parameter):
                found[item.name.text] = structures.assign_name(item.name.text, None, item.name.span, self._top)
                self._names.uses[id(module), item.name.text] = [found[item.name.text]]
            else:
                names = self._names.in_module(module)
                definition = Definition(item.name, item.expression, Scope(names=names))
                self.draft.definitions[id(module), item.name.text] = definition
                self.draft.lets.append(definition)
        return found

    def _values(self, module: Module, addresses: dict[str, str]) -> list[ir.Node]:
        """Return the hyperparameters that the `var` lines of a file declare."""
        operators, _ = self._readers_of(module)
        place = AddressPrefix("", "", self._names.in_module(module))
        reader = BodyReader(operators, None, place)
        for item in module.values.values():
            if isinstance(item, ast.Parameter):
                called = replace(item, name=replace(item.name, text=addresses[item.name.text]))
                reader.read([BodyMember(called, module)])
        return [*reader.children]

    def _imported_values(self) -> list[ir.Node]:
        """Return the hyperparameters that the `var` lines of all imported files declare."""
        found: list[ir.Node] = []
        for module in declarations.all_modules(self._module)[1:]:
            found += self._values(module, self._reserve_values(module))
        self.draft.imported.update(each.address for each in found if isinstance(each, ir.Hyperparameter))
        return found

    @property
    def _span(self) -> Span:
        pipeline = self._module.pipeline
        return self._module.file.span if pipeline is None else pipeline.span

    def _steps(self, module: Module) -> list[ir.Node]:
        """Return the steps of a module's pipeline, or all stages that no other stage contains if it has none."""
        self._modules[id(module)] = module
        _, structures = self._readers_of(module)
        if module.pipeline is not None:
            # Names in the bodies of an imported pipeline are resolved in the imported file.
            spot = StructureContext(AddressPrefix("", "", self._names.in_module(module)), self._top.taken)
            return structures.read_steps(module.pipeline.structure, spot)
        if not module.stages and not module.has_unreadable_items:
            self._report.add(NoPipelineOrStage(Span(module.source, 0, 0)))
        inner = {part.name.text for stage in module.stages.values() for part in mentioned_operators(stage.structure)}
        outer = [stage for name, stage in module.stages.items() if name not in inner]
        # If every stage is contained in another one, read the first, to report the cycle.
        return [self._read_use(module, stage, None) for stage in outer or [*module.stages.values()][:1]]

    def _readers_of(self, module: Module) -> tuple[OperatorReader, StructureReader]:
        if id(module) not in self._readers:
            operators = OperatorReader(module, self._catalogue, self.draft, self._report, self._groups)
            operators.reader_of_module = lambda home: self._readers_of(home)[0]
            structures = StructureReader(module, operators, self, self._report)
            operators.read_alternatives = structures.read_alternatives
            self._readers[id(module)] = operators, structures
        return self._readers[id(module)]

    # ---- methods for the reader of structures

    def make_stage_use(
        self, home: Module, stage: ast.Stage, written: ast.OperatorReference, spot: StructureContext
    ) -> ir.Choice | None:
        """Return a further use of a stage as a decision, or None after reporting recursion or too many uses."""
        if not self._may_use(home, stage, written.name.span):
            return None
        if CHAIN in self.around:
            # Each use of a chain has decisions of its own, with names that begin with that of the use.
            _, structures = self._readers_of(home)
            called = structures.assign_name(stage.name.text, written.alias, written.span, spot)
            place = spot.place.child(called)
            self._register_use(home, stage, place.address)
            return self._read(home, stage, called, place, is_again=True)
        return self._read_use(home, stage, written)

    def make_chain_use(
        self, home: Module, stage: ast.Stage, written: ast.Repetition, alias: ast.Word | None
    ) -> ir.Choice | None:
        """Return a chain as a decision without alternatives yet, or None after reporting a mistake."""
        mistakes = [*repeated_stages.chain_diagnostics(written, stage, self.around)]
        for mistake in mistakes:
            self._report.add(mistake)
        is_allowed = self._may_use(home, stage, written.span) and not mistakes
        called = self._structures.assign_name(stage.name.text, alias, written.span, self._top)
        is_again = self._register_use(home, stage, called)
        if not is_allowed:
            self.draft.dubious.update(
                (called, *(name_of_nth_use(called, place) for place in range(MAX_USES_IN_CHAIN + 1)))
            )
            return None
        self._names.chains.add(called)
        least, most = (int(each.value) for each in written.counts)
        self.around.append(CHAIN)
        uses: list[ir.Choice] = []
        for place in range(1, most + 1):
            before, use = len(self._report.found), name_of_nth_use(called, place)
            uses.append(self._read(home, stage, use, AddressPrefix(use, use), is_again=True))
            if place > 1:
                # The first use has the same mistakes.
                del self._report.found[before:]
        self.around.pop()
        is_first = not is_again and any(each.name.text == "first" for each in stage.annotations)
        if is_first:
            self._check_first(stage)
        chain = UnexpandedChain(called, stage.name.text, is_first, tuple(uses), least, written.span)
        self.draft.chains[called] = chain
        return chain.decision

    def _may_use(self, home: Module, stage: ast.Stage, span: Span) -> bool:
        """Return True if a stage may be used here; False after reporting recursion or too many uses."""
        names = [open_stage.name.text for module, open_stage in self._open if module is home]
        if any(open_stage is stage for _, open_stage in self._open):
            path = [*names[names.index(stage.name.text) :], stage.name.text]
            described = f"`{path[0]}` contains " + ", which contains ".join(f"`{name}`" for name in path[1:])
            if frozenset(path) not in self._cycles:
                # The same cycle is found from each of its stages: report it once.
                self._report.add(RecursiveStage(span, stage=stage.name.text, path=described))
                self._cycles.add(frozenset(path))
            self.mark_incomplete()
            return False
        return not self._exceeds_limits(span)

    def _exceeds_limits(self, span: Span) -> bool:
        """Return True after reporting stages nested too deeply or used too often: few lines can ask for millions."""
        if self._is_full:
            return True
        uses = sum(len(called) for called in self._names.uses.values()) - len(self._names.uses)
        if len(self._open) > MAX_DEPTH:
            self._report.add(TextTooLarge(span, quantity="the nesting depth of stages", limit=str(MAX_DEPTH)))
        elif uses > MAX_USES:
            self._report.add(
                TextTooLarge(
                    span, quantity="the number of times that stages are used in the pipeline", limit=f"{MAX_USES:,}"
                )
            )
        else:
            return False
        self._is_full = self._is_misnamed = True
        self.mark_incomplete()
        return True

    def steps_of_imported_pipeline(self, module: Module, written: ast.OperatorReference) -> list[ir.Node]:
        """Return the steps of the whole pipeline of an imported module; none after reporting that it is in a chain."""
        if written.alias is not None:
            self._report.add(StageWithBody(written.alias.span, stage=written.name.text, kind="a whole space"))
        if CHAIN in self.around:
            self._report.add(repeated_stages.imported_pipeline_in_chain_diagnostic(written))
            self.mark_incomplete()
            return []
        return self._steps(module)

    def top_level_context(self, spot: StructureContext) -> StructureContext:
        """Return the context of the top level of the pipeline, but `spot` itself inside a chain."""
        if CHAIN in self.around:
            return spot
        return StructureContext(replace(spot.place, address="", key=""), self._top.taken)

    def report_unknown_step(self, module: Module, written: ast.OperatorReference) -> None:
        """Report a step that is neither a stage nor an operator, unless its catalogue was refused."""
        self._is_misnamed = True
        self.mark_incomplete()
        operators, _ = self._readers_of(module)
        if not operators.finder.is_in_refused_catalogue(written.name):
            home, rest = module.resolve_module_prefix(written.name)
            before = written.name.text.removesuffix(rest)
            near = nearest_name(written.name.text, [*(f"{before}{stage}" for stage in home.stages), *self._catalogue])
            hint = operators.finder.package_hint(written.name, home.stages)
            unknown = UnknownPipelineStep(written.name.span, name=written.name.text, near=near, hint=hint)
            self._report.add(operators.finder.other_catalogue_diagnostic(written.name) or unknown)

    def mark_incomplete(self) -> None:
        """Record that the pipeline lacks a part because of a mistake, so that positions are not checked."""
        self.draft.is_whole = False

    # ---- stages

    def _is_used(self, module: Module, stage: ast.Stage) -> bool:
        return (id(module), stage.name.text) in self._names.uses

    def _read_use(self, home: Module, stage: ast.Stage, written: ast.OperatorReference | None) -> ir.Choice:
        alias = None if written is None else written.alias
        span = stage.name.span if written is None else written.span
        called = self._structures.assign_name(stage.name.text, alias, span, self._top)
        is_again = self._register_use(home, stage, called)
        return self._read(home, stage, called, AddressPrefix(called, called), is_again=is_again)

    @property
    def _structures(self) -> StructureReader:
        return self._readers_of(self._module)[1]

    def _register_use(self, home: Module, stage: ast.Stage, address: str) -> bool:
        """Register a use of a stage; return True if the stage was used before."""
        uses = self._names.uses.setdefault((id(home), stage.name.text), [])
        uses.append(address)
        return len(uses) > 1

    def _read(self, home: Module, stage: ast.Stage, called: str, place: AddressPrefix, *, is_again: bool) -> ir.Choice:
        self._modules[id(home)] = home
        alternatives.check_name(stage.name, self._report)
        advice = read_annotations(stage.annotations, "stages", self._report)
        if advice.first and not is_again:
            self._check_first(stage)
        names = self._names.in_module(home).inside_stage(stage.name.text, place.address)
        _, structures = self._readers_of(home)
        self._open.append((home, stage))
        branches, default = structures.read_alternatives(
            alternatives_of_structure(stage.structure), replace(place, names=names)
        )
        self._open.pop()
        if not branches:
            self.draft.dubious.add(place.address)
        is_first = advice.first and not is_again
        return ir.Choice(called, place.address, place.key, branches, default, is_first, stage.name.span)

    def _check_first(self, stage: ast.Stage) -> None:
        mark = span_of_annotation("first", stage.annotations)
        if self._first is not None:
            related = (RelatedPlace(self._first[1], "the other one"),)
            problem, reason = "already marks another stage", "one is enough"
            self._report.add(MisplacedAnnotation(mark, name="first", problem=problem, reason=reason, related=related))
        self._first = self._first or (stage, mark)

    # ---- constraints of files

    def _add_rules(self) -> None:
        for module in {id(self._module): self._module, **self._modules}.values():
            scope = Scope(names=self._names.in_module(module))
            for rule in module.rules:
                if module is self._module or self._is_in_use(module, rule):
                    self.draft.rules.append(PendingConstraint(rule, scope))
        own = self._module.source.name
        self.draft.rules.sort(
            key=lambda pending: (pending.rule.span.source.name != own, pending.rule.span.source.name, pending.rule.span)
        )

    def _is_in_use(self, module: Module, rule: ast.ConstraintStatement) -> bool:
        named = {name.words[0].text for name in ast.names_in(rule.expression)} & module.stages.keys()
        return all(self._is_used(module, module.stages[name]) for name in named)

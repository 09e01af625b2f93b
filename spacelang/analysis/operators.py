"""Operators as they are written: look each up in the catalogues or the declarations, and read its body."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeGuard

from spacelang.analysis import alternatives, hyperparameter_defaults, parameter_checks, space_drafts, tuple_parameters
from spacelang.analysis.alternatives import Alternative
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.domains import DomainReader, domain_text, widest_domain
from spacelang.analysis.imported_modules import Module
from spacelang.analysis.literal_values import InvalidValue, OperatorFinder, literal_value, read_annotations
from spacelang.analysis.parameter_checks import ParameterChecker
from spacelang.analysis.parameter_groups import BodyMember, ParameterGroupExpander
from spacelang.analysis.ranges import has_named_bounds
from spacelang.catalog.catalogue import CatalogueEntry, FileCatalogues, Parameter
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.names import UnknownNameInImport
from spacelang.diagnostics.parameters import UnknownParameter, VarNamedLikeParameter
from spacelang.diagnostics.reading import UnexpectedText
from spacelang.ir import space as ir
from spacelang.ir.domain import BOOLEANS, Domain, Grid, NotFound, parts, spell_parameter_name
from spacelang.ir.expr import Constant
from spacelang.ir.walk import unique_value_name
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span, parameter_name_problem

ReadOperator = Callable[[ast.DottedName, ast.Body | None, space_drafts.AddressPrefix], ir.Operator]
ReadAlternatives = Callable[
    [Sequence[Alternative], space_drafts.AddressPrefix, ReadOperator, bool], tuple[tuple[ir.Branch, ...], int]
]
"""`StructureReader.read_alternatives`, which imports this module."""
MAX_LISTED: Final = 12


class OperatorReader:
    """A reader of the operators in the text of one module, with their bodies. The results go into a draft."""

    def __init__(
        self,
        module: Module,
        catalogue: FileCatalogues,
        draft: space_drafts.SpaceDraft,
        report: DiagnosticCollector,
        groups: ParameterGroupExpander | None = None,
    ) -> None:
        self._module = module
        self._catalogue = catalogue
        self.draft = draft
        self.report = report
        self.finder = OperatorFinder(catalogue, report)
        self.groups = ParameterGroupExpander(report) if groups is None else groups
        self.read_alternatives: ReadAlternatives | None = None
        self.reader_of_module: Callable[[Module], OperatorReader] | None = None
        """A function that returns the reader of another module, set by the reader of stages."""

    def reader_for_module(self, home: Module) -> "OperatorReader":
        """Return the reader for the text of another module."""
        return self if home is self._module or self.reader_of_module is None else self.reader_of_module(home)

    def is_operator(self, name: ast.DottedName) -> bool:
        """Return True if an operator of this name is declared or in a catalogue."""
        home, rest = self._module.resolve_module_prefix(name)
        return rest in home.abstracts or name.text in self._catalogue

    def is_operator_stage_or_import(self, name: ast.DottedName) -> bool:
        """Return True if a name stands for an operator, a stage or an imported file."""
        home, rest = self._module.resolve_module_prefix(name)
        return self.is_operator(name) or rest in home.stages or rest in home.imports

    def read_as_parameter_value(
        self,
        name: ast.DottedName,
        body: ast.Body | None,
        place: space_drafts.AddressPrefix,
        parameter: Parameter | None,
    ) -> ir.Operator:
        """Return the operator at a place where a parameter could also have a domain of plain values."""
        word, hint = name.text, None
        if parameter is not None and word in parameter.accepted_words:
            hint = f"`{parameter.name} = {word}` fixes a value, `{parameter.name} : {{{word}, …}}` lets it vary"
        return self.read(name, body, place, hint, ("bool",))

    def read(
        self,
        name: ast.DottedName,
        body: ast.Body | None,
        place: space_drafts.AddressPrefix,
        hint: str | None = None,
        others: Collection[str] = (),
    ) -> ir.Operator:
        """Return the operator with its body.

        An unknown name is reported, with a remedy from `hint` and the names `others`.
        """
        home, word = self._module.resolve_module_prefix(name)
        declaration = home.abstracts.get(word)
        if declaration is not None:
            return self._abstract(name, body, place, home, declaration)
        entry = self._find(name, home, word, hint, others)
        if entry is not None:
            parameter_checks.check_operator_deprecation(name, entry, self.report)
        reader = BodyReader(self, entry, place)
        reader.read(() if body is None else self.groups.members_of_body(body, self._module))
        if entry is not None:
            parameter_checks.check_tuple_and_elements(entry, reader.names, self.report)
            given = self._module.words_of_unreadable_lines.union(reader.names)  # may be parameters
            parameter_checks.check_required_parameters_given(name, entry, given, self._catalogue, self.report)
        word, library = (name.text, self._catalogue.default_name) if entry is None else (entry.name, entry.catalogue)
        return reader.build_operator(word, library, name.span)

    def _abstract(
        self,
        name: ast.DottedName,
        body: ast.Body | None,
        place: space_drafts.AddressPrefix,
        home: Module,
        declaration: ast.AbstractOperator,
    ) -> ir.Operator:
        """Return a use of an abstract operator. Without a body in its declaration, it takes any parameters."""
        used = RelatedPlace(name.span, "used here")
        declared = None
        if declaration.body is not None:
            declared = [m.name for m in self.groups.declared_members(declaration, home) if m.name is not None]
        reader = BodyReader(self, None, place, declaration if declared is not None else None, declared or ())
        reader.read(self.groups.members_of_abstract_operator_use(declaration, home, body, self._module, used))
        return reader.build_operator(declaration.name.text, ir.ABSTRACT_CATALOGUE, name.span)

    def check_group_members(self, members: Sequence[BodyMember]) -> None:
        """Check the plain domains in a group: nothing else can be checked before an operator includes it."""
        simple = [given for given in members if given.through is None and _has_independent_domain(given.member)]
        BodyReader(self, None, space_drafts.AddressPrefix("", "")).read(simple)

    def _find(
        self, name: ast.DottedName, home: Module, word: str, hint: str | None, others: Collection[str]
    ) -> CatalogueEntry | None:
        if word in home.damaged:
            return None
        if home is self._module:
            return self.finder.find(name, hint, others)
        if not home.is_possibly_declared(word):
            self.report.add(undeclared_imported_name_diagnostic(name, home, word))
        return None

    def catalogue_entry_of(self, operator: ir.Operator) -> CatalogueEntry | None:
        """Return the catalogue entry of an operator, or None if the operator is abstract or unknown."""
        return self._catalogue.entry_in_catalogue(operator.catalogue, operator.name)

    def is_catalogue_name(self, name: str) -> bool:
        """Return True if a name is that of a catalogue in use."""
        return name in self._catalogue.used


def undeclared_imported_name_diagnostic(written: ast.DottedName, home: Module, word: str) -> UnknownNameInImport:
    """Return the diagnostic that an imported file does not declare a name."""
    names = [*home.stages, *home.abstracts]
    near = nearest_name(word, names)
    before = written.text.removesuffix(word)
    listed = ", ".join(f"`{name}`" for name in names[:MAX_LISTED]) + (", …" if len(names) > MAX_LISTED else "")
    near = None if near is None else f"{before}{near}"
    return UnknownNameInImport(written.span, file=home.source.name, word=word, near=near, names=listed or None)


def _has_independent_domain(member: ast.NamedMember | ast.ConstraintStatement) -> bool:
    return (
        isinstance(member, ast.Parameter)
        and not alternatives.is_choice_of_operators(member.domain, lambda _: False)
        and not has_named_bounds(member.domain)
    )


class BodyReader:
    """A reader of the members of one operator body."""

    def __init__(
        self,
        operators: "OperatorReader",
        entry: CatalogueEntry | None,
        place: space_drafts.AddressPrefix,
        declaration: ast.AbstractOperator | None = None,
        declared: Collection[str] = (),
    ) -> None:
        """Create a reader of the body of one operator.

        `entry` is the catalogue entry of the operator, or None if it is abstract or unknown. An abstract operator has
        its `declaration`, and `declared` are the only names that members of the body may have.
        """
        self._body = operators
        self._operators = operators
        self._report = operators.report
        self._entry = entry
        self._declaration = declaration
        self._declared = declared
        self._body_place = place
        self._place = place
        self.names: dict[str, ast.Word] = {}
        branches = operators.draft.branches
        self._body_scope = space_drafts.Scope(
            place.address, names=place.names, branch=branches[-1] if branches else None
        )
        self.scope = self._body_scope
        self.children: list[ir.Hyperparameter | ir.Choice] = []
        self.fixed: list[tuple[str, ir.FixedValue]] = []
        self.computed: list[ir.ComputedParameter] = []
        self.tuples: list[ir.TupleParameter] = []

    def build_operator(self, name: str, catalogue: str, span: Span) -> ir.Operator:
        """Return the operator with the members that were read."""
        computed, tuples = tuple(self.computed), tuple(self.tuples)
        return ir.Operator(name, catalogue, tuple(self.children), tuple(self.fixed), span, computed, tuples)

    def read(self, members: Sequence[BodyMember]) -> None:
        """Read the members of the body; names in a member are resolved by the module whose text contains the member."""
        groups = self._body.groups
        for given in members:
            if groups.check_recursion_and_depth(given):
                with groups.attribute_diagnostics_to_include(given):
                    self._set_module(given)
                    self._member(given.member)

    def _set_module(self, given: BodyMember) -> None:
        """Set the module by which names in a member are resolved; siblings are always those of the body."""
        self._operators = self._body.reader_for_module(given.home)
        self._place, self.scope = self._body_place, self._body_scope
        if self._operators is not self._body:
            self._place = replace(self._place, names=self._place.names.in_module(given.home))
        if given.through is not None:
            self.scope = replace(self.scope, names=self._place.names, through=given.through)

    def _member(self, member: ast.NamedMember | ast.ConstraintStatement) -> None:
        match member:
            case ast.Parameter(is_var=True):
                self._var(member)
            case ast.ParameterFormula():
                self._computed(member)
            case ast.Let():
                self._let(member)
            case ast.Parameter():
                self._parameter(member)
            case ast.FixedParameter():
                self._fixed(member)
            case ast.ConstraintStatement():
                self._operators.draft.rules.append(space_drafts.PendingConstraint(member, self.scope))

    def _computed(self, written: ast.ParameterFormula) -> None:
        checker, name = self._checker_of(written.name), written.name
        definition = self._define(name, written.expression)
        address = self._place.child(name.text).address
        self._operators.draft.computations.append(space_drafts.PendingComputedParameter(address, definition, checker))
        self.computed.append(ir.ComputedParameter(name.text, address, Constant(None), name.span))

    def _let(self, written: ast.Let) -> None:
        alternatives.check_name(written.name, self._report)
        self._operators.draft.lets.append(self._define(written.name, written.expression))

    def _define(self, name: ast.Word, expression: ast.Expression) -> space_drafts.Definition:
        inside = replace(self.scope, outer_name=name.text)
        self.scope.definitions[name.text] = space_drafts.Definition(name, expression, inside)
        return self.scope.definitions[name.text]

    def _var(self, written: ast.Parameter) -> None:
        """Read a `var`: a hyperparameter that is not passed to the operator; report one that cannot be a `var`."""
        name = written.name.text
        self._check_characters(written.name)
        if self._entry is not None and name in self._entry.parameters:
            operator = self._entry.name
            self._report.add(VarNamedLikeParameter(written.name.span, name=name, operator=operator))
        several = tuple_parameters.tuple_parts(written.domain)
        if several or alternatives.is_choice_of_operators(written.domain, lambda _: False):
            hint = f"a decision between operators is a stage: `stage {name} = …`"
            if several:
                hint = "only parameters of operators are tuples: declare a `var` for each element"
            found, expected = f"`{written.domain.span.text}`", "a range or a set of values"
            self._report.add(UnexpectedText(written.domain.span, found=found, expected=expected, hint=hint))
            self.scope.dubious.add(name)
            self._operators.draft.dubious.add(self._place.child(name).address)
            return
        self._hyperparameter(written, ParameterChecker(self._report))

    def _check_characters(self, name: ast.Word) -> None:
        reason = parameter_name_problem(name.text)
        if reason is not None:
            hint = f"the name {reason}"
            self._report.add(UnexpectedText(name.span, found=name.span.text, expected="a name", hint=hint))

    def _checker_of(self, name: ast.Word) -> ParameterChecker:
        self.names[name.text] = name
        self._check_characters(name)
        if self._declaration is not None and name.text not in self._declared:
            self._report_undeclared(name, self._declaration)
        parameter = None if self._entry is None else parameter_checks.find_parameter(name, self._entry, self._report)
        return ParameterChecker(self._report, self._entry, parameter)

    def _report_undeclared(self, name: ast.Word, declaration: ast.AbstractOperator) -> None:
        near = nearest_name(name.text, self._declared)
        near = None if near is None else spell_parameter_name(near)
        related = (RelatedPlace(declaration.name.span, "declared here"),)
        operator = declaration.name.text
        self._report.add(
            UnknownParameter(name.span, parameter=name.text, operator=operator, near=near, related=related)
        )

    def _parameter(self, written: ast.Parameter) -> None:
        checker = self._checker_of(written.name)
        is_choice_of_operators = alternatives.is_choice_of_operators(
            written.domain, partial(self._is_operator, parameter=checker.parameter)
        )
        several = tuple_parameters.tuple_parts(written.domain)
        if is_choice_of_operators and several:
            self._report.add(tuple_parameters.misplaced_tuple_diagnostic(several[0]))
            self.scope.dubious.add(written.name.text)
            self._operators.draft.dubious.add(self._place.child(written.name.text).address)
        elif several:
            self._tuple(written, checker)
        elif is_choice_of_operators:
            self._nested_decision(written, checker)
        else:
            self._hyperparameter(written, checker)

    def _tuple(self, written: ast.Parameter, checker: ParameterChecker) -> None:
        reader = tuple_parameters.TupleReader(self._place, self.scope, self._operators.draft, self._report)
        found = reader.read(written, checker)
        if found is not None:
            parameter, members = found
            self.tuples.append(parameter)
            self.children += members

    def _hyperparameter(self, written: ast.Parameter, checker: ParameterChecker) -> None:
        place, draft = self._place.child(written.name.text), self._operators.draft
        read = partial(
            self._read_hyperparameter, checker=checker, place=place, scope=self.scope, has_columns=draft.columns != ()
        )
        if has_named_bounds(written.domain):
            self.scope.addresses[written.name.text] = place.address
            draft.ranges.append(space_drafts.PendingRange(place.address, written, self.scope, read))
            found: ir.Hyperparameter | None = _placeholder(written, place, Grid(0, 1))
        else:
            found = read(written)
        if found is not None:
            self.children.append(found)

    def _read_hyperparameter(
        self,
        written: ast.Parameter,
        checker: ParameterChecker,
        place: space_drafts.AddressPrefix,
        scope: space_drafts.Scope,
        *,
        has_columns: bool,
    ) -> ir.Hyperparameter | None:
        before, draft = len(self._report.found), self._operators.draft
        domain = DomainReader(checker, self._report).read(written.domain)
        if self._report.symbols.unbound_symbols_in(written.domain.span):
            self._report.mark_data_dependent(before)
        elif domain is None and self._report.symbols.symbols_mentioned_in(written.domain.span):
            self._report.mark_possibly_caused_by_bindings(before)
        self._report.symbols.record_domain(written.name.span, written.domain)
        advice = read_annotations(written.annotations, "hyperparameters", self._report)
        if written.condition is not None:
            draft.conditions.append(space_drafts.PendingCondition(place.address, written.condition, scope))
        if domain is None and not has_columns:
            # The operator is in a part that receives no column, so only the kind of the domain matters.
            domain = widest_domain(written.domain)
        if domain is None:
            scope.dubious.add(written.name.text)
            draft.dubious.add(place.address)
            return (
                _placeholder(written, place) if self._report.symbols.symbols_mentioned_in(written.domain.span) else None
            )
        scope.addresses[written.name.text] = place.address
        draft.written_domains[place.address] = domain_text(written.domain.span, domain)
        found = ir.Hyperparameter(
            written.name.text,
            place.address,
            place.key,
            domain,
            hyperparameter_defaults.read_default(written, domain, checker.parameter, self._report),
            named=_named_values(domain, checker.parameter),
            prior=advice.prior,
            split=advice.split,
            span=written.name.span,
            is_var=written.is_var,
        )
        if self._report.symbols.symbols_mentioned_in(written.span):
            self._report.mark_possibly_caused_by_bindings(before)
        return found

    def _fixed(self, written: ast.FixedParameter) -> None:
        before = len(self._report.found)
        parameter = None if self._entry is None else self._entry.parameters.get(written.name.text)
        value = hyperparameter_defaults.read_fixed_value(written.value, parameter, self._report)
        if self._report.symbols.symbols_mentioned_in(written.value.span):
            self._report.mark_possibly_caused_by_bindings(before)
        if isinstance(value, InvalidValue):
            self._checker_of(written.name)
            self.scope.dubious.add(written.name.text)
            if written.condition is not None:
                self._operators.draft.dubious.add(self._place.child(written.name.text).address)
        elif written.condition is not None:
            self._parameter(_with_one_value(written, value, written.condition))
            if not isinstance(written.value, ast.OperatorValue):
                # If the number depends on the data, other data could give it any value that the arithmetic can have.
                ends = (written.value, written.value)
                number = ast.Range("float", *ends, False, False, log=None, step=None, span=value.span)
                self._report.symbols.record_domain(written.name.span, number)
        else:
            self._fixed_always(written.name, value)

    def _fixed_always(self, written: ast.Word, value: ast.Value) -> None:
        checker, name = self._checker_of(written), written.text
        if isinstance(value, ast.OperatorValue) or self._is_operator(value, checker.parameter):
            self._fixed_operator(name, value, checker)
            return
        found, before = literal_value(value, self._report), len(self._report.found)
        is_taken = not isinstance(found, InvalidValue) and checker.check_value(found, value.span)
        if self._report.symbols.unbound_symbols_in(value.span):
            self._report.mark_data_dependent(before)
        elif self._report.symbols.symbols_mentioned_in(value.span):
            self._report.mark_possibly_caused_by_bindings(before)
        if isinstance(found, InvalidValue) or not is_taken:
            self.scope.dubious.add(name)
            return
        self.scope.constants[name] = found
        self.scope.fixed[name] = written.span
        self.scope.values[name] = value.span
        is_named = checker.parameter is not None and isinstance(found, str) and found in checker.parameter.named
        self.fixed.append((name, ir.CatalogueObject(str(found)) if is_named else found))

    def _fixed_operator(self, name: str, value: ast.OperatorValue | ast.DottedName, checker: ParameterChecker) -> None:
        inner_name, body = (value.name, value.body) if isinstance(value, ast.OperatorValue) else (value, None)
        inner = self._operators.read(inner_name, body, self._place.child(name))
        if checker.check_operator(self._operators.catalogue_entry_of(inner), inner_name.span):
            self.fixed.append((name, inner))
            self.scope.operators[name] = inner.name
            self.scope.fixed[name] = inner_name.span
        else:
            self.scope.dubious.add(name)

    def _nested_decision(self, written: ast.Parameter, checker: ParameterChecker) -> None:
        """Read a parameter whose value is a choice of operators. It becomes a decision of its own."""
        if self._operators.read_alternatives is None:
            return  # A group that is read alone is checked where it is used: only there its addresses are known.
        name = written.name.text
        place = self._place.child(name)
        self.scope.addresses[name] = place.address
        self._operators.draft.nested.add(place.address)
        read_annotations(written.annotations, "choices of operators", self._report)
        read = partial(self._operators.read_as_parameter_value, parameter=checker.parameter)
        stands = partial(self._names_alternative, parameter=checker.parameter)
        several = alternatives.alternatives_of_domain(written.domain, stands, self._report)
        columns = self._operators.draft.columns
        if columns:
            self._operators.draft.columns = None  # an operator may pass other columns to those inside it
        are_lists = checker.parameter is not None and checker.parameter.takes_operator_list
        branches, default = self._operators.read_alternatives(several, place, read, are_lists)
        self._operators.draft.columns = columns
        branches = self._with_range(written, branches, checker)
        alternatives.check_duplicate_values(branches, self._report)
        checker.check_branches(branches, self._operators.catalogue_entry_of)
        if written.default is not None:
            # If an operator is unknown, a domain of plain values may have been meant: the default is not checked then.
            operators = [branch.node for branch in branches if isinstance(branch.node, ir.Operator)]
            is_known = all(
                operator.catalogue == ir.ABSTRACT_CATALOGUE or self._operators.catalogue_entry_of(operator) is not None
                for operator in operators
            )
            default = hyperparameter_defaults.read_decision_default(
                written, written.default, branches, self._report, is_known=is_known
            )
        if branches and written.condition is not None:
            branches = self._with_fallback(written, branches, checker)
        if branches:
            self.children.append(ir.Choice(name, place.address, place.key, branches, default, span=written.name.span))

    def _with_range(
        self, written: ast.Parameter, branches: tuple[ir.Branch, ...], checker: ParameterChecker
    ) -> tuple[ir.Branch, ...]:
        """Return the branches with a hyperparameter as the node of the branch that is a range."""
        part, before = alternatives.ranges_as_one_domain(written.domain), len(self._report.found)
        domain = None if part is None else DomainReader(checker, self._report).read(part)
        if part is not None and self._report.symbols.symbols_mentioned_in(part.span):
            self._report.mark_possibly_caused_by_bindings(before)
            domain = widest_domain(part) if domain is None and self._operators.draft.columns == () else domain
        if part is None or domain is None:
            return tuple(branch for branch in branches if branch.name != ir.RANGE_NAME) if part else branches
        self._report.symbols.record_domain(part.span, part)
        place = self._place.child(written.name.text).alternative(ir.RANGE_NAME).child("value")
        default = hyperparameter_defaults.read_default_of_range(written, part, domain, checker.parameter, self._report)
        self._operators.draft.written_domains[place.address] = domain_text(part.span, domain)
        leaf = ir.Hyperparameter("value", place.address, place.key, domain, default, span=part.span)
        return tuple(replace(each, node=leaf) if each.name == ir.RANGE_NAME else each for each in branches)

    def _with_fallback(
        self, written: ast.Parameter, branches: tuple[ir.Branch, ...], checker: ParameterChecker
    ) -> tuple[ir.Branch, ...]:
        """Return the branches and, if it is missing, the library's default, which is taken if the condition fails."""
        assert written.condition is not None
        span, address = written.condition.span, self._place.child(written.name.text).address
        value = None if checker.parameter is None else checker.parameter.default_value
        if isinstance(value, NotFound):
            checker.report_condition_on_required_operator(span)
            return branches
        name = unique_value_name(value)
        is_own = any(branch.name == name for branch in branches)
        pending = space_drafts.PendingDecisionCondition(
            address, written.condition, self.scope, name, is_own, written.span
        )
        self._operators.draft.pending_decision_conditions.append(pending)
        return branches if is_own else (*branches, ir.Branch(name, ir.SKIPPED_STEP, span=span, value=value))

    def _names_alternative(self, value: ast.Value, parameter: Parameter | None) -> bool:
        """Return True if a word in a set names an operator or stage, and is not accepted as a value."""
        if not isinstance(value, ast.DottedName):
            return False
        is_taken = parameter is not None and bool(parameter.accepts) and parameter.check_value(value.text) is None
        return not is_taken and (
            self._operators.is_operator_stage_or_import(value) or value.words[-1].text[0].isupper()
        )

    def _is_operator(self, value: ast.Value, parameter: Parameter | None) -> TypeGuard[ast.DottedName]:
        """Return True if a word names a known operator and the parameter takes operators."""
        takes_operators = parameter is not None and parameter.takes_operators
        return isinstance(value, ast.DottedName) and takes_operators and self._operators.is_operator(value)


def _placeholder(
    written: ast.Parameter, place: space_drafts.AddressPrefix, domain: Domain = BOOLEANS
) -> ir.Hyperparameter:
    """Return a placeholder for a hyperparameter whose domain is not known."""
    name, value = written.name, domain.representative
    return ir.Hyperparameter(name.text, place.address, place.key, domain, value, span=name.span, is_var=written.is_var)


def _with_one_value(written: ast.FixedParameter, value: ast.Value, condition: ast.Expression) -> ast.Parameter:
    """Return a hyperparameter with one value for a parameter that is fixed under a condition."""
    if isinstance(value, ast.OperatorValue):
        domain: ast.Domain = ast.OperatorReference(value.name, None, value.body, (), value.span)
    else:
        domain = ast.ValueSet((value,), ordered=False, span=value.span)
    return ast.Parameter(written.name, domain, None, condition, (), written.span)


def _named_values(domain: Domain, parameter: Parameter | None) -> tuple[str, ...]:
    if parameter is None:
        return ()
    values = [value for part in parts(domain) for value in getattr(part, "values", ())]
    return tuple(value for value in values if isinstance(value, str) and value in parameter.named)

"""The bodies of operators: look up every parameter in the catalogue and check its values and ranges."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from spacelang.analysis import annotations, given_defaults, given_values, mixtures, parameters
from spacelang.analysis.domains import DomainReader, as_written
from spacelang.analysis.drafts import PendingCondition, PendingPresence, PendingRule, Scope
from spacelang.analysis.groups import BodyMember
from spacelang.analysis.judge import ParameterJudge
from spacelang.analysis.places import Place
from spacelang.analysis.values import NoValue, plain
from spacelang.catalog.catalogue import CatalogueEntry, Named, Opaque, Parameter, Required
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.parameters import UnknownParameter
from spacelang.diagnostics.syntax import UnexpectedText
from spacelang.ir import space as ir
from spacelang.ir.domain import BOOLEANS, Domain, parameter_name, parts
from spacelang.suggest import nearest
from spacelang.syntax import ast
from spacelang.text import no_parameter

if TYPE_CHECKING:
    from spacelang.analysis.operators import OperatorReader


class BodyReader:
    """A reader of the members of one operator body."""

    def __init__(
        self,
        operators: "OperatorReader",
        entry: CatalogueEntry | None,
        place: Place,
        declaration: ast.Abstract | None = None,
        declared: Collection[str] = (),
    ) -> None:
        """Create a reader of one body.

        `entry` is None if no catalogue describes the operator. If the operator is declared by `declaration`, its
        parameters must be among the names in `declared`.
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
        self._body_scope = Scope(place.address, names=place.names, branch=branches[-1] if branches else None)
        self.scope = self._body_scope
        self.children: list[ir.Hyperparameter | ir.Choice] = []
        self.fixed: list[tuple[str, ir.Fixed]] = []

    def read(self, members: Sequence[BodyMember]) -> None:
        """Read the members of the body, resolving the names in each by the module whose text it stands in."""
        groups = self._body.groups
        for given in members:
            if groups.has_end(given):
                with groups.reading(given):
                    self._enter(given)
                    self._member(given.member)

    def _enter(self, given: BodyMember) -> None:
        """Set the module by which the names in a member are resolved.

        The names of sibling members are always those of the body that is being read.
        """
        self._operators = self._body.of(given.home)
        self._place, self.scope = self._body_place, self._body_scope
        if self._operators is not self._body:
            self._place = replace(self._place, names=self._place.names.of(given.home))
        if given.through is not None:
            self.scope = replace(self.scope, names=self._place.names, through=given.through)

    def _member(self, member: ast.Parameter | ast.Fixed | ast.Rule) -> None:
        match member:
            case ast.Parameter():
                self._parameter(member)
            case ast.Fixed():
                self._fixed(member)
            case ast.Rule():
                self._operators.draft.rules.append(PendingRule(member, self.scope))

    def _judge_of(self, name: ast.Word) -> ParameterJudge:
        """Return the checker of what a parameter is given. Report a parameter that a space cannot set."""
        self.names[name.text] = name
        reason = no_parameter(name.text)
        if reason is not None:
            hint = f"the name {reason}"
            self._report.add(UnexpectedText(primary=name.span, found=name.span.text, expected="a name", hint=hint))
        if self._declaration is not None and name.text not in self._declared:
            self._report_undeclared(name, self._declaration)
        parameter = None if self._entry is None else parameters.find(name, self._entry, self._report)
        return ParameterJudge(self._report, self._entry, parameter)

    def _report_undeclared(self, name: ast.Word, declaration: ast.Abstract) -> None:
        near = nearest(name.text, self._declared)
        near = None if near is None else parameter_name(near)
        related = (Related(declaration.name.span, "declared here"),)
        operator = declaration.name.text
        self._report.add(
            UnknownParameter(primary=name.span, parameter=name.text, operator=operator, near=near, related=related)
        )

    def _parameter(self, written: ast.Parameter) -> None:
        judge = self._judge_of(written.name)
        if mixtures.is_choice(written.domain, partial(self._is_operator, parameter=judge.parameter)):
            self._nested(written, judge)
            return
        place = self._place.inside(written.name.text)
        before = len(self._report.found)
        domain = DomainReader(judge, self._report).read(written.domain)
        if self._report.symbols.free(written.domain.span):
            self._report.await_data(before)
        self._report.symbols.record(written.name.span, written.domain)
        advice = annotations.read(written.annotations, "hyperparameters", self._report)
        if written.condition is not None:
            pending = PendingCondition(place.address, written.condition, self.scope)
            self._operators.draft.conditions.append(pending)
        if domain is None:
            self.scope.dubious.add(written.name.text)
            self._operators.draft.dubious.add(place.address)
            if self._report.symbols.within(written.domain.span):
                stand_in = ir.Hyperparameter(written.name.text, place.address, place.key, BOOLEANS, True)
                self.children.append(stand_in)
            return
        self.scope.addresses[written.name.text] = place.address
        self._operators.draft.domains[place.address] = as_written(written.domain.span, domain)
        self.children.append(
            ir.Hyperparameter(
                written.name.text,
                place.address,
                place.key,
                domain,
                given_defaults.read(written, domain, judge.parameter, self._report),
                named=_named(domain, judge.parameter),
                prior=advice.prior,
                split=advice.split,
                span=written.name.span,
            )
        )

    def _fixed(self, written: ast.Fixed) -> None:
        value = given_values.fixed(written.value, self._report)
        if isinstance(value, NoValue):
            self._judge_of(written.name)
            self.scope.dubious.add(written.name.text)
            if written.condition is not None:
                self._operators.draft.dubious.add(self._place.inside(written.name.text).address)
        elif written.condition is not None:
            self._parameter(_with_one_value(written, value, written.condition))
            if not isinstance(written.value, ast.OperatorValue):
                # If the number depends on the data, other data could give it any value that the arithmetic can have.
                ends = (written.value, written.value)
                number = ast.Range("float", *ends, False, False, log=None, step=None, span=value.span)
                self._report.symbols.record(written.name.span, number)
        else:
            self._fixed_always(written.name, value)

    def _fixed_always(self, written: ast.Word, value: ast.Value) -> None:
        judge, name = self._judge_of(written), written.text
        if isinstance(value, ast.OperatorValue) or self._is_operator(value, judge.parameter):
            self._fixed_operator(name, value, judge)
            return
        found, before = plain(value, self._report), len(self._report.found)
        is_taken = not isinstance(found, NoValue) and judge.takes(found, value.span)
        if self._report.symbols.free(value.span):
            self._report.await_data(before)
        if isinstance(found, NoValue) or not is_taken:
            self.scope.dubious.add(name)
            return
        self.scope.constants[name] = found
        self.scope.fixed[name] = written.span
        self.scope.values[name] = value.span
        is_named = judge.parameter is not None and isinstance(found, str) and found in judge.parameter.named
        self.fixed.append((name, ir.Named(str(found)) if is_named else found))

    def _fixed_operator(self, name: str, value: ast.OperatorValue | ast.Dotted, judge: ParameterJudge) -> None:
        inner_name, body = (value.name, value.body) if isinstance(value, ast.OperatorValue) else (value, None)
        inner = self._operators.read(inner_name, body, self._place.inside(name))
        if judge.takes_operator(self._operators.entry_of(inner), inner_name.span):
            self.fixed.append((name, inner))
            self.scope.operators[name] = inner.name
            self.scope.fixed[name] = inner_name.span
        else:
            self.scope.dubious.add(name)

    def _nested(self, written: ast.Parameter, judge: ParameterJudge) -> None:
        """Read a parameter whose value is a choice of operators. It becomes a decision of its own."""
        if self._operators.alternatives is None:
            return  # A group that is read alone is checked where it is used: only there its addresses are known.
        name = written.name.text
        place = self._place.inside(name)
        self.scope.addresses[name] = place.address
        self._operators.draft.nested.add(place.address)
        annotations.read(written.annotations, "choices of operators", self._report)
        read = partial(self._operators.read_value, parameter=judge.parameter)
        stands = partial(self._stands, parameter=judge.parameter)
        several = mixtures.alternatives_in(written.domain, stands, self._report)
        branches, default = self._operators.alternatives(several, place, read)
        branches = self._with_range(written, branches, judge)
        mixtures.check_apart(branches, self._report)
        judge.judge_branches(branches, self._operators.entry_of)
        if written.default is not None:
            # If an operator is unknown, a domain of plain values may have been meant: the default is not checked then.
            operators = [branch.node for branch in branches if isinstance(branch.node, ir.Operator)]
            is_known = all(self._is_known(operator) for operator in operators)
            default = given_defaults.read_nested(written, written.default, branches, self._report, is_known=is_known)
        if branches and written.condition is not None:
            branches = self._with_left(written, branches, judge)
        if branches:
            self.children.append(ir.Choice(name, place.address, place.key, branches, default, span=written.name.span))

    def _with_range(
        self, written: ast.Parameter, branches: tuple[ir.Branch, ...], judge: ParameterJudge
    ) -> tuple[ir.Branch, ...]:
        """Return the branches with a hyperparameter as the node of the branch that is a range."""
        part = mixtures.range_in(written.domain)
        domain = None if part is None else DomainReader(judge, self._report).read(part)
        if part is None or domain is None:
            return tuple(branch for branch in branches if branch.name != ir.RANGE) if part else branches
        self._report.symbols.record(part.span, part)
        place = self._place.inside(written.name.text).alternative(ir.RANGE).inside("value")
        default = given_defaults.read_range(written, part, domain, judge.parameter, self._report)
        self._operators.draft.domains[place.address] = as_written(part.span, domain)
        leaf = ir.Hyperparameter("value", place.address, place.key, domain, default, span=part.span)
        return tuple(replace(each, node=leaf) if each.name == ir.RANGE else each for each in branches)

    def _with_left(
        self, written: ast.Parameter, branches: tuple[ir.Branch, ...], judge: ParameterJudge
    ) -> tuple[ir.Branch, ...]:
        """Return the branches including the one taken if the condition does not hold: the default of the library.

        The branch is added if the author did not write it.
        """
        assert written.condition is not None
        span, address = written.condition.span, self._place.inside(written.name.text).address
        default = None if judge.parameter is None else judge.parameter.default
        if isinstance(default, Opaque | Required):
            judge.report_needed(span)
            return branches
        value = default.name if isinstance(default, Named) else default
        name = ir.value_name(value)
        is_own = any(branch.name == name for branch in branches)
        pending = PendingPresence(address, written.condition, self.scope, name, is_own, written.span)
        self._operators.draft.presences.append(pending)
        return branches if is_own else (*branches, ir.Branch(name, ir.NOTHING, span=span, value=value))

    def _stands(self, value: ast.Value, parameter: Parameter | None) -> bool:
        """Return True if a word in a set with operators names an operator or a stage.

        It does not if the parameter accepts the word as a plain value.
        """
        if not isinstance(value, ast.Dotted):
            return False
        is_taken = parameter is not None and bool(parameter.accepts) and parameter.rejects(value.text) is None
        return not is_taken and (self._operators.may_stand(value) or value.words[-1].text[0].isupper())

    def _is_operator(self, value: ast.Value, parameter: Parameter | None) -> TypeGuard[ast.Dotted]:
        """Return True if a word names a known operator and the parameter takes operators."""
        takes_operators = parameter is not None and parameter.operators
        return isinstance(value, ast.Dotted) and takes_operators and self._operators.knows(value)

    def _is_known(self, operator: ir.Operator) -> bool:
        return operator.catalogue == ir.ABSTRACT or self._operators.entry_of(operator) is not None


def _with_one_value(written: ast.Fixed, value: ast.Value, condition: ast.Expression) -> ast.Parameter:
    """Return a hyperparameter with one value for a parameter that is fixed under a condition.

    Configurations show it where the condition holds.
    """
    if isinstance(value, ast.OperatorValue):
        domain: ast.Domain = ast.Operator(value.name, None, value.body, (), value.span)
    else:
        domain = ast.Values((value,), ordered=False, span=value.span)
    return ast.Parameter(written.name, domain, None, condition, (), written.span)


def _named(domain: Domain, parameter: Parameter | None) -> tuple[str, ...]:
    """Return the values of a domain that are names of functions or objects of the catalogue."""
    if parameter is None:
        return ()
    values = [value for part in parts(domain) for value in getattr(part, "values", ())]
    return tuple(value for value in values if isinstance(value, str) and value in parameter.named)

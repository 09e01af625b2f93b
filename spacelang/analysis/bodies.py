"""Operators and their bodies: every parameter looked up in the catalogue, every value and range judged by it."""

from functools import partial

from spacelang.analysis import alternatives, annotations
from spacelang.analysis.domains import DomainReader, as_written
from spacelang.analysis.drafts import Draft, PendingCondition, PendingRule, Scope
from spacelang.analysis.places import Place
from spacelang.analysis.report import Report
from spacelang.analysis.values import NoValue, OperatorFinder, judge, judge_operator, near_value, plain
from spacelang.catalog.catalogue import Catalogue, Deprecation, Named, Opaque, Parameter, Required, Role
from spacelang.catalog.catalogue import Operator as Entry
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.domains import DefaultOutside
from spacelang.diagnostics.names import DuplicateName
from spacelang.diagnostics.parameters import (
    DeprecatedOperator,
    DeprecatedParameter,
    MissingParameter,
    RefusedParameter,
    RemovedParameter,
    UnknownParameter,
    WholeAndPart,
)
from spacelang.diagnostics.syntax import NotSupportedYet
from spacelang.ir import space as ir
from spacelang.ir.domain import Domain, Missing, parts
from spacelang.ir.value import Value
from spacelang.suggest import nearest
from spacelang.syntax import ast


class OperatorReader:
    """Reads operators with their bodies into a draft."""

    def __init__(self, catalogue: Catalogue, draft: Draft, report: Report) -> None:
        self._catalogue = catalogue
        self._draft = draft
        self._report = report
        self._finder = OperatorFinder(catalogue, report)

    def refuse(self, catalogue: str) -> None:
        """Take it that a catalogue was refused: what is of it is not reported once more."""
        self._finder.refused.add(catalogue)

    def is_refused(self, name: ast.Dotted) -> bool:
        """Whether a name is one of a refused catalogue."""
        return self._finder.is_refused(name)

    def read_value(
        self, name: ast.Dotted, body: ast.Body | None, place: Place, parameter: Parameter | None
    ) -> ir.Operator:
        """The operator that stands where a parameter could also have a domain of values."""
        word, hint = name.text, None
        if parameter is not None and word in parameter.words:
            hint = f"`{parameter.name} = {word}` fixes a value, `{parameter.name} : {{{word}, …}}` lets it vary"
        return self._read(name, body, place, self._finder.find(name, hint, ("bool",)))

    def read(self, name: ast.Dotted, body: ast.Body | None, place: Place) -> ir.Operator:
        """The operator; where its name is unknown, its body is read without being judged by a catalogue."""
        return self._read(name, body, place, self._finder.find(name))

    def _read(self, name: ast.Dotted, body: ast.Body | None, place: Place, entry: Entry | None) -> ir.Operator:
        if entry is not None and entry.deprecated is not None:
            old = entry.deprecated
            self._report.add(
                DeprecatedOperator(
                    primary=name.span,
                    operator=entry.name,
                    since=old.since,
                    replacement=old.replacement,
                    note=old.note,
                    notes=_notes(old),
                )
            )
        reader = _BodyReader(self, entry, place)
        members = body.members if body is not None else ()
        for member in members:
            reader.member(member)
        reader.check_parts()
        self._check_required(name, entry, {*reader.names})
        return ir.Operator(name.text, self._catalogue.name, tuple(reader.children), tuple(reader.fixed), name.span)

    def _check_required(self, name: ast.Dotted, entry: Entry | None, given: set[str]) -> None:
        for parameter in entry.parameters.values() if entry is not None else ():
            if isinstance(parameter.default, Required) and parameter.name not in given:
                assert entry is not None
                example = self._example(entry, parameter)
                self._report.add(
                    MissingParameter(primary=name.span, operator=entry.name, parameter=parameter.name, example=example)
                )

    def _example(self, entry: Entry, parameter: Parameter) -> str | None:
        """A well-known operator that a parameter takes and that suits its operator."""
        for name, role in _EXAMPLES:
            found = self._catalogue.get(name)
            suits = role in entry.roles or not entry.roles & {Role.CLASSIFIER, Role.REGRESSOR}
            if suits and found is not None and parameter.rejects_operator(found) is None:
                return name
        return None

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue in which names are looked up."""
        return self._catalogue

    @property
    def draft(self) -> Draft:
        """Where conditions and constraints wait to be read."""
        return self._draft

    @property
    def report(self) -> Report:
        """Where problems go."""
        return self._report


class _BodyReader:
    """Reads the members of one body."""

    def __init__(self, operators: OperatorReader, entry: Entry | None, place: Place) -> None:
        self._operators = operators
        self._report = operators.report
        self._entry = entry
        self._place = place
        self.names: dict[str, ast.Word] = {}
        self.scope = Scope(place.address)
        self.children: list[ir.Hyperparameter | ir.Choice] = []
        self.fixed: list[tuple[str, ir.Fixed]] = []

    def member(self, member: ast.Member) -> None:
        match member:
            case ast.Parameter():
                self._parameter(member)
            case ast.Fixed():
                self._fixed(member)
            case ast.Rule():
                self._operators.draft.rules.append(PendingRule(member, self.scope))
            case ast.Include():
                self._report.add(NotSupportedYet(primary=member.span, construct="`include`"))

    def check_parts(self) -> None:
        """Report each parameter that is given as a whole and by a part of it as well."""
        for whole in self._entry.wholes if self._entry is not None else ():
            assert self._entry is not None
            part = next((part.name for part in self._entry.parts(whole) if part.name in self.names), None)
            if whole in self.names and part is not None:
                related = (Related(self.names[part].span, "its part"),)
                primary, operator = self.names[whole].span, self._entry.name
                self._report.add(
                    WholeAndPart(primary=primary, operator=operator, whole=whole, part=part, related=related)
                )

    def _is_new(self, name: ast.Word) -> bool:
        first = self.names.setdefault(name.text, name)
        if first is not name:
            related = (Related(first.span, "first declared here"),)
            self._report.add(DuplicateName(primary=name.span, kind="parameter", name=name.text, related=related))
        return first is name

    def _known(self, name: ast.Word) -> Parameter | None:
        """The parameter in the catalogue; what keeps a space from setting it is reported."""
        if self._entry is None:
            return None
        parameter = self._entry.parameters.get(name.text)
        if parameter is None:
            self._report_unknown(name, self._entry)
        elif parameter.refused is not None:
            self._report.add(
                RefusedParameter(
                    primary=name.span, operator=self._entry.name, parameter=name.text, reason=parameter.refused
                )
            )
            return None
        elif parameter.deprecated is not None:
            old = parameter.deprecated
            self._report.add(
                DeprecatedParameter(
                    primary=name.span,
                    operator=self._entry.name,
                    parameter=name.text,
                    since=old.since,
                    replacement=old.replacement,
                    note=old.note,
                    notes=_notes(old),
                )
            )
        return parameter

    def _report_unknown(self, name: ast.Word, entry: Entry) -> None:
        if name.text in entry.removed:
            instead = entry.removed[name.text]
            self._report.add(
                RemovedParameter(primary=name.span, operator=entry.name, parameter=name.text, instead=instead)
            )
            return
        offered = [parameter.name for parameter in entry.parameters.values() if parameter.refused is None]
        near = nearest(name.text, offered)
        self._report.add(UnknownParameter(primary=name.span, parameter=name.text, operator=entry.name, near=near))

    def _parameter(self, written: ast.Parameter) -> None:
        if not self._is_new(written.name):
            return
        parameter = self._known(written.name)
        structure = _structure(written.domain)
        if structure is not None:
            self._nested(written, structure, parameter)
            return
        place = self._place.inside(written.name.text)
        entry = self._entry if parameter is not None else None
        domain = DomainReader(entry, parameter, self._report).read(written.domain)
        advice = annotations.read(written.annotations, "hyperparameters", self._report)
        if written.condition is not None:
            pending = PendingCondition(place.address, written.condition, self.scope)
            self._operators.draft.conditions.append(pending)
        if domain is None:
            self.scope.dubious.add(written.name.text)
            self._operators.draft.dubious.add(place.address)
            return
        self.scope.addresses[written.name.text] = place.address
        self._operators.draft.domains[place.address] = as_written(written.domain.span, domain)
        self.children.append(
            ir.Hyperparameter(
                written.name.text,
                place.address,
                place.key,
                domain,
                self._default(written, domain, parameter),
                named=_named(domain, parameter),
                prior=advice.prior,
                split=advice.split,
                span=written.name.span,
            )
        )

    def _default(self, written: ast.Parameter, domain: Domain, parameter: Parameter | None) -> Value:
        """What follows `=`, else the library's own default where the domain has it, else the domain's middle."""
        if written.default is not None:
            value = plain(written.default, self._report)
            found = Missing() if isinstance(value, NoValue) else domain.find(value)
            if not isinstance(found, Missing):
                return found
            if not isinstance(value, NoValue):
                self._report_default(written, written.default, value, domain)
            return domain.middle
        default = parameter.default if parameter is not None else None
        if parameter is None or isinstance(default, Opaque | Required):
            return domain.middle
        found = domain.find(default.name if isinstance(default, Named) else default)
        return domain.middle if isinstance(found, Missing) else found

    def _report_default(self, written: ast.Parameter, default: ast.Value, value: Value, domain: Domain) -> None:
        at = written.domain.span
        # On the same line the label says as much.
        related = () if at.line == default.span.line else (Related(at, "the domain"),)
        self._report.add(
            DefaultOutside(
                primary=default.span,
                value=default.span.text,
                parameter=written.name.text,
                domain=as_written(at, domain),
                near=near_value(value, [v for part in parts(domain) for v in getattr(part, "values", ())]),
                related=related,
            )
        )

    def _fixed(self, written: ast.Fixed) -> None:
        if not self._is_new(written.name):
            return
        parameter = self._known(written.name)
        name, value = written.name.text, written.value
        entry = self._entry if parameter is not None else None
        takes_operators = parameter is not None and parameter.operators
        bare = isinstance(value, ast.Dotted) and takes_operators and value.text in self._operators.catalogue
        if isinstance(value, ast.OperatorValue) or bare:
            assert isinstance(value, ast.OperatorValue | ast.Dotted)
            self._fixed_operator(name, value, entry, parameter)
            return
        found = plain(value, self._report)
        if isinstance(found, NoValue) or not judge(found, value.span, entry, parameter, self._report):
            self.scope.dubious.add(name)
            return
        self.scope.constants[name] = found
        is_named = parameter is not None and isinstance(found, str) and found in parameter.named
        self.fixed.append((name, ir.Named(str(found)) if is_named else found))

    def _fixed_operator(
        self, name: str, value: ast.OperatorValue | ast.Dotted, entry: Entry | None, parameter: Parameter | None
    ) -> None:
        inner_name, body = (value.name, value.body) if isinstance(value, ast.OperatorValue) else (value, None)
        inner = self._operators.read(inner_name, body, self._place.inside(name))
        found = self._operators.catalogue.get(inner.name)
        if found is None or judge_operator(found, inner_name.span, entry, parameter, self._report):
            self.fixed.append((name, inner))
            self.scope.operators[name] = inner.name
        else:
            self.scope.dubious.add(name)

    def _nested(self, written: ast.Parameter, structure: ast.Structure, parameter: Parameter | None) -> None:
        """A choice of operators as a value is a decision of its own."""
        name = written.name.text
        place = self._place.inside(name)
        self.scope.addresses[name] = place.address
        if written.condition is not None:
            instead = "leave the condition out"
            construct = "a condition on a choice of operators"
            self._report.add(NotSupportedYet(primary=written.condition.span, construct=construct, instead=instead))
        annotations.read(written.annotations, "choices of operators", self._report)
        read = partial(self._operators.read_value, parameter=parameter)
        branches, default = alternatives.read(structure, place, read, self._report)
        for branch in branches:
            self._judge_branch(branch, self._entry if parameter is not None else None, parameter)
        if written.default is not None:
            default = self._nested_default(written, written.default, branches)
        if branches:
            self.children.append(ir.Choice(name, place.address, place.key, branches, default, span=written.name.span))

    def _judge_branch(self, branch: ir.Branch, entry: Entry | None, parameter: Parameter | None) -> None:
        if not isinstance(branch.node, ir.Operator):
            judge(None, branch.span, entry, parameter, self._report)
            return
        found = self._operators.catalogue.get(branch.node.name)
        if found is not None:
            judge_operator(found, branch.span, entry, parameter, self._report)

    def _nested_default(self, written: ast.Parameter, default: ast.Value, branches: tuple[ir.Branch, ...]) -> int:
        value = plain(default, self._report)
        names = [branch.name for branch in branches]
        word = "none" if value is None else value
        if word in names:
            return names.index(word)
        # What was to be a domain of values is no measure for its default.
        known = all(isinstance(b.node, ir.Product) or b.node.name in self._operators.catalogue for b in branches)
        if known and branches and not isinstance(value, NoValue):
            self._report.add(
                DefaultOutside(
                    primary=default.span,
                    value=default.span.text,
                    parameter=written.name.text,
                    domain=" | ".join(names),
                    near=nearest(word, names) if isinstance(word, str) else None,
                )
            )
        return 0


_EXAMPLES = (("LogisticRegression", Role.CLASSIFIER), ("Ridge", Role.REGRESSOR))
"""Operators to show a form by, and what the operator around them must be (or nothing of the kind)."""


def _notes(old: Deprecation) -> tuple[str, ...]:
    """How to go over to the replacement, where the library says more than its name."""
    says_more = old.replacement is not None and old.note not in ("", f"use `{old.replacement}`")
    return (old.note,) if says_more else ()


def _structure(domain: ast.Domain) -> ast.Structure | None:
    """The choice of operators that a domain is; None where it is a domain of values."""
    match domain:
        case ast.Operator() | ast.Nothing() | ast.Group():
            return domain
        case ast.UnionDomain(parts=parts) if all(
            isinstance(part, ast.Operator | ast.Nothing | ast.Group) for part in parts
        ):
            return ast.Joined("|", parts, domain.span)  # type: ignore[arg-type]
        case _:
            return None


def _named(domain: Domain, parameter: Parameter | None) -> tuple[str, ...]:
    """The values that stand for functions or objects of the catalogue."""
    if parameter is None:
        return ()
    values = [value for part in parts(domain) for value in getattr(part, "values", ())]
    return tuple(value for value in values if isinstance(value, str) and value in parameter.named)

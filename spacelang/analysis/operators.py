"""Operators as they are written: look each up in the catalogues, or in the declarations of the space."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from spacelang.analysis import operator_domains, parameters
from spacelang.analysis.addresses import AddressPrefix
from spacelang.analysis.alternatives import Alternative
from spacelang.analysis.bodies import BodyReader
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.drafts import Draft
from spacelang.analysis.groups import BodyMember, GroupReader
from spacelang.analysis.modules import Module
from spacelang.analysis.values import OperatorFinder
from spacelang.catalog.catalogue import CatalogueEntry, Parameter
from spacelang.catalog.catalogues import Catalogues
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.names import UnknownImported
from spacelang.ir import space as ir
from spacelang.suggest import nearest_name
from spacelang.syntax import ast

ReadOperator = Callable[[ast.DottedName, ast.Body | None, AddressPrefix], ir.Operator]
ReadAlternatives = Callable[[Sequence[Alternative], AddressPrefix, ReadOperator], tuple[tuple[ir.Branch, ...], int]]

MAX_LISTED: Final = 12
"""The maximum number of names that a message lists."""


class OperatorReader:
    """A reader of the operators in the text of one module, with their bodies. The results go into a draft."""

    def __init__(
        self,
        module: Module,
        catalogue: Catalogues,
        draft: Draft,
        report: DiagnosticCollector,
        groups: GroupReader | None = None,
    ) -> None:
        self._module = module
        self._catalogue = catalogue
        self.draft = draft
        self.report = report
        self.finder = OperatorFinder(catalogue, report)
        self.groups = GroupReader(report) if groups is None else groups
        self.read_alternatives: ReadAlternatives | None = None
        """A function that reads structures that are values, set by the reader of structures."""
        self.reader_of_module: Callable[[Module], OperatorReader] | None = None
        """A function that returns the reader of another module, set by the reader of stages."""

    def reader_of(self, home: Module) -> "OperatorReader":
        """Return the reader for the text of another module."""
        return self if home is self._module or self.reader_of_module is None else self.reader_of_module(home)

    def is_operator(self, name: ast.DottedName) -> bool:
        """Return True if an operator of this name is declared or in a catalogue."""
        home, rest = self._module.home_of(name)
        return rest in home.abstracts or name.text in self._catalogue

    def is_declared(self, name: ast.DottedName) -> bool:
        """Return True if a name stands for an operator, a stage or an imported file."""
        home, rest = self._module.home_of(name)
        return self.is_operator(name) or rest in home.stages or rest in home.imports

    def read_value(
        self, name: ast.DottedName, body: ast.Body | None, place: AddressPrefix, parameter: Parameter | None
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
        place: AddressPrefix,
        hint: str | None = None,
        others: Collection[str] = (),
    ) -> ir.Operator:
        """Return the operator with its body.

        If its name is unknown, this is reported and its body is read without a catalogue. `hint` is the remedy in that
        message, and `others` are words that are allowed at the same place and may be suggested.
        """
        home, word = self._module.home_of(name)
        declaration = home.abstracts.get(word)
        if declaration is not None:
            return self._abstract(name, body, place, home, declaration)
        entry = self._find(name, home, word, hint, others)
        if entry is not None:
            parameters.check_operator(name, entry, self.report)
        reader = BodyReader(self, entry, place)
        reader.read(() if body is None else self.groups.members(body, self._module))
        if entry is not None:
            parameters.check_tuple_and_elements(entry, reader.names, self.report)
            parameters.check_required(name, entry, reader.names, self._catalogue, self.report)
        word, library = (name.text, self._catalogue.name) if entry is None else (entry.name, entry.catalogue)
        return ir.Operator(word, library, tuple(reader.children), tuple(reader.fixed), name.span)

    def _abstract(
        self,
        name: ast.DottedName,
        body: ast.Body | None,
        place: AddressPrefix,
        home: Module,
        declaration: ast.AbstractOperator,
    ) -> ir.Operator:
        """Return a use of an abstract operator.

        If the declaration of the operator has no body, the operator takes any parameters.
        """
        used = Related(name.span, "used here")
        declared = None
        if declaration.body is not None:
            declared = [
                given.name for given in self.groups.declared_members(declaration, home) if given.name is not None
            ]
        reader = BodyReader(self, None, place, declaration if declared is not None else None, declared or ())
        reader.read(self.groups.members_of_use(declaration, home, body, self._module, used))
        return ir.Operator(
            declaration.name.text, ir.ABSTRACT_CATALOGUE, tuple(reader.children), tuple(reader.fixed), name.span
        )

    def check_group_members(self, members: Sequence[BodyMember]) -> None:
        """Check the domains of plain values among the members of a group.

        Nothing else can be checked without the operator that includes the group.
        """
        simple = [given for given in members if given.through is None and _has_plain_domain(given.member)]
        BodyReader(self, None, AddressPrefix("", "")).read(simple)

    def _find(
        self, name: ast.DottedName, home: Module, word: str, hint: str | None, others: Collection[str]
    ) -> CatalogueEntry | None:
        if word in home.damaged:
            return None
        if home is self._module:
            return self.finder.find(name, hint, others)
        if not home.is_possibly_declared(word):
            self.report.add(unknown_import_diagnostic(name, home, word))
        return None

    def entry_of(self, operator: ir.Operator) -> CatalogueEntry | None:
        """Return the catalogue entry of an operator, or None if the operator is abstract or unknown."""
        return self._catalogue.entry(operator.catalogue, operator.name)

    def is_catalogue_name(self, name: str) -> bool:
        """Return True if a name is that of a catalogue in use."""
        return name in self._catalogue.used


def unknown_import_diagnostic(written: ast.DottedName, home: Module, word: str) -> UnknownImported:
    """Return the diagnostic that an imported file does not declare a name."""
    names = [*home.stages, *home.abstracts]
    near = nearest_name(word, names)
    before = written.text.removesuffix(word)
    listed = ", ".join(f"`{name}`" for name in names[:MAX_LISTED]) + (", …" if len(names) > MAX_LISTED else "")
    near = None if near is None else f"{before}{near}"
    return UnknownImported(primary=written.span, file=home.source.name, word=word, near=near, names=listed or None)


def _has_plain_domain(member: ast.Parameter | ast.FixedParameter | ast.ConstraintStatement) -> bool:
    return isinstance(member, ast.Parameter) and not operator_domains.is_decision(member.domain, lambda _: False)

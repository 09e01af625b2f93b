"""Operators as they are written: each looked up in the catalogue, or declared by the space itself."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from spacelang.analysis import mixtures, parameters
from spacelang.analysis.alternatives import Alternative
from spacelang.analysis.bodies import BodyReader
from spacelang.analysis.drafts import Draft
from spacelang.analysis.groups import BodyMember, GroupReader
from spacelang.analysis.modules import Module
from spacelang.analysis.places import Place
from spacelang.analysis.report import Report
from spacelang.analysis.values import OperatorFinder
from spacelang.catalog.catalogue import CatalogueEntry, Parameter
from spacelang.catalog.catalogues import Catalogues
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.names import UnknownImported
from spacelang.ir import space as ir
from spacelang.suggest import nearest
from spacelang.syntax import ast

ReadOperator = Callable[[ast.Dotted, ast.Body | None, Place], ir.Operator]
ReadAlternatives = Callable[[Sequence[Alternative], Place, ReadOperator], tuple[tuple[ir.Branch, ...], int]]

MOST_LISTED: Final = 12
"""So many names are listed in a message at most."""


class OperatorReader:
    """Reads the operators that stand in the text of one module, with their bodies, into a draft."""

    def __init__(
        self, module: Module, catalogue: Catalogues, draft: Draft, report: Report, groups: GroupReader | None = None
    ) -> None:
        self._module = module
        self._catalogue = catalogue
        self.draft = draft
        self.report = report
        self.finder = OperatorFinder(catalogue, report)
        self.groups = GroupReader(report) if groups is None else groups
        self.alternatives: ReadAlternatives | None = None
        """Reads the structures that are values; whoever reads structures puts it here."""
        self.elsewhere: Callable[[Module], OperatorReader] | None = None
        """The readers of other modules, whose groups bring their members here; whoever has them puts it here."""

    def of(self, home: Module) -> "OperatorReader":
        """The reader of what stands in the text of a module."""
        return self if home is self._module or self.elsewhere is None else self.elsewhere(home)

    def knows(self, name: ast.Dotted) -> bool:
        """Whether there is an operator of this name."""
        home, rest = self._module.home_of(name)
        return rest in home.abstracts or name.text in self._catalogue

    def may_stand(self, name: ast.Dotted) -> bool:
        """Whether a name stands for an operator, a stage or a whole file."""
        home, rest = self._module.home_of(name)
        return self.knows(name) or rest in home.stages or rest in home.imports

    def read_value(
        self, name: ast.Dotted, body: ast.Body | None, place: Place, parameter: Parameter | None
    ) -> ir.Operator:
        """The operator that stands where a parameter could also have a domain of values."""
        word, hint = name.text, None
        if parameter is not None and word in parameter.words:
            hint = f"`{parameter.name} = {word}` fixes a value, `{parameter.name} : {{{word}, …}}` lets it vary"
        return self.read(name, body, place, hint, ("bool",))

    def read(
        self,
        name: ast.Dotted,
        body: ast.Body | None,
        place: Place,
        hint: str | None = None,
        others: Collection[str] = (),
    ) -> ir.Operator:
        """The operator; where its name is unknown, its body is read without being judged by a catalogue.

        Then `hint` says what to do, where it is known, and `others` could stand there as well.
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
            parameters.check_parts(entry, reader.names, self.report)
            parameters.check_required(name, entry, reader.names, self._catalogue, self.report)
        word, library = (name.text, self._catalogue.name) if entry is None else (entry.name, entry.catalogue)
        return ir.Operator(word, library, tuple(reader.children), tuple(reader.fixed), name.span)

    def _abstract(
        self, name: ast.Dotted, body: ast.Body | None, place: Place, home: Module, declaration: ast.Abstract
    ) -> ir.Operator:
        """A use of an abstract operator; without a body in its declaration it takes any parameter."""
        used = Related(name.span, "used here")
        declared = None
        if declaration.body is not None:
            declared = [given.name for given in self.groups.declared(declaration, home) if given.name is not None]
        reader = BodyReader(self, None, place, declaration if declared is not None else None, declared or ())
        reader.read(self.groups.members_of_use(declaration, home, body, self._module, used))
        return ir.Operator(declaration.name.text, ir.ABSTRACT, tuple(reader.children), tuple(reader.fixed), name.span)

    def read_alone(self, members: Sequence[BodyMember]) -> None:
        """Read what can be judged of members without knowing the operator around them: domains of values."""
        simple = [given for given in members if given.through is None and _is_simple(given.member)]
        BodyReader(self, None, Place("", "")).read(simple)

    def _find(
        self, name: ast.Dotted, home: Module, word: str, hint: str | None, others: Collection[str]
    ) -> CatalogueEntry | None:
        if word in home.damaged:
            return None
        if home is self._module:
            return self.finder.find(name, hint, others)
        if not home.may_have(word):
            self.report.add(unknown_imported(name, home, word))
        return None

    def entry_of(self, operator: ir.Operator) -> CatalogueEntry | None:
        """What the catalogue says of an operator; None for one that it does not know, or that is abstract."""
        return self._catalogue.entry(operator.catalogue, operator.name)

    def is_package(self, name: str) -> bool:
        """Whether a name is that of a catalogue in use."""
        return name in self._catalogue.used


def unknown_imported(written: ast.Dotted, home: Module, word: str) -> UnknownImported:
    """That an imported file declares nothing of a name."""
    names = [*home.stages, *home.abstracts]
    near = nearest(word, names)
    before = written.text.removesuffix(word)
    listed = ", ".join(f"`{name}`" for name in names[:MOST_LISTED]) + (", …" if len(names) > MOST_LISTED else "")
    near = None if near is None else f"{before}{near}"
    return UnknownImported(primary=written.span, file=home.source.name, word=word, near=near, names=listed or None)


def _is_simple(member: ast.Parameter | ast.Fixed | ast.Rule) -> bool:
    return isinstance(member, ast.Parameter) and not mixtures.is_choice(member.domain, lambda _: False)

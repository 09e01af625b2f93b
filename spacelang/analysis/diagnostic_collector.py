"""The collector of diagnostics, to which all phases of the analysis add."""

from spacelang.analysis.symbols import DataSymbols
from spacelang.diagnostics.diagnostic import Diagnostic, Related, Severity
from spacelang.diagnostics.domains import UnboundSymbol
from spacelang.text import Span


class DiagnosticCollector:
    """The diagnostics found so far, in no particular order, and the symbols of the data that the text mentions."""

    def __init__(self, symbols: DataSymbols | None = None) -> None:
        self.found: list[Diagnostic] = []
        self._brought: set[Diagnostic] = set()
        self._awaiting: set[Span] = set()
        self.symbols = DataSymbols() if symbols is None else symbols

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic."""
        self.found.append(diagnostic)

    def attribute_to(self, start: int, through: Related) -> None:
        """Add the place `through` to the diagnostics from index `start` on, and remove duplicates.

        A member that many bodies include is read many times. A mistake that is the same in all of them is reported
        once.
        """
        new = [problem for problem in self.found[start:] if problem not in self._brought]
        self._brought.update(new)
        self.found[start:] = [problem.with_related(through) for problem in new]

    def report_unbound(self, span: Span, limit: str | None = None) -> None:
        """Report the first symbol of the data in a span that is not bound.

        `limit` is an expression that would be finite without a number for the symbol.
        """
        at = self.symbols.first_mention(span, self.symbols.unbound_in(span))
        self.add(UnboundSymbol(primary=at, symbol=at.text, limit=limit))

    @property
    def has_errors(self) -> bool:
        """True if a diagnostic is an error, so that the space cannot be used."""
        return any(diagnostic.severity is Severity.ERROR for diagnostic in self.found)

    def mark_data_dependent(self, start: int) -> None:
        """Record that the diagnostics from index `start` on may disappear for data of another size."""
        self._awaiting.update(problem.primary for problem in self.found[start:])

    @property
    def has_only_data_dependent_errors(self) -> bool:
        """True if there are errors and all of them may disappear for data of another size."""
        errors = [problem for problem in self.found if problem.severity is Severity.ERROR]
        waiting = [isinstance(problem, UnboundSymbol) or problem.primary in self._awaiting for problem in errors]
        return bool(errors) and all(waiting)

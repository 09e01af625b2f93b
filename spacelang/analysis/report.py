"""Where the phases of analysis put what they find, so that one mistake never hides another."""

from spacelang.analysis.symbols import Symbols
from spacelang.diagnostics.diagnostic import Diagnostic, Related, Severity
from spacelang.diagnostics.domains import UnboundSymbol
from spacelang.text import Span


class Report:
    """Diagnostics as they are found, in no particular order, and the symbols of the data that are asked for."""

    def __init__(self, symbols: Symbols | None = None) -> None:
        self.found: list[Diagnostic] = []
        self._brought: set[Diagnostic] = set()
        self._awaiting: set[Span] = set()
        self.symbols = Symbols() if symbols is None else symbols

    def add(self, diagnostic: Diagnostic) -> None:
        """Record a problem."""
        self.found.append(diagnostic)

    def brought(self, start: int, through: Related) -> None:
        """Let the problems from number `start` on say how their text came where it is read, each but once.

        What is included in many bodies is read as often; a mistake that is the same in all of them is one mistake.
        """
        new = [problem for problem in self.found[start:] if problem not in self._brought]
        self._brought.update(new)
        self.found[start:] = [problem.with_related(through) for problem in new]

    def unbound(self, span: Span, limit: str | None = None) -> None:
        """Report the first symbol of the data in a span that has no number; `limit` is an expression that would do."""
        at = self.symbols.place(span, self.symbols.free(span))
        self.add(UnboundSymbol(primary=at, symbol=at.text, limit=limit))

    @property
    def has_errors(self) -> bool:
        """Whether something was found that keeps the space from being used."""
        return any(diagnostic.severity is Severity.ERROR for diagnostic in self.found)

    def await_data(self, start: int) -> None:
        """Note that the problems from number `start` on may be none for data of some size."""
        self._awaiting.update(problem.primary for problem in self.found[start:])

    @property
    def awaits_data(self) -> bool:
        """Whether there are errors, and none of them but may be none for data of some size."""
        errors = [problem for problem in self.found if problem.severity is Severity.ERROR]
        waiting = [isinstance(problem, UnboundSymbol) or problem.primary in self._awaiting for problem in errors]
        return bool(errors) and all(waiting)

"""Where the phases of analysis put what they find, so that one mistake never hides another."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class Report:
    """Diagnostics as they are found, in no particular order."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    def add(self, diagnostic: Diagnostic) -> None:
        """Record a problem."""
        self.found.append(diagnostic)

    @property
    def has_errors(self) -> bool:
        """Whether something was found that keeps the space from being used."""
        return any(diagnostic.severity is Severity.ERROR for diagnostic in self.found)

"""Every target of the registry does what every target must do."""

import pytest
from goldens import LOSSY
from hypothesis.strategies import SearchStrategy
from laws import brute
from laws.settings import EXAMPLES
from laws.spaces import finite_spaces

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.targets import TARGETS
from spacelang.targets._lowering import Preservation, ReportEntry
from spacelang.testing import TargetConformance
from spacelang.testing.small_spaces import span_of

MOST = 30
"""So many members of a drawn space are looked at."""


@pytest.mark.parametrize("name", TARGETS.names())
class TestTargets(TargetConformance):
    examples = EXAMPLES // 2
    refuses = False

    @pytest.fixture(autouse=True)
    def loaded(self, name: str) -> None:
        self.target, self.is_lossy = TARGETS.load(name), name in LOSSY

    def space_strategy(self) -> SearchStrategy[Space]:
        return finite_spaces()

    def members(self, space: Space) -> list[Configuration]:
        return [Configuration.from_json(text) for text in sorted(brute.configurations(space))[:MOST]]


def test_an_entry_knows_its_lines() -> None:
    span, other = (span_of("space s\nstage a = b", part) for part in ("stage", "space"))
    assert ReportEntry("stages", Preservation.EXACT, "", (span, other, span)).lines == (2, 1)
    assert ReportEntry("stages", Preservation.EXACT, "").line is None

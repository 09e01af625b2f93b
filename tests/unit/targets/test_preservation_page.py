"""The page about targets is made of what they declare."""

from spacelang.targets import TARGETS
from spacelang.targets._lowering import Construct
from spacelang.targets._preservation_page import PAGE, render_page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), "run `python -m spacelang.targets._preservation_page`"


def test_every_target_and_every_construct_is_on_it() -> None:
    written = render_page()
    assert all(f"| {construct.value} |" in written for construct in Construct)
    assert all(f"## `{name}`" in written for name in TARGETS.names())

"""Render the page from its data with jinja2 templates, which write nothing of a foreign file as markup.

jinja2 escapes every text, and characters that could hide or reorder other text are made visible. The page has no
script, unless it follows its run. Its content security policy forbids the browser to load, run or send anything else.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spacelang.diagnostics.cells import visible
from spacelang.report.page.axes import Tick, thinned
from spacelang.report.page.comparing import comparison
from spacelang.report.page.material import gathered
from spacelang.report.page.telling import told_run
from spacelang.report.stored import LONGEST

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from spacelang.runtime.storing.runs import Summary
    from spacelang.runtime.storing.stored_run import StoredRun

TEMPLATES: Final = Path(__file__).with_name("templates")

PATH: Final = re.compile(r"[MHVLh0-9 .-]*")
"""The characters of an SVG path."""


@dataclass(frozen=True, slots=True)
class Live:
    """The update settings of a page that follows its run: every `every` seconds `script` asks for a newer `version`."""

    said: str
    version: str
    every: float
    script: str


def page(runs: "Sequence[StoredRun]", *, others: Iterable[tuple[str, str]] = (), live: Live | None = None) -> str:
    """Return the HTML page of one or several runs, which needs no other files.

    `others` are stores that cannot be read, each with the reason. Raises StoreError for a damaged store.
    """
    data = [gathered(run) for run in runs]
    pages = [told_run(each, number, is_one_of_several=len(data) > 1) for number, each in enumerate(data, start=1)]
    markup = _markup()
    running = "" if live is None else live.script
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=_title([each.summary for each in data]),
            policy=markup(policy(style(), running)),
            style=markup(style()),
            script=markup(running),
            live=live,
            runs=pages,
            sections=[*pages[0].sections],
            comparison=comparison(data),
            others=[*others],
            made=_made(),
        )
    )


@cache
def style() -> str:
    """Return the CSS of every page."""
    return (TEMPLATES / "style.css").read_text(encoding="utf-8")


@cache
def script() -> str:
    """Return the script of a page that follows its run."""
    return (TEMPLATES / "watch.js").read_text(encoding="utf-8")


def policy(style: str, script: str = "") -> str:
    """Return the content security policy of the page.

    The browser may only apply this style and run this script, which may only connect to the page's own server.
    """
    parts = [
        "default-src 'none'",
        f"style-src {_hash(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(parts + ([f"script-src {_hash(script)}", "connect-src 'self'"] if script else []))


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _title(runs: "Sequence[Summary]") -> str:
    first, *others = runs
    if not others:
        return f"{first.space} on {first.data.name} by {first.optimizer}"
    names = {each.space for each in runs}
    return f"{len(runs)} runs of {first.space}" if len(names) == 1 else f"{len(runs)} runs"


def _made() -> str:
    try:
        said = f"spacelang {version('spacelang')}"
    except PackageNotFoundError:
        said = "spacelang"
    return f"Made by {said} from stored runs. This page loads nothing from elsewhere."


def _markup() -> "type[Markup]":
    from markupsafe import Markup

    return Markup


@cache
def _environment() -> "Environment":
    """Return the template environment. Every text is escaped, and missing variables are errors."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters.update(drawn=_drawn, percent=_percent, count=_count, fixed=_fixed, few=_few)
    return environment


def _finalized(value: Any) -> Any:
    """Return a value as templates write it: texts are cut, and their control characters made visible."""
    if not isinstance(value, str) or isinstance(value, _markup()):
        return value
    return visible(value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…")


def _drawn(path: str) -> "Markup":
    """Return an SVG path as markup that is not escaped or cut. Raises ValueError for other text."""
    if PATH.fullmatch(path) is None:
        raise ValueError("an SVG path has invalid characters")
    return _markup()(path)


def _percent(value: float) -> str:
    return f"{value:.2f}%"


def _count(value: int) -> str:
    return f"{value:,}"


def _fixed(value: float) -> str:
    # Adding 0.0 avoids "-0.000".
    return f"{round(value, 3) + 0.0:.3f}"


def _few(ticks: Sequence[Tick]) -> Sequence[Tick]:
    """Return at most three ticks, which fit above a column."""
    return thinned(ticks, 3)

"""The page as text: facts go through the templates, which write nothing of a stranger's file as markup.

jinja2 escapes every text, and no text is written as it is that could hide or reorder what stands beside it. There is no
script but that of a page which follows its run, and the page forbids its browser to load, run or send anything else.
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
"""What a line of a picture consists of."""


@dataclass(frozen=True, slots=True)
class Live:
    """What a page has that follows its run: every so many seconds `script` asks for another `version` of it."""

    said: str
    version: str
    every: float
    script: str


def page(runs: "Sequence[StoredRun]", *, others: Iterable[tuple[str, str]] = (), live: Live | None = None) -> str:
    """One or several runs, at least one, as a page of HTML that needs nothing beside itself.

    `others` are stores that cannot be read, each with the reason. Raises StoreError for a damaged store.
    """
    told = [gathered(run) for run in runs]
    pages = [told_run(each, number, is_one_of_several=len(told) > 1) for number, each in enumerate(told, start=1)]
    markup = _markup()
    running = "" if live is None else live.script
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=_title([each.summary for each in told]),
            policy=markup(policy(style(), running)),
            style=markup(style()),
            script=markup(running),
            live=live,
            runs=pages,
            sections=[*pages[0].sections],
            comparison=comparison(told),
            others=[*others],
            made=_made(),
        )
    )


@cache
def style() -> str:
    """The style of every page."""
    return (TEMPLATES / "style.css").read_text(encoding="utf-8")


@cache
def script() -> str:
    """The script of a page that follows its run."""
    return (TEMPLATES / "watch.js").read_text(encoding="utf-8")


def policy(style: str, script: str = "") -> str:
    """What a browser may do with the page: show this style, run this script, which asks whom it came from; no more."""
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
    return f"Made by {said} of what the stores say. This page loads nothing and has no part of another one."


def _markup() -> "type[Markup]":
    from markupsafe import Markup

    return Markup


@cache
def _environment() -> "Environment":
    """Every text is escaped, and made visible before; what a template asks for has to be there."""
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
    """What a template writes of a value: of a text all that could hide or reorder others by visible signs."""
    if not isinstance(value, str) or isinstance(value, _markup()):
        return value
    return visible(value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…")


def _drawn(path: str) -> "Markup":
    """A line of a picture, which may be long, as it is."""
    if PATH.fullmatch(path) is None:
        raise ValueError("a line has more in it than places")
    return _markup()(path)


def _percent(value: float) -> str:
    return f"{value:.2f}%"


def _count(value: int) -> str:
    return f"{value:,}"


def _fixed(value: float) -> str:
    # No small number below 0 is -0.
    return f"{round(value, 3) + 0.0:.3f}"


def _few(ticks: Sequence[Tick]) -> Sequence[Tick]:
    """So many that they have room above a column."""
    return thinned(ticks, 3)

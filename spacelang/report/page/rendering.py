"""Render the page from its data with jinja2 templates, which write nothing of a foreign file as markup.

jinja2 escapes every text, and characters that could hide or reorder other text are made visible. The page has no
script, unless it follows its run. Its content security policy forbids the browser to load, run or send anything else.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from html import escape
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.files import replace_atomically
from spacelang.report.page.axes import evenly_spaced_items
from spacelang.report.page.incumbent_curves import compare_runs
from spacelang.report.page.run_data import RunData, read_run_data
from spacelang.report.page.view_model import make_run_view
from spacelang.report.stored_run_output import MAX_LENGTH
from spacelang.text import shorten

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from spacelang.runtime.storage.run_listing import RunSummary
    from spacelang.runtime.storage.stored_run import StoredRun

HEIGHT: Final = 640  # The height of the frame in a notebook, in pixels


@dataclass(frozen=True, slots=True)
class InlinePage:
    """An HTML page: `html` is its text. A notebook shows it in a frame; `save` writes it to a file."""

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        # The empty sandbox forbids scripts, forms and access to the notebook.
        page = escape(self.html)
        size = f'width="100%" height="{HEIGHT}" style="border:1px solid #8884"'
        return f'<iframe sandbox="" srcdoc="{page}" {size}></iframe>'

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, which opens offline and replaces an earlier one. Raises OSError."""
        with replace_atomically(Path(path)) as new:
            new.write_text(self.html, encoding="utf-8")


TEMPLATES: Final = Path(__file__).with_name("templates")
PATH: Final = re.compile(r"[MHVLh0-9 .-]*")  # The characters of an SVG path


@dataclass(frozen=True, slots=True)
class LiveUpdateSettings:
    """The update settings of a page that follows its run: every `every` seconds `script` asks for a newer `version`."""

    status: str
    version: str
    every: float
    script: str


def render_page(
    runs: "Sequence[StoredRun]", *, others: Iterable[tuple[str, str]] = (), live: LiveUpdateSettings | None = None
) -> str:
    """Return the HTML page of runs, and of `others` that cannot be read, with reasons; raise StoreError if damaged."""
    return render_page_of_run_data([read_run_data(run) for run in runs], others=others, live=live)


def render_page_of_run_data(
    data: Sequence[RunData], *, others: Iterable[tuple[str, str]] = (), live: LiveUpdateSettings | None = None
) -> str:
    """Return the HTML page of runs whose data has been read; `others` are names of files, and why they were not read.

    With `live` the page updates itself. Raises StoreError if a store is damaged.
    """
    pages = [make_run_view(each, number, is_one_of_several=len(data) > 1) for number, each in enumerate(data, start=1)]
    markup, template = _markup(), _environment().get_template("page.html")
    running = "" if live is None else live.script
    return template.render(
        title=_title([each.summary for each in data]),
        policy=markup(content_security_policy(page_style_sheet(), running)),
        style=markup(page_style_sheet()),
        script=markup(running),
        live=live,
        runs=pages,
        sections=[*pages[0].section_anchors],
        comparison=compare_runs(data),
        others=[*others],
        made=_footer(),
    )


@cache
def page_style_sheet() -> str:
    """Return the CSS of every page."""
    return (TEMPLATES / "style.css").read_text(encoding="utf-8")


@cache
def live_update_script() -> str:
    """Return the script of a page that follows its run."""
    return (TEMPLATES / "watch.js").read_text(encoding="utf-8")


def content_security_policy(style: str, script: str = "") -> str:
    """Return the content security policy: only this style and script, and connections to its own server only."""
    policy = f"default-src 'none'; style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    return f"{policy}; script-src {_hash(script)}; connect-src 'self'" if script else policy


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _title(runs: "Sequence[RunSummary]") -> str:
    first, *others = runs
    if not others:
        return f"{first.space} on {first.data.name} by {first.optimizer}"
    return f"{len(runs)} runs of {first.space}" if len({each.space for each in runs}) == 1 else f"{len(runs)} runs"


def _footer() -> str:
    try:
        program = f"spacelang {version('spacelang')}"
    except PackageNotFoundError:
        program = "spacelang"
    return f"Made by {program} from stored runs. This page loads nothing from elsewhere."


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
        finalize=_finalize,
    )
    environment.filters.update(drawn=_svg_path, percent="{:.2f}%".format, count="{:,}".format, fixed=_fixed)
    environment.filters["few"] = lambda ticks: evenly_spaced_items(ticks, 3)
    return environment


def _finalize(value: Any) -> Any:
    """Return a value as templates write it: texts are cut, and their control characters made visible."""
    if not isinstance(value, str) or isinstance(value, _markup()):
        return value
    return replace_unprintable(shorten(value, MAX_LENGTH))


def _svg_path(path: str) -> "Markup":
    """Return an SVG path as markup that is not escaped or cut. Raises ValueError for other text."""
    if PATH.fullmatch(path) is None:
        raise ValueError("an SVG path has invalid characters")
    return _markup()(path)


def _fixed(value: float) -> str:
    # Adding 0.0 avoids "-0.000".
    return f"{round(value, 3) + 0.0:.3f}"

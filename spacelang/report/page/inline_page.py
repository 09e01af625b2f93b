"""The page of a run as an object that a notebook shows inline."""

from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import Final

from spacelang.files import replace_atomically

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

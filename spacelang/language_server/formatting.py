"""Formatting: the layout of `spacelang fmt`, as the smallest edit of whole lines."""

from lsprotocol import types

from spacelang.language_server.documents import Document
from spacelang.syntax.printer import format_text


def formatting(document: Document) -> list[types.TextEdit]:
    """Return the edit that formats a document; nothing for a text with syntax errors, or in the right layout."""
    if document.is_compiled or document.parsed.diagnostics:
        return []
    old = document.source.text.splitlines(keepends=True)
    new = format_text(document.source.text).splitlines(keepends=True)
    if old == new:
        return []
    first = next((place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    limit = min(len(old), len(new)) - first
    last = next((back for back in range(limit) if old[-1 - back] != new[-1 - back]), limit)
    end = types.Position(document.source.text.count("\n") + 1, 0)
    if last:
        end = types.Position(len(old) - last, 0)
    place = types.Range(types.Position(first, 0), end)
    return [types.TextEdit(place, "".join(new[first : len(new) - last]))]

"""Find deprecations in numpydoc docstrings."""

import inspect
import re
from collections.abc import Iterator
from typing import Final

from spacelang.catalog.catalogue import Deprecation

_SECTION: Final = re.compile(r"^(?P<title>[A-Z][\w ]*)\n-{3,}$", re.MULTILINE)
_ENTRY: Final = re.compile(r"^(?P<names>\w+(?:, \w+)*) ?:.*$", re.MULTILINE)
# Some docstrings of scikit-learn lack the space after the dots.
_DIRECTIVE: Final = re.compile(
    r"^(?P<indent> *)\.\. ?deprecated:: *(?P<since>[\w.]+)(?P<body>(?:\n(?P=indent) +\S.*)+)", re.MULTILINE
)
_RENAMED: Final = re.compile(r"(?:Use|use|renamed(?: to)?) `(?P<replacement>\w+)`")
_SENTENCE: Final = re.compile(r"(?<=[a-z0-9`])\. +(?=[A-Z`])")


def deprecated_parameters(docstring: str | None) -> dict[str, Deprecation]:
    """Return the deprecation of each parameter that the docstring declares deprecated as a whole.

    A note about single values ("`None` is deprecated") or about the future ("will be deprecated") does not deprecate
    the parameter.
    """
    found = {}
    for name, entry in _entries(_parameters(docstring)):
        for directive in _DIRECTIVE.finditer(entry):
            text = _normalize(directive["body"])
            if re.match(rf"(The )?`{name}`( parameter)? (is|was) (deprecated|renamed)", text):
                found[name] = _deprecation(directive["since"], text)
    return found


def deprecated_class(docstring: str | None) -> Deprecation | None:
    """Return the deprecation of the class itself, which comes before the first section; None if there is none."""
    directive = _DIRECTIVE.search(_SECTION.split(inspect.cleandoc(docstring or ""), maxsplit=1)[0])
    return _deprecation(directive["since"], _normalize(directive["body"])) if directive else None


def _parameters(docstring: str | None) -> str:
    pieces = _SECTION.split(inspect.cleandoc(docstring or ""))
    sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    return sections.get("Parameters", "")


def _entries(section: str) -> Iterator[tuple[str, str]]:
    heads = list(_ENTRY.finditer(section))
    ends = [*(head.start() for head in heads[1:]), len(section)]
    for head, end in zip(heads, ends, strict=False):
        for name in head["names"].split(", "):
            yield name, section[head.end() : end]


def _normalize(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _deprecation(since: str, text: str) -> Deprecation:
    renamed = _RENAMED.search(text)
    sentences = _SENTENCE.split(text.rstrip("."), maxsplit=1)
    note = sentences[-1]
    return Deprecation(since, renamed["replacement"] if renamed else None, note[:1].lower() + note[1:])

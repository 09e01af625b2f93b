"""The spellings of the numbers of a space in its source texts, such as `1e-4` for 0.0001."""

import re
from collections.abc import Iterator
from typing import Final

from spacelang.ir.domain import literal
from spacelang.ir.space import Hyperparameter, Operator, Space, subtree
from spacelang.text import Span

_NUMBER: Final = re.compile(r"(?<![\w.])(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?(?![\w.])")
_QUOTED_OR_NUMBER: Final = re.compile(rf'"(?:[^"\\]|\\.)*"|`[^`]*`|(?P<number>{_NUMBER.pattern})')
_TASK: Final = re.compile(r"^task\b[^#]*", re.MULTILINE)
_SIGN: Final = re.compile(
    r'#[^\n]*|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|[\[({]|[\])}]|,|\n(?!\s*(?:[|=@]|when\b|log\b|step\b))'
)
"""Comments, strings, brackets and what may end a member of a body: a comma or a line that does not go on."""


class NumberSpellings:
    """The spelling of each number in the definition of a hyperparameter, fixed value, constraint or task.

    Spaces that were not read from text have no spellings.
    """

    def __init__(self, space: Space) -> None:
        """Find the definitions; numbers in them are read when they are asked for."""
        self._definitions: dict[str, str] = {}
        for node in subtree(space.root):
            if isinstance(node, Hyperparameter):
                self._definitions[node.address] = _member_text(node.span)
        self._fixed = dict(_fixed_values(space))
        self._task = "\n".join(_TASK.findall(space.root.span.source.text))

    def respell(self, text: str, address: str) -> str:
        """Return a text about an address (empty: about the task) with its numbers as the definition has them."""
        definition = self._definitions.get(address) or self._fixed.get(address, "") if address else self._task
        return respell_numbers(text, definition)


def respell_numbers(text: str, definition: str) -> str:
    """Return a text with the numbers that a definition has as they are written there.

    >>> respell_numbers("float[0.0001, 10000.0] log", "float[1e-4, 1e4] log = 1")
    'float[1e-4, 1e4] log'
    """
    spellings: dict[str, str] = {}
    for found in _QUOTED_OR_NUMBER.finditer(definition):
        written = found["number"]
        for canonical in () if written is None else _canonical_spellings(written):
            spellings.setdefault(canonical, written)
    return _QUOTED_OR_NUMBER.sub(lambda found: spellings.get(found[0], found[0]), text) if spellings else text


def _canonical_spellings(written: str) -> Iterator[str]:
    """Yield the texts that a written number may have as a value: as a float, and as an integer if it is one."""
    number = float(written)
    yield literal(number)
    if written.replace("_", "").isdigit():
        yield literal(int(written))
    elif number.is_integer():
        yield literal(int(number))


def _member_text(name: Span) -> str:
    """Return the rest of the member of a body that begins with a name."""
    text, depth = name.source.text, 0
    for sign in _SIGN.finditer(text, name.end):
        if sign[0] in ("[", "(", "{"):
            depth += 1
        elif sign[0] in ("]", ")", "}"):
            depth -= 1
        if depth < 0 or (depth == 0 and sign[0] in (",", "\n")):
            return text[name.end : sign.start()]
    return text[name.end :]


def _fixed_values(space: Space) -> Iterator[tuple[str, str]]:
    """Yield the addresses of fixed values in operators with a body, and the texts behind their names."""
    for variable in space.decisions:
        for branch in variable.branches:
            if isinstance(branch.node, Operator):
                body = _member_text(branch.node.span)
                for name, _ in branch.node.fixed:
                    found = re.search(rf"(?<![\w`])`?{re.escape(name)}`?\s*=(?!=)\s*([^\s,}}]+)", body)
                    yield f"{variable.address}.{branch.name}.{name}", found[1] if found else ""

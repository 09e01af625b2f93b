"""The tables of the parser, stored as JSON.

Computing them from the grammar takes longer than checking a space. `grammars/spacelang.tables.json` is pure data; no
code is run to read it. It is used only for the exact grammar that it was made from; otherwise Lark computes the tables.
After a change of the grammar, update the file with `python -m spacelang.syntax.parser_tables`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from spacelang.files import resource_folder

if TYPE_CHECKING:
    from lark import Lark
    from lark.grammar import Rule


GRAMMAR: Final = "spacelang.lark"
TABLES: Final = "spacelang.tables.json"
END: Final = "$END"  # The terminal at the end of every text
_KEYWORD: Final = re.compile(r"([a-z]+)\\[bs]")


@dataclass(frozen=True)
class ParserTables:
    """An LALR(1) parser as numbers and names."""

    terminals: Mapping[str, str]
    """The regular expression of each terminal, in the order in which the contextual lexer tries them."""
    ignored: Sequence[str]
    keywords: Mapping[str, str]  # The terminals that begin like a name, by their first word
    signs: Mapping[str, str]  # The terminals of one fixed character, by that character
    rules: Sequence[tuple[str, int, str | None, Sequence[int]]]
    """The symbol of each rule, its length, the name of its builder method, and the places of inlined lists.

    The members of an inlined list become parts of the node. Without a method (None), the only part is passed on; an
    empty name makes a list to be inlined.
    """
    states: Sequence[Mapping[str, int]]
    """The action for a symbol in each state: the number of the next state, or `~rule` to reduce by that rule."""


def load() -> ParserTables:
    """Return the tables of the grammar: stored ones if complete and up to date, else computed."""
    grammar = _grammar()
    return _stored(grammar) or _compute(grammar)


def dump() -> str:
    """Compute the tables, and return them in the stored format. The text is the same in every process."""
    grammar = _grammar()
    tables = json.dumps(asdict(_compute(grammar)), separators=(",", ":"))
    return f"[{_checksum(grammar, tables)},\n{tables}\n]\n"


def lark_parser(transformer: object = None) -> "Lark":
    """Return Lark's own parser of the grammar."""
    return _lark(_grammar(), transformer)


def _lark(grammar: str, transformer: object = None) -> "Lark":
    from lark import Lark

    return Lark(grammar, parser="lalr", start="file", keep_all_tokens=True, transformer=transformer)


def _grammar() -> str:
    return (resource_folder("grammars") / GRAMMAR).read_text(encoding="utf-8")


def _stored(grammar: str) -> ParserTables | None:
    """Return the stored tables, or None if they are missing, damaged or made for another grammar."""
    try:
        head, tables, *_ = (resource_folder("grammars") / TABLES).read_text(encoding="utf-8").split("\n")
        return ParserTables(**json.loads(tables)) if head == f"[{_checksum(grammar, tables)}," else None
    except (OSError, ValueError):
        return None


def _checksum(grammar: str, tables: str) -> int:
    return crc32(tables.encode(), crc32(grammar.encode()))


def _compute(grammar: str) -> ParserTables:
    parser = _lark(grammar)
    lexer, table = parser.parser.lexer.root_lexer, parser.parser.parser._parse_table
    patterns = {each.name: each.pattern for each in lexer.terminals}
    regexps = {name: pattern.to_regexp() for name, pattern in patterns.items()}
    begins = {name: _KEYWORD.match(regexp) for name, regexp in regexps.items()}
    (start,), (end,) = table.start_states.values(), table.end_states.values()
    return ParserTables(
        regexps,
        sorted(lexer.ignore_types),
        {begin[1]: name for name, begin in begins.items() if begin is not None},
        {each.value: name for name, each in patterns.items() if each.type == "str" and len(each.value) == 1},
        [_rule(rule) for rule in parser.rules],
        _number_states(table.states, start, end, {rule: place for place, rule in enumerate(parser.rules)}),
    )


def _rule(rule: "Rule") -> tuple[str, int, str | None, list[int]]:
    symbol, size = rule.origin.name, len(rule.expansion)
    inlined = [place for place, part in enumerate(rule.expansion) if part.name.startswith("_")]
    if symbol.startswith("_"):
        return symbol, size, "", inlined
    if not rule.options.expand1 or rule.alias:
        return symbol, size, rule.alias or symbol, inlined
    if size != 1 or inlined:
        raise ValueError(f"a rule with `?` that has several parts needs a name behind `->`: {rule}")
    return symbol, size, None, inlined


def _number_states(
    states: Mapping[int, Any], start: int, end: int, rules: Mapping["Rule", int]
) -> list[dict[str, int]]:
    """Return the states in the order of a walk from the start; Lark's own numbers depend on the order of sets."""
    from lark.parsers.lalr_analysis import Shift

    order = {start: 0}
    queue = [start]
    for state in queue:
        for _, target in sorted((symbol, target) for symbol, (kind, target) in states[state].items() if kind is Shift):
            if target not in order:
                order[target] = len(order)
                queue.append(target)
    numbered = [
        {
            symbol: order[target] if kind is Shift else ~rules[target]
            for symbol, (kind, target) in sorted(states[state].items())
        }
        for state in queue
    ]
    # The end of a completely read text is shifted like any other terminal.
    numbered[order[end]][END] = order[end]
    return numbered


if __name__ == "__main__":
    (resource_folder("grammars") / TABLES).write_text(dump(), encoding="utf-8")

KINDS: Final = {
    "COMMENT": "comment", "STRING": "string", "TICKED": "string", "AT": "annotation", "QUANTITY": "number",
    "NUMBER": "number",
}  # fmt: skip


def highlight(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a text as pairs of kind and text. Names spelled like keywords count as keywords.

    Kinds are `keyword`, `comment`, `string`, `annotation`, `number`, and an empty string for everything else. The pages
    of reports and the Pygments lexer both colour by these pieces; reports need no Pygments.
    """
    place = 0
    for match in _pattern().finditer(text):
        if match.start() > place:
            yield "", text[place : match.start()]
        yield KINDS.get(match.lastgroup or "", "keyword" if match.lastgroup == "KEYWORD" else ""), match[0]
        place = match.end()
    if place < len(text):
        yield "", text[place:]


@cache
def _pattern() -> re.Pattern[str]:
    """Compile a pattern from the terminals of the grammar, with keywords before names."""
    tables = load()
    keywords = "|".join(tables.terminals[name] for name in tables.keywords.values())
    kinds = "|".join(f"(?P<{name}>{tables.terminals[name]})" for name in KINDS)
    return re.compile(f"{kinds}|(?P<KEYWORD>{keywords})|(?P<NAME>{tables.terminals['NAME']})")

"""The tables of the parser, stored as JSON, and the LR driver that reads a text by them.

Computing them from the grammar takes longer than checking a space. `grammars/spacelang.tables.json` is pure data; no
code is run to read it. It is used only for the exact grammar that it was made from; otherwise Lark computes the tables.
After a change of the grammar, update the file with `python -m spacelang.syntax.parser_tables`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from zlib import crc32

from spacelang.files import resource_folder
from spacelang.frozen import frozen

if TYPE_CHECKING:
    from lark import Lark
    from lark.grammar import Rule

GRAMMAR: Final = "spacelang.lark"
TABLES: Final = "spacelang.tables.json"
END: Final = "$END"  # The terminal at the end of every text
KINDS: Final = {
    "COMMENT": "comment", "STRING": "string", "TICKED": "string", "AT": "annotation", "QUANTITY": "number",
    "NUMBER": "number",
}  # fmt: skip
_KEYWORD: Final = re.compile(r"([a-z]+)\\[bs]")


@dataclass(frozen=True)
class ParserTables:
    """The tables of an LALR(1) parser, as numbers and names: its terminals, rules, and the actions of each state."""

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


NodeFactory: TypeAlias = Callable[[list[Any]], Any]


class Token(str):
    """The text of a terminal, with the name of the terminal and its position."""

    __slots__ = ("end_pos", "start_pos", "type")
    type: str  # The name of the terminal. Empty if the text is no terminal that is allowed here
    start_pos: int
    end_pos: int


@frozen
class UnexpectedToken:
    """A token that does not fit, and the terminals that could be in its place."""

    token: Token
    expected: frozenset[str]


@frozen
class ParseOutcome:
    """The result of parsing a text: the value that the builder made, or the first error."""

    value: Any  # The value that the builder made. After an error, a list of the parts that are complete before it
    error: UnexpectedToken | None


class LrDriver:
    """An LALR(1) parser: it shifts tokens, and reduces them by calling a method of the builder for each rule."""

    def __init__(self, tables: ParserTables, builder: object) -> None:
        self._states = tables.states
        self._rules = [
            (symbol, size, _node_factory(builder, name, parts)) for symbol, size, name, parts in tables.rules
        ]
        self._lexer = Lexer(tables)

    def parse(self, text: str) -> ParseOutcome:
        """Parse a text, up to the first token that does not fit."""
        actions, rules = self._states, self._rules
        states, values = [0], list[Any]()
        for token in self._lexer.tokens(text, states):
            while (action := actions[states[-1]].get(token.type)) is not None:
                if action >= 0:
                    states.append(action)
                    values.append(token)
                    break
                symbol, size, make = rules[~action]
                if make is None:
                    states[-1] = actions[states[-2]][symbol]
                    continue
                parts = values[-size:] if size else []
                if size:
                    del values[-size:], states[-size:]
                values.append(make(parts))
                states.append(actions[states[-1]][symbol])
            else:
                whole = values[0] if values and isinstance(values[0], list) else []
                return ParseOutcome(whole, UnexpectedToken(token, self._acceptable_terminals(states)))
        return ParseOutcome(values[0], None)

    def read_beginning(self, text: str) -> tuple[tuple[Token, ...], frozenset[str], int | None]:
        """Return the tokens of the beginning of a text, the terminals that may follow, and the place of a mistake.

        Nothing is built. The place is None if the text has no mistake; the tokens are then those of the whole text.
        """
        states, tokens = [0], list[Token]()
        for token in self._lexer.tokens(text, states):
            if token.type == END:
                return tuple(tokens), self._acceptable_terminals(states), None
            if not self._can_follow(states, token.type):
                return tuple(tokens), self._acceptable_terminals(states), token.start_pos
            states.append(self._states[states[-1]][token.type])
            tokens.append(token)
        return tuple(tokens), self._acceptable_terminals(states), None

    def _acceptable_terminals(self, states: Sequence[int]) -> frozenset[str]:
        known = (name for name in self._states[states[-1]] if name.isupper())
        return frozenset(name for name in known if self._can_follow(list(states), name))

    def _can_follow(self, states: list[int], terminal: str) -> bool:
        """Return True if a terminal can follow in the state at the top of the stack `states`.

        The reductions before it are simulated, because LALR tables allow reductions for some terminals that cannot
        follow in the end. `states` is modified.
        """
        while (action := self._states[states[-1]].get(terminal)) is not None:
            if action >= 0:
                return True
            symbol, size, _ = self._rules[~action]
            if size:
                del states[-size:]
            states.append(self._states[states[-1]][symbol])
        return False


class Lexer:
    """A contextual lexer: keywords are ordinary names where the state of the parser allows no keyword."""

    def __init__(self, tables: ParserTables) -> None:
        self._tables = tables
        self._blank = f"(?>(?:{'|'.join(tables.terminals[name] for name in tables.ignored)})*)"
        fixed = {"NAME", *tables.ignored, *tables.keywords.values(), *tables.signs.values()}
        others = [name for name in tables.terminals if name not in fixed]
        self._any = self._compile_pattern(["NAME", *others], f"(?P<SIGN>[{re.escape(''.join(tables.signs))}])|")
        self._of_state: dict[int, re.Pattern[str]] = {}

    def tokens(self, text: str, states: Sequence[int]) -> Iterator[Token]:
        """Yield the tokens of a text in order, then an `END` token, or an empty one at a text that is not allowed.

        The last entry of `states` is read before each token: it decides which terminals are allowed.
        """
        place, actions, kind = 0, self._tables.states, ""
        while kind != END:
            for match in self._any.finditer(text, place):
                found: re.Match[str] | None = match
                kind = self._terminal_of(match) if match.start() == place else ""
                if kind not in actions[states[-1]]:
                    found = self._pattern_of_state(states[-1]).match(text, place)
                    kind = (found.lastgroup or END) if found else ""
                if found is None:
                    return (yield self._unknown_token(text, place))
                index, place = found.lastindex or 0, found.end()
                yield _make_token(found[index] if index else "", kind, place)
                if place != match.end():
                    break

    def _terminal_of(self, match: re.Match[str]) -> str:
        """Return the terminal of a match, or an empty string for a keyword that extends beyond the matched word."""
        kind = match.lastgroup or END
        if kind == "NAME" and (word := match["NAME"]) in self._tables.keywords:
            keyword = self._tables.keywords[word]
            found = re.compile(self._tables.terminals[keyword]).match(match.string, match.start("NAME"))
            if found is not None:
                return keyword if found.end() == match.end() else ""
        return self._tables.signs[match["SIGN"]] if kind == "SIGN" else kind

    def _unknown_token(self, text: str, place: int) -> Token:
        """Return an empty token at the first text after blanks that is no allowed terminal."""
        blank = re.compile(self._blank).match(text, place)
        return _make_token("", "", place if blank is None else blank.end())

    def _pattern_of_state(self, state: int) -> re.Pattern[str]:
        """Return a pattern of the terminals that are allowed in a state."""
        if state not in self._of_state:
            accepted = self._tables.states[state]
            self._of_state[state] = self._compile_pattern([name for name in self._tables.terminals if name in accepted])
        return self._of_state[state]

    def _compile_pattern(self, names: Sequence[str], others: str = "") -> re.Pattern[str]:
        terminals = (f"(?P<{name}>{self._tables.terminals[name]})|" for name in names)
        return re.compile(f"{self._blank}(?:{''.join(terminals)}{others}\\Z)")


def _make_token(text: str, kind: str, end: int) -> Token:
    token = Token(text)
    token.type = kind
    token.start_pos = end - len(text)
    token.end_pos = end
    return token


def _node_factory(builder: object, name: str | None, parts: Sequence[int]) -> NodeFactory | None:
    """Return the function that makes the node of a rule from its parts: the method `name` of the builder.

    An empty name makes a list, to be inlined later. None, if `name` is None, means that the only part is the result.
    Lists among the parts, at the indices `parts`, are inlined before.
    """
    if name is None:
        return None
    if not name:
        return partial(_inline_lists, parts)
    method: NodeFactory = getattr(builder, name)
    return (lambda given: method(_inline_lists(parts, given))) if parts else method


def _inline_lists(places: Sequence[int], parts: list[Any]) -> list[Any]:
    """Return the parts with lists at `places` inlined; a list at the start is extended in place, in linear time."""
    if not places:
        return parts
    listed: list[Any] = parts[0] if 0 in places else parts[:1]
    for place, part in enumerate(parts[1:], 1):
        if place in places:
            listed.extend(part)
        else:
            listed.append(part)
    return listed


if __name__ == "__main__":
    (resource_folder("grammars") / TABLES).write_text(dump(), encoding="utf-8")

"""An LALR(1) parser that is driven by tables, and its contextual lexer.

Lark computes the tables and would read every text in the same way; the law tests compare the two. Lark itself is not
used for reading, because checking a file is a short command. Importing Lark, restoring its objects and compiling a
regular expression for each of about a hundred lexer states takes as long as everything else. Without it, large spaces
are read three times as fast.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

from spacelang.frozen import frozen
from spacelang.syntax.parser_tables import END, ParserTables

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
    """Return the builder's method or list function for a rule, or None if the only part is passed on."""
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

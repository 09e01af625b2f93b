"""Reads a text by the parser's tables: what Lark does with them, without what only other grammars need.

Lark computes the tables, and reads every text alike (laws compare the two). It is not used for reading because a check
is a command of a moment: importing Lark, restoring its objects and making a regular expression for each of a hundred
kinds of states takes as long as all the rest, and large spaces are read three times as fast without it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

from spacelang.facts import fact
from spacelang.syntax.tables import END, Tables

Make: TypeAlias = Callable[[list[Any]], Any]


class Token(str):
    """The text of a terminal, with its name and its place."""

    __slots__ = ("end_pos", "start_pos", "type")

    type: str
    """Empty where the text is no terminal that could stand here."""

    start_pos: int
    end_pos: int


@fact
class Unexpected:
    """What does not fit."""

    token: Token
    expected: frozenset[str]
    """The terminals that could stand here."""


@fact
class ParseOutcome:
    """What the builder made of the text, or where that ends to be one of the language."""

    value: Any
    """Where there is an error, the parts of the whole that are complete before it."""

    error: Unexpected | None


class Driver:
    """Shifts terminals and reduces them by the rules; the builder has a method for each kind of node."""

    def __init__(self, tables: Tables, builder: object) -> None:
        self._states = tables.states
        self._rules = [(symbol, size, _make(builder, name, parts)) for symbol, size, name, parts in tables.rules]
        self._lexer = Lexer(tables)

    def read(self, text: str) -> ParseOutcome:
        """What a text says, up to the first terminal that does not fit."""
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
                return ParseOutcome(whole, Unexpected(token, self._accepted(states)))
        return ParseOutcome(values[0], None)

    def _accepted(self, states: Sequence[int]) -> frozenset[str]:
        known = (name for name in self._states[states[-1]] if name.isupper())
        return frozenset(name for name in known if self._accepts(list(states), name))

    def _accepts(self, states: list[int], terminal: str) -> bool:
        """Whether a terminal can follow: rules may be complete before it that it does not follow in the end."""
        while (action := self._states[states[-1]].get(terminal)) is not None:
            if action >= 0:
                return True
            symbol, size, _ = self._rules[~action]
            if size:
                del states[-size:]
            states.append(self._states[states[-1]][symbol])
        return False


class Lexer:
    """Cuts a text into terminals: those that can stand in the parser's state, so that keywords are names elsewhere."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._blank = f"(?>(?:{'|'.join(tables.terminals[name] for name in tables.ignored)})*)"
        fixed = {"NAME", *tables.ignored, *tables.keywords.values(), *tables.signs.values()}
        others = [name for name in tables.terminals if name not in fixed]
        self._any = self._compiled(["NAME", *others], f"(?P<SIGN>[{re.escape(''.join(tables.signs))}])|")
        self._of_state: dict[int, re.Pattern[str]] = {}

    def tokens(self, text: str, states: Sequence[int]) -> Iterator[Token]:
        """The terminals in their order, `END` behind them; what may stand at a place is said by the last state then.

        What most often stands there is looked for first, all over the text. Only where it may not is it asked what may.
        """
        place, actions, kind = 0, self._tables.states, ""
        while kind != END:
            for match in self._any.finditer(text, place):
                found: re.Match[str] | None = match
                kind = self._kind(match) if match.start() == place else ""
                if kind not in actions[states[-1]]:
                    found = self._in_state(states[-1]).match(text, place)
                    kind = (found.lastgroup or END) if found else ""
                if found is None:
                    return (yield self._stranger(text, place))
                index, place = found.lastindex or 0, found.end()
                yield _token(found[index] if index else "", kind, place)
                if place != match.end():
                    break

    def _kind(self, match: re.Match[str]) -> str:
        """The terminal that was matched; empty where it is a keyword that goes on behind its word."""
        kind = match.lastgroup or END
        if kind == "NAME" and (word := match["NAME"]) in self._tables.keywords:
            keyword = self._tables.keywords[word]
            found = re.compile(self._tables.terminals[keyword]).match(match.string, match.start("NAME"))
            if found is not None:
                return keyword if found.end() == match.end() else ""
        return self._tables.signs[match["SIGN"]] if kind == "SIGN" else kind

    def _stranger(self, text: str, place: int) -> Token:
        """What is no terminal that may stand here: it begins behind what is ignored."""
        blank = re.compile(self._blank).match(text, place)
        return _token("", "", place if blank is None else blank.end())

    def _in_state(self, state: int) -> re.Pattern[str]:
        """A pattern of what may stand in a state."""
        if state not in self._of_state:
            accepted = self._tables.states[state]
            self._of_state[state] = self._compiled([name for name in self._tables.terminals if name in accepted])
        return self._of_state[state]

    def _compiled(self, names: Sequence[str], others: str = "") -> re.Pattern[str]:
        terminals = (f"(?P<{name}>{self._tables.terminals[name]})|" for name in names)
        return re.compile(f"{self._blank}(?:{''.join(terminals)}{others}\\Z)")


def _token(text: str, kind: str, end: int) -> Token:
    token = Token(text)
    token.type = kind
    token.start_pos = end - len(text)
    token.end_pos = end
    return token


def _make(builder: object, name: str | None, parts: Sequence[int]) -> Make | None:
    """What makes a node of its parts: a method of the builder, or a list; None where the only part is handed on."""
    if name is None:
        return None
    if not name:
        return partial(_listed, parts)
    method: Make = getattr(builder, name)
    return partial(_with_listed, method, parts) if parts else method


def _with_listed(method: Make, places: Sequence[int], parts: list[Any]) -> Any:
    return method(_listed(places, parts))


def _listed(places: Sequence[int], parts: list[Any]) -> list[Any]:
    """The parts, and the members of those that are lists; the first list grows, so that long ones cost no more."""
    if not places:
        return parts
    listed: list[Any] = parts[0] if 0 in places else parts[:1]
    for place, part in enumerate(parts[1:], 1):
        if place in places:
            listed.extend(part)
        else:
            listed.append(part)
    return listed

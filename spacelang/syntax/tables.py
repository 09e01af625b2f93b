"""The parser's tables: computing them from the grammar takes longer than checking a space, so they are kept as JSON.

`grammars/spacelang.tables.json` is data, read without running anything. It is used only with the version of Lark that
wrote it and for the very grammar it was made from; otherwise the tables are computed. Refresh it after a change of the
grammar with `python -m spacelang.syntax.tables`.
"""

import hashlib
import json
from typing import Any

import lark
from lark import Lark, Transformer
from lark.grammar import Rule
from lark.lexer import TerminalDef

from spacelang.resources import folder

GRAMMAR = "spacelang.lark"
TABLES = "spacelang.tables.json"


def load(transformer: Transformer[Any, Any] | None = None) -> Lark:
    """The parser, its tables from the file where that is fresh and whole."""
    grammar = _grammar()
    kept = _kept(_fingerprint(grammar))
    if kept is not None:
        try:
            return _restore(kept, transformer)
        except (LookupError, TypeError, ValueError, AttributeError):
            pass  # a damaged file costs time, never a parse
    return _compute(grammar, transformer)


def dump() -> str:
    """The tables of the grammar as they are kept; the same text in every process."""
    grammar = _grammar()
    data, memo = _compute(grammar, None).memo_serialize([TerminalDef, Rule])
    # Through JSON, so that all keys are strings as in the file.
    document = json.loads(json.dumps({"made_for": _fingerprint(grammar), "data": data, "memo": memo}))
    _renumber(document["data"]["parser"]["parser"])
    return json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n"


def _grammar() -> str:
    return (folder("grammars") / GRAMMAR).read_text(encoding="utf-8")


def _compute(grammar: str, transformer: Transformer[Any, Any] | None) -> Lark:
    return Lark(grammar, parser="lalr", start="file", keep_all_tokens=True, transformer=transformer)


def _renumber(table: dict[str, Any]) -> None:
    """Number symbols by their names and states in the order of a walk: Lark numbers them as its sets happen to run."""
    symbols = sorted(table["tokens"].values())
    number = {symbol: str(place) for place, symbol in enumerate(symbols)}
    states: dict[str, list[tuple[str, Any]]] = {
        state: sorted((table["tokens"][token], action) for token, action in actions.items())
        for state, actions in table["states"].items()
    }
    order = list(dict.fromkeys(str(state) for state in table["start_states"].values()))
    for state in order:
        targets = (str(arg) for _, (kind, arg) in states[state] if kind == 0)
        order.extend(target for target in dict.fromkeys(targets) if target not in order)
    place_of = {state: place for place, state in enumerate(order)}
    table["tokens"] = {number[symbol]: symbol for symbol in symbols}
    table["states"] = {
        place_of[state]: {
            number[symbol]: [kind, place_of[str(arg)] if kind == 0 else arg] for symbol, (kind, arg) in states[state]
        }
        for state in order
    }
    for ends in ("start_states", "end_states"):
        table[ends] = {start: place_of[str(state)] for start, state in table[ends].items()}


def _restore(kept: dict[str, Any], transformer: Transformer[Any, Any] | None) -> Lark:
    """Undo what JSON does to the tables: keys become integers again and pairs tuples."""
    memo = {int(key): value for key, value in kept["memo"].items()}
    table = kept["data"]["parser"]["parser"]
    table["states"] = {
        int(state): {token: tuple(action) for token, action in actions.items()}
        for state, actions in table["states"].items()
    }
    parser = Lark.__new__(Lark)
    parser._load({"data": kept["data"], "memo": memo}, transformer=transformer)
    return parser


def _kept(fingerprint: str) -> dict[str, Any] | None:
    """What the file says, or None where it is missing, unreadable or made for something else."""
    try:
        document = json.loads((folder("grammars") / TABLES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("made_for") == fingerprint else None


def _fingerprint(grammar: str) -> str:
    return f"lark {lark.__version__} {hashlib.sha256(grammar.encode()).hexdigest()}"


if __name__ == "__main__":
    (folder("grammars") / TABLES).write_text(dump(), encoding="utf-8")

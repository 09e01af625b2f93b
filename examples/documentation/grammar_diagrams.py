"""Railroad diagrams of the grammar, one for each rule, as a Markdown page."""

import io
import re
from pathlib import Path
from typing import Any, Final

import lark
import railroad
from lark import Lark, Token, Tree

HEADING: Final = re.compile(r"^// ---- ([^:\n]*)", re.MULTILINE)
KEYWORD: Final = re.compile(r"/([a-z]+(?:\\s\+[a-z]+)*)\\b")
PLAIN: Final = re.compile(r'"([^"]+)"')
LITERALS: Final = ("REGEXP", "STRING")
EXPLAINED: Final = {
    "NAME": "a word of letters, digits and `_` that does not begin with a digit",
    "NUMBER": "a number: `7`, `10_000`, `0.25`, `1e-4`",
    "QUANTITY": "a number with a unit of time or memory: `30s`, `2GB`",
    "STRING": "a text in double quotes",
    "TICKED": "a name in backticks",
    "AT": "`@` and the name of an annotation",
    "INDEX": "a position in square brackets: `[1]`",
}
SIGNS: Final = {"SHARE": ","}
"""Terminals with a context in their pattern, by the text that they match."""


def diagrams_page(grammar: Path) -> str:
    """Return the page: the rules in the order of the grammar, then what its names of words stand for."""
    text = grammar.read_text(encoding="utf-8")
    parser = Lark(
        (Path(lark.__file__).parent / "grammars" / "lark.lark").read_text(encoding="utf-8"),
        parser="earley",
        maybe_placeholders=False,
    )
    tree = parser.parse(text)
    words = {str(token.children[0]): _word_text(token) for token in tree.find_data("token")} | SIGNS
    parts = [
        "# Grammar\n",
        "Railroad diagrams of the rules, generated from the grammar. Rounded boxes stand in the text as "
        "they are; square boxes are other rules, and words in capital letters are explained [at the end](#words). The "
        "[language reference](language.md) says what each construct means.\n",
    ]
    headings = [(match.start(), match[1].strip()) for match in HEADING.finditer(text)]
    for rule in tree.find_data("rule"):
        name = _name(rule.children[0])
        start = re.search(rf"^\??{name}_?:", text, re.MULTILINE)
        while headings and start and headings[0][0] < start.start():
            parts.append(f"## {headings.pop(0)[1].capitalize()}\n")
        body = rule.children[-1]
        parts.append(f"### {name} {{ #rule-{name} }}\n\n{_svg(_expansions(body, words))}\n")
    parts.append("## Words\n\n| word | meaning |\n| --- | --- |")
    parts += [f"| `{name}` | {meaning} |" for name, meaning in EXPLAINED.items()]
    return "\n".join(parts) + "\n"


def _name(token: Any) -> str:
    return str(token).strip("!?_")


def _word_text(token: Tree[Token]) -> str | None:
    """Return the text that a token stands for if it has only one, such as a keyword."""
    leaves = [str(leaf) for leaf in token.scan_values(lambda leaf: isinstance(leaf, Token) and leaf.type in LITERALS)]
    if match := KEYWORD.match(leaves[0]):
        return match[1].replace(r"\s+", " ")
    plain = [PLAIN.fullmatch(leaf) for leaf in leaves]
    return " ".join(match[1] for match in plain if match) if all(plain) else None


def _expansions(node: Any, words: dict[str, str | None]) -> Any:
    if isinstance(node, Token):
        return _leaf(node, words)
    match node.data:
        case "expansions":
            choices = [_expansions(child, words) for child in node.children]
            return choices[0] if len(choices) == 1 else railroad.Choice(0, *choices)
        case "alias":
            return _expansions(node.children[0], words)
        case "expansion":
            items = [_expansions(child, words) for child in node.children]
            return items[0] if len(items) == 1 else railroad.Sequence(*items)
        case "expr":
            return _repeated(node, words)
        case "maybe":
            return railroad.Optional(_expansions(node.children[0], words))
        case _:  # name, literal
            return _expansions(node.children[0], words)


def _repeated(node: Tree[Any], words: dict[str, str | None]) -> Any:
    inner = _expansions(node.children[0], words)
    operator = str(node.children[1]) if len(node.children) > 1 else None
    kinds = {"?": railroad.Optional, "*": railroad.ZeroOrMore, "+": railroad.OneOrMore}
    return inner if operator is None else kinds[operator](inner)


def _leaf(token: Token, words: dict[str, str | None]) -> Any:
    name = str(token)
    if token.type == "STRING":
        return railroad.Terminal(name.strip('"'))
    if token.type == "TOKEN":
        text = words.get(name)
        if name == "COMPARE":
            return railroad.Choice(0, *map(railroad.Terminal, (text or "").split()))
        return railroad.Terminal(text) if text else railroad.NonTerminal(name, href="#words")
    rule = _name(name)
    return railroad.NonTerminal(rule, href=f"#rule-{rule}")


def _svg(body: Any) -> str:
    written = io.StringIO()
    railroad.Diagram(body).writeSvg(written.write)
    svg = re.sub(r"\s*\n\s*", "", written.getvalue())
    return f'<div class="railroad">{svg}</div>'

"""Names for the terminals of the grammar in messages."""

import re
from collections.abc import Set

_DESCRIPTIONS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "QUANTITY": "a quantity with a unit",
    "STRING": "a string",
    "COMPARE": "a comparison",
    "ARROW": "`->`",
    "AT": "an annotation",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "EQUAL": "`=`",
    "VBAR": "`|`",
    "AMPERSAND": "`&`",
    "QMARK": "`?`",
    "DOT": "`.`",
    "PLUS": "`+`",
    "MINUS": "`-`",
    "STAR": "`*`",
    "SLASH": "`/`",
    "SUBJECT": "`subject to`",
    "$END": "the end of the file",
}
_ITEMS = {"SPACE", "IMPORT", "USE", "PARAMS", "ABSTRACT", "STAGE", "PIPELINE", "TASK", "FORBID", "REQUIRE", "$END"}
_SIGNS = {"PLUS", "MINUS", "STAR", "SLASH"}
_VALUES = {"TRUE", "FALSE", "NONE", "STRING", "NUMBER", "NAME"}
_DOMAINS = {"FLOAT", "INT", "BOOL", "ORDERED"}
_GROUPS = ((_DOMAINS, "a domain (`float int bool {…} ordered`)"), (_VALUES, "a value"), (_ITEMS, "a new item"))
_MOST = 7
_TOKEN = re.compile(
    r"'[^'\r\n]*'|" r'"(?:[^"\\\r\n]|\\[^\r\n])*"|`[^`\r\n]*`|@?[^\W\d]\w*|\d[\w.]*|->|[=!<>]=|&&|\|\||\*\*|.',
    re.DOTALL,
)


def first_token(text: str) -> str:
    """Return the first token of a text. The text may be invalid."""
    found = _TOKEN.match(text)
    return found[0] if found else ""


def keywords(terminals: Set[str]) -> list[str]:
    """Return the keywords among the terminals, as they are written."""
    words = [name.lower() for name in terminals if name.isalpha() and name not in _DESCRIPTIONS]
    return [*words, *(["subject"] if "SUBJECT" in terminals else [])]


def expectation(terminals: Set[str]) -> str:
    """Return a list in words of the terminals that could be in a place, the likely ones first.

    Groups of terminals, such as all values, are summarised by one name.
    """
    left = set(terminals) - {"TICKED"}  # A plain name is allowed wherever a name in backticks is.
    words: list[str] = []
    for group, name in _GROUPS:
        if group <= left:
            left -= group
            words.append(name)
    if "PLUS" in left:  # All of them are allowed after a term, even if the parser expects only a sum by now.
        left -= _SIGNS
        words.append("an arithmetic sign")
    ordered = sorted(left, key=lambda name: (name not in _DESCRIPTIONS, name))
    words = [*(_DESCRIPTIONS.get(name, f"`{name.lower()}`") for name in ordered), *words]
    if len(words) > _MOST:
        words = [*words[:_MOST], "…"]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1] if words else "something else"

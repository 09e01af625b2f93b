"""A lexer for Pygments, so that Sphinx, MkDocs and `pygmentize` colour `.space` files."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from pygments.lexer import Lexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from spacelang.syntax.parser_tables import highlight

_TOKENS: Final = {
    "keyword": Keyword,
    "comment": Comment.Single,
    "string": String.Double,
    "annotation": Name.Decorator,
    "number": Number,
}
_PLAIN: Final = re.compile(
    r"(?P<parameter>[A-Za-z_]\w*(?=\s*(?::|=(?!=))))|(?P<operator_name>[A-Z]\w*)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<space>\s+)|(?P<punctuation>[\[\](){}:,.])|(?P<sign>.)"
)
_PLAIN_TOKENS: Final = {
    "parameter": Name.Attribute,
    "operator_name": Name.Class,
    "name": Name,
    "space": Whitespace,
    "punctuation": Punctuation,
    "sign": Operator,
}


class SpaceLexer(Lexer):  # type: ignore[misc]
    """A lexer for spaces, made from the grammar's own terminals."""

    name = "spacelang"
    url = "https://example.org/spacelang"
    aliases: ClassVar[list[str]] = ["space", "spacelang"]
    filenames: ClassVar[list[str]] = ["*.space"]
    mimetypes: ClassVar[list[str]] = ["text/x-spacelang"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Yield the offset, type and text of each token."""
        place, plain = 0, ""
        for kind, piece in (*highlight(text), ("end", "")):
            if not kind:
                plain += piece
                continue
            for match in _PLAIN.finditer(text, place, place + len(plain)):
                yield match.start(), _PLAIN_TOKENS.get(match.lastgroup or "", Text), match[0]
            place += len(plain)
            plain = ""
            if piece:
                yield place, _TOKENS[kind], piece
            place += len(piece)

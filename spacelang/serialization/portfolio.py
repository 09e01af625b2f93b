"""Portfolios as JSON documents: configurations that together did well on many data sets, in the order to try them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spacelang.files import os_error_text
from spacelang.ir.configuration import Configuration
from spacelang.serialization import codec, json_documents
from spacelang.serialization.codec import ObjectCodec, ObjectKey
from spacelang.serialization.json_documents import DefinitionError

KIND: Final = "portfolio"
VERSION: Final = 1  # The version of the document's format
REMEDY: Final = "recreate the portfolio with `spacelang archive --portfolio N`"


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Lists of configurations for the space called `space`, each in the order in which they are tried.

    A search uses the first list whose alternatives all exist in its space, so a space whose learners depend on
    installed packages can have one list for each set of packages. If there is none, it uses the rest of the only list,
    or no portfolio if there are several.
    """

    space: str
    lists: tuple[tuple[Configuration, ...], ...]


PORTFOLIO_CODEC: Final = ObjectCodec(
    "A portfolio, as `spacelang archive --portfolio` writes it and the option `portfolio` of the optimizer `auto` "
    "reads it.",
    (
        ObjectKey("kind", codec.kind_codec(KIND), "The kind of the document."),
        ObjectKey("version", codec.version_codec(VERSION), "The version of the format."),
        ObjectKey("space", codec.NAME, "The name of the space, for users."),
        ObjectKey(
            "lists",
            codec.ArrayCodec(
                codec.ArrayCodec(codec.CONFIGURATION, least=1, noun="configurations"), least=1, noun="lists"
            ),
            "Lists of configurations. The first list is used whose alternatives all exist in the space.",
        ),
    ),
    lambda parts, _, __: Portfolio(parts["space"], parts["lists"]),
    lambda _: {"kind": KIND, "version": VERSION},
)


def write_portfolio(portfolio: Portfolio, path: Path) -> None:
    """Write a portfolio to a file, one configuration a line; raises OSError."""
    document: Any = PORTFOLIO_CODEC.write(portfolio, json_documents.WritingContext())
    lists = ",\n".join("[\n" + ",\n".join(map(json.dumps, each)) + "\n]" for each in document.pop("lists"))
    head = json.dumps(document).removesuffix("}")
    path.write_text(f'{head}, "lists": [\n{lists}\n]}}\n', encoding="utf-8")


def read_portfolio(path: Path) -> Portfolio:
    """Return the portfolio in a file, or raise DefinitionError.

    The path of the error is the file if it cannot be read or is not JSON; for invalid contents it begins with
    `portfolio`.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(str(path), f"cannot be read: {os_error_text(error)}", REMEDY) from error
    except (ValueError, RecursionError) as error:
        raise DefinitionError(str(path), "is not JSON", REMEDY) from error
    return PORTFOLIO_CODEC.read(document, "portfolio", json_documents.ReadingContext())

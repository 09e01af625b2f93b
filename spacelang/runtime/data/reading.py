"""How a file of data is read, where it is not written as most are: options that commands and functions share."""

import codecs
from collections.abc import Iterable
from dataclasses import dataclass, replace
from shlex import quote
from typing import Final

from spacelang.runtime.errors import InputError
from spacelang.suggest import suggestion

SEPARATORS: Final = (",", ";", "\t", "|")
"""What separates the fields of most files."""
ENCODINGS: Final = ("utf-8", "utf-16", "cp1252", "latin-1", "cp1250", "mac_roman", "shift_jis", "gb18030", "big5")
"""The names of encodings that a mistaken one is compared with."""
OF_CSV: Final = (".csv", ".csv.gz")
OF_ARFF: Final = (".arff", ".arff.gz")
QUOTE: Final = '"'
TAB: Final = "\\t"
"""How a tab is written where there is no key for it."""


class ReadingError(InputError):
    """An option says how to read a file in a way that no file can be read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read: `sep` and `decimal` of a `.csv` file, the `encoding` of any text, columns that are left out.

    The encoding of UTF-8 may have a mark before the text.
    """

    sep: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    drop_columns: tuple[str, ...] = ()

    @property
    def of_text(self) -> dict[str, str]:
        """What it says of a `.csv` file that most of them do not need, by the names that pandas has for it."""
        said = {"sep": self.sep, "encoding": self.encoding, "decimal": self.decimal}
        plain = {"sep": PLAIN.sep, "encoding": PLAIN.encoding, "decimal": PLAIN.decimal}
        return {name: value for name, value in said.items() if value != plain[name]}

    def fitting(self, reference: str) -> "Reading":
        """The same as far as it says something of the file of a reference: most of it is of `.csv` files alone."""
        name = reference.lower()
        if name.endswith(OF_CSV):
            return self
        encoding = self.encoding if name.endswith(OF_ARFF) else PLAIN.encoding
        return replace(PLAIN, encoding=encoding, drop_columns=self.drop_columns)

    @property
    def options(self) -> str:
        """The same as options of a command, each with a space before it; empty where nothing is said."""
        said = {**self.of_text, **({"drop-columns": listed(self.drop_columns)} if self.drop_columns else {})}
        return "".join(f" --{name} {quote(written(value))}" for name, value in said.items())


PLAIN: Final = Reading()


def reading(
    sep: str | None = None, encoding: str | None = None, decimal: str | None = None, drop_columns: Iterable[str] = ()
) -> Reading:
    r"""The reading of such options: what is None is as in most files. A `sep` may be written `\t`.

    Raises ReadingError for more than one character, an encoding that there is not, and a decimal that is none.
    """
    found = "\t" if sep == TAB else sep
    if found is not None and (len(found) != 1 or found in '"\r\n'):
        raise ReadingError(f"`{sep}` separates no fields", r"a separator is one character; `\t` is a tab")
    if decimal not in {None, ".", ","}:
        raise ReadingError(f"`{decimal}` is no sign before decimals", "give `.` or `,`")
    if isinstance(drop_columns, str):
        raise ReadingError(f"`{drop_columns}` is one text, and no list of columns", f'give `["{drop_columns}"]`')
    return Reading(
        PLAIN.sep if found is None else found,
        PLAIN.encoding if encoding is None else _known(encoding),
        PLAIN.decimal if decimal is None else decimal,
        (*drop_columns,),
    )


def _known(encoding: str) -> str:
    """The name of an encoding of text."""
    try:
        known = codecs.lookup(encoding)
        "".encode(known.name)
    except (LookupError, ValueError):
        help_text = suggestion(encoding, ENCODINGS) or f"there are {', '.join(f'`{each}`' for each in ENCODINGS[:4])}"
        raise ReadingError(f"there is no encoding `{encoding}` of text", help_text) from None
    return known.name


def likely_separator(lines: list[str], sep: str) -> str | None:
    """What separates the fields of the first lines of a file, where another separator finds one field in each."""
    # Between quotation marks there may be more of them.
    fewest = {other: lines[0].count(other) for other in SEPARATORS if other != sep}
    fitting = (other for other, count in fewest.items() if count and all(line.count(other) >= count for line in lines))
    return max(fitting, key=fewest.__getitem__, default=None)


def likely_encoding(content: bytes) -> str | None:
    """The encoding of a text that is none of UTF-8; None for what is no text."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in content:
        return None
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def written(value: str) -> str:
    """A separator as it is typed."""
    return TAB if value == "\t" else value


def listed(columns: Iterable[str]) -> str:
    """Names of columns as `--drop-columns` takes them: those with a comma stand in quotation marks."""
    return ",".join(f'"{each.replace(QUOTE, 2 * QUOTE)}"' if {",", QUOTE} & {*each} else each for each in columns)

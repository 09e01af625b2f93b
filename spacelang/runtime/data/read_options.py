"""The options with which data is read: those for files in an unusual format, and how a store holds them."""

import codecs
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from spacelang.runtime.errors import DataError, InputError
from spacelang.spelling_suggestions import format_suggestion
from spacelang.text import quote_for_shell

SEPARATORS: Final = (",", ";", "\t", "|")  # The separators that are detected
ENCODINGS: Final = ("utf-8", "utf-16", "cp1252", "latin-1", "cp1250", "mac_roman", "shift_jis", "gb18030", "big5")
"""The encodings that are suggested for an unknown name."""
CSV_EXTENSIONS: Final = (".csv", ".csv.gz")
ARFF_EXTENSIONS: Final = (".arff", ".arff.gz")
QUOTE: Final = '"'
TAB: Final = "\\t"  # The way to type a tab as a separator


class ReadOptionsError(InputError):
    """An error for read options with which no file can be read, such as an unknown encoding."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The read options of a data file.

    `sep` and `decimal` are for `.csv` files only, `encoding` is for all text files. `drop_columns` are left out. Text
    in UTF-8 may start with a byte order mark.
    """

    sep: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    drop_columns: tuple[str, ...] = ()

    @property
    def non_default_text_file_options(self) -> dict[str, str]:
        """The options for text files that differ from the defaults, by pandas' names."""
        options = {"sep": self.sep, "encoding": self.encoding, "decimal": self.decimal}
        return {name: value for name, value in options.items() if value != getattr(DEFAULT_OPTIONS, name)}

    def applicable_to(self, reference: str) -> "ReadOptions":
        """Return the options that apply to the file of a reference; most of them are only for `.csv` files."""
        name = reference.lower()
        if name.endswith(CSV_EXTENSIONS):
            return self
        encoding = self.encoding if name.endswith(ARFF_EXTENSIONS) else DEFAULT_OPTIONS.encoding
        return replace(DEFAULT_OPTIONS, encoding=encoding, drop_columns=self.drop_columns)

    @property
    def command_options(self) -> str:
        """The options as command-line arguments, each with a space before it; empty if all are at their defaults."""
        options = {
            **self.non_default_text_file_options,
            **({"drop-columns": format_drop_columns_option(self.drop_columns)} if self.drop_columns else {}),
        }
        return "".join(f" --{name} {quote_for_shell(format_separator(value))}" for name, value in options.items())


DEFAULT_OPTIONS: Final = ReadOptions()


def make_read_options(
    sep: str | None = None, encoding: str | None = None, decimal: str | None = None, drop_columns: Iterable[str] = ()
) -> ReadOptions:
    r"""Return read options; None is the default, a tab may be `\t`; raise ReadOptionsError for invalid ones."""
    found = "\t" if sep == TAB else sep
    if found is not None and (len(found) != 1 or found in '"\r\n'):
        raise ReadOptionsError(f"`{sep}` is not a separator", r"give one character; `\t` is a tab")
    if decimal not in {None, ".", ","}:
        raise ReadOptionsError(f"`{decimal}` is not a decimal sign", "give `.` or `,`")
    if isinstance(drop_columns, str):
        raise ReadOptionsError(f"`{drop_columns}` is a text, not a list of columns", f'give `["{drop_columns}"]`')
    return ReadOptions(
        DEFAULT_OPTIONS.sep if found is None else found,
        DEFAULT_OPTIONS.encoding if encoding is None else _encoding_name(encoding),
        DEFAULT_OPTIONS.decimal if decimal is None else decimal,
        (*drop_columns,),
    )


def select_read_options(options: Mapping[str, Any]) -> ReadOptions:
    """Return the read options among the options of a run; raises ReadOptionsError."""
    return make_read_options(*(options[name] for name in ("sep", "encoding", "decimal", "drop_columns")))


def _encoding_name(encoding: str) -> str:
    try:
        known = codecs.lookup(encoding)
        "".encode(known.name)
    except (LookupError, ValueError):
        help_text = (
            format_suggestion(encoding, ENCODINGS) or f"for example {', '.join(f'`{each}`' for each in ENCODINGS[:4])}"
        )
        raise ReadOptionsError(f"unknown text encoding `{encoding}`", help_text) from None
    return known.name


def suggest_other_separator(lines: list[str], sep: str) -> str | None:
    """Return the separator that fits the first lines of a file, if it is not `sep`; None if no other one fits."""
    # Quoted fields may contain further separators.
    fewest = {other: lines[0].count(other) for other in SEPARATORS if other != sep}
    fitting = (other for other, count in fewest.items() if count and all(line.count(other) >= count for line in lines))
    return max(fitting, key=fewest.__getitem__, default=None)


def guess_encoding(content: bytes) -> str | None:
    """Return the likely encoding of a text that is not UTF-8; None for binary content."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in content:
        return None
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def format_separator(value: str) -> str:
    r"""Return a separator as a user types it: `\t` for a tab."""
    return TAB if value == "\t" else value


def format_drop_columns_option(columns: Iterable[str]) -> str:
    """Return column names as `--drop-columns` takes them, with quotation marks around those with a comma or a quote."""
    return ",".join(f'"{each.replace(QUOTE, 2 * QUOTE)}"' if {",", QUOTE} & {*each} else each for each in columns)


@dataclass(frozen=True, slots=True)
class DataOptions:
    """The options of data: how its file is read, and which labels and test rows there are.

    `target` is the label column, or several columns; None is the default. `test` is the share of test rows, None if all
    rows are used. `reference` is the data as it was named, and `test_file` the file of test rows; None if there is
    none, or if the store is of a version that did not save it.
    """

    target: str | tuple[str, ...] | None = None
    test: float | None = None
    reading: ReadOptions = DEFAULT_OPTIONS
    reference: str | None = None
    test_file: str | None = None

    @property
    def as_texts(self) -> dict[str, str]:
        """The options as texts by name, without those at their defaults."""
        named = {"target": self.target} if isinstance(self.target, str | None) else {"targets": json.dumps(self.target)}
        options = {**named, "test": None if self.test is None else repr(self.test)}
        options |= {"reference": self.reference, "test_file": self.test_file}
        dropped = {"drop_columns": json.dumps(self.reading.drop_columns)} if self.reading.drop_columns else {}
        return (
            {name: value for name, value in options.items() if value is not None}
            | self.reading.non_default_text_file_options
            | dropped
        )


def parse_data_options(texts: Mapping[str, str]) -> DataOptions:
    """Return the options of `DataOptions.as_texts`; raise InputError for invalid texts, as in a foreign store."""
    try:
        share = float(texts["test"]) if "test" in texts else None
        dropped = json.loads(texts.get("drop_columns", "[]"))
        several = json.loads(texts.get("targets", "[]"))
    except (ValueError, RecursionError):
        raise _unreadable("the share of test rows or the list of dropped columns is invalid") from None
    if share is not None and not 0 < share < 1:
        raise _unreadable(f"the test share {share:g} is not between 0 and 1")
    if not isinstance(dropped, list) or not all(isinstance(name, str) for name in dropped):
        raise _unreadable("the dropped columns are not a list of names")
    if not isinstance(several, list) or not all(isinstance(name, str) for name in several):
        raise _unreadable("the target columns are not a list of names")
    try:
        read = make_read_options(texts.get("sep"), texts.get("encoding"), texts.get("decimal"), dropped)
    except InputError as error:
        raise _unreadable(error.message) from None
    target = tuple(several) or texts.get("target")
    return DataOptions(target, share, read, texts.get("reference"), texts.get("test_file"))


def _unreadable(reason: str) -> DataError:
    return DataError(f"the store has invalid data options: {reason}", REPEAT_OPTIONS)


REPEAT_OPTIONS: Final = (
    "give the data options of the run again: `--data`, `--target-column`, `--test`, `--drop-columns`, "
    "`--sep`, `--encoding`, `--decimal`"
)

"""Splits and groups in the header of a store: those that a program gave with its data, and that no file has."""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from spacelang.ir.validation import Validation, parse_validation_or_none
from spacelang.runtime.data.loading import Table
from spacelang.runtime.data.read_options import REPEAT_OPTIONS
from spacelang.runtime.data.related_columns import relate_rows
from spacelang.runtime.errors import DataError
from spacelang.runtime.evaluation.related_rows import RowRelations
from spacelang.runtime.evaluation.splits import Rows, Split
from spacelang.runtime.storage.header import RELATIONS, SPLITS, RunHeader

MAX_NUMBERS: Final = 2**31  # The most row numbers that are read, so that a strange store cannot exhaust the memory


def splits_as_texts(splits: Sequence[Split], relations: RowRelations) -> dict[str, str]:
    """Return the data options for these splits and relations; none for those that do not exist."""
    rows = [[_packed(split.training), _packed(split.held_out)] for split in splits]
    found = {SPLITS: json.dumps(rows)} if rows else {}
    known = {"groups": relations.groups, "times": relations.times}
    packed = {name: _packed(codes) for name, codes in known.items() if codes is not None}
    return found | ({RELATIONS: json.dumps(packed)} if packed else {})


def validation_of(header: RunHeader) -> Validation | None:
    """Return the validation of a stored run; None if its splits came with the data."""
    return parse_validation_or_none(header.validation)


def related_table(table: Table, header: RunHeader) -> Table:
    """Return the table with the groups and times of its rows, as the run had them; raise DataError if impossible."""
    packed = _read(header.data_options, RELATIONS, {})
    if isinstance(packed, dict) and packed:
        known = {name: _unpacked(packed.get(name)) for name in ("groups", "times") if name in packed}
        if any(len(codes) != len(table.target) for codes in known.values()):
            raise DataError(f"the data is different: `{table.name}` has {len(table.target)} rows", REPEAT_OPTIONS)
        table = replace(table, relations=RowRelations(**known))
    return relate_rows(table, validation_of(header))


def with_stored_splits(table: Table, header: RunHeader) -> Table:
    """Return the rows of trials with the splits that a store holds, if it holds any; raise DataError if invalid."""
    packed = _read(header.data_options, SPLITS, [])
    if not packed:
        return table
    if not isinstance(packed, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in packed):
        raise _unreadable()
    splits = tuple(Split(*map(_unpacked, pair)) for pair in packed)
    source = header.validation.partition(" of ")[2].rpartition(" (rows ")[0]
    return replace(table, splits=splits, split_source=source)


def _packed(rows: Rows) -> str:
    numbers = np.ascontiguousarray(rows, dtype="<i8").tobytes()
    return base64.b64encode(zlib.compress(numbers)).decode("ascii")


def _unpacked(text: object) -> Rows:
    if not isinstance(text, str):
        raise _unreadable()
    try:
        reader = zlib.decompressobj()
        numbers = reader.decompress(base64.b64decode(text, validate=True), 8 * MAX_NUMBERS)
        found = np.frombuffer(numbers, dtype="<i8").astype(np.int64)
    except (binascii.Error, zlib.error, ValueError):
        raise _unreadable() from None
    if found.min(initial=0) < 0:
        raise _unreadable()
    return found


def _read(texts: Mapping[str, str], name: str, default: object) -> object:
    try:
        return json.loads(texts[name]) if name in texts else default
    except (ValueError, RecursionError):
        raise _unreadable() from None


def _unreadable() -> DataError:
    return DataError("the store has invalid splits", REPEAT_OPTIONS)

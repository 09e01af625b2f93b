"""What other programs read: fixed keys, places counted from 1, and nothing that JSON cannot say."""

import json

from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.json_output import diagnostics_to_json_records
from spacelang.diagnostics.parameters import UnknownParameter
from spacelang.diagnostics.reading import UnreadableFile
from spacelang.text import Source, Span

SOURCE = Source("credit.space", "stage estimator =\n  日本 {\n\tmax_depht : bool }\n")
START = SOURCE.text.index("max_depht")


def unknown(near: str | None) -> UnknownParameter:
    return UnknownParameter(
        primary=Span(SOURCE, START, START + 9),
        parameter="max_depht",
        operator="日本",
        near=near,
        related=(RelatedPlace(Span(SOURCE, 20, 24), "of this\x1b operator"),),
        notes=("one",),
    )


def test_every_key() -> None:
    assert diagnostics_to_json_records([unknown("max_depth")]) == [
        {
            "code": "SL301",
            "severity": "error",
            "message": "`max_depht` is not a parameter of `日本`",
            "file": "credit.space",
            "line": 3,
            "column": 2,
            "end_line": 3,
            "end_column": 11,
            "label": "unknown parameter",
            "help": "did you mean `max_depth`?",
            "notes": ["one"],
            "related": [
                {
                    "message": "of this\x1b operator",
                    "file": "credit.space",
                    "line": 2,
                    "column": 3,
                    "end_line": 2,
                    "end_column": 7,
                }
            ],
            "fixes": [
                {
                    "title": "replace with `max_depth`",
                    "file": "credit.space",
                    "line": 3,
                    "column": 2,
                    "end_line": 3,
                    "end_column": 11,
                    "start": START,
                    "end": START + 9,
                    "text": "max_depth",
                }
            ],
        }
    ]


def test_what_is_not_known_is_null() -> None:
    (record,) = diagnostics_to_json_records([unknown(None)])
    assert record["help"] is None
    assert record["fixes"] == []


def test_span_over_lines() -> None:
    whole = UnknownParameter(primary=Span(SOURCE, 0, len(SOURCE.text)), parameter="a", operator="b")
    (record,) = diagnostics_to_json_records([whole])
    assert (record["line"], record["column"], record["end_line"], record["end_column"]) == (1, 1, 4, 1)


def test_file_that_cannot_be_read() -> None:
    unreadable = UnreadableFile(primary=Span(Source("a.space", ""), 0, 0), path="a.space", reason="no such file")
    (record,) = diagnostics_to_json_records([unreadable])
    assert (record["file"], record["line"], record["column"]) == ("a.space", 1, 1)


def test_the_records_are_json() -> None:
    found = diagnostics_to_json_records([unknown("max_depth"), unknown(None)])
    assert json.loads(json.dumps(found)) == found


def test_nothing_to_say() -> None:
    assert diagnostics_to_json_records([]) == []

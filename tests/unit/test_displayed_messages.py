"""Extraction of messages: a fragment is shown inside its sentence; texts that nobody sees are left out."""

from pathlib import Path

from displayed_messages import Messages

SOURCE = '''"""A docstring of several words is not shown."""

class DataError(Exception):
    def __init__(self, message, remedy=""):
        pass


def damaged(path, reason):
    value: "an annotation of several words" = None
    assert value, "an assertion has several words"
    raise DataError(f"the file {path} is damaged: {reason}", "make a new file from a copy")


def truncated(path):
    damaged(path, "its last line is not complete")
'''


def test_messages_are_shown_as_users_see_them(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(SOURCE, encoding="utf-8")
    shown = sorted(each.partition(": ")[2] for each in Messages(tmp_path))
    remedy = "\n    help: make a new file from a copy"
    assert shown == [
        "the file {path} is damaged: its last line is not complete",
        f"the file {{path}} is damaged: {{reason}}{remedy}",
    ]

"""The DOT language, in which forms are drawn."""


def quoted(text: str) -> str:
    """A text as the language has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

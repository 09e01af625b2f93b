"""The exit statuses, and the environment variable by which a shell asks for completions."""

from typing import Final

BAD_INPUT: Final = 1
WRONG_USAGE: Final = 2
NOTHING_SUCCEEDED: Final = 3
INTERRUPTED: Final = 130
"""The exit statuses; 0 is success."""

COMPLETION_VARIABLE: Final = "_SPACELANG_COMPLETE"
"""The environment variable that a shell sets to ask for completions of a line."""

"""The exit statuses of commands; 0 is success."""

from typing import Final

BAD_INPUT: Final = 1
WRONG_USAGE: Final = 2
NOTHING_SUCCEEDED: Final = 3
INTERRUPTED: Final = 130

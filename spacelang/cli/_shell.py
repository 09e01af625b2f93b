"""What commands and the shell that starts them tell each other."""

from typing import Final

BAD_INPUT: Final = 1
WRONG_USAGE: Final = 2
NOTHING_SUCCEEDED: Final = 3
INTERRUPTED: Final = 130
"""The exit statuses; 0 is success."""

COMPLETE: Final = "_SPACELANG_COMPLETE"
"""Where this is in the environment a shell asks how a line may go on."""

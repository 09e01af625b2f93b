"""Where pytest finds this file it puts the folder on the path: helper modules of all tests lie beside it."""

import os
import signal

from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # The tests were started in the background, and what they start would inherit that: no Ctrl-C would be seen.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Here every run draws the same, so that a change fails by what it changes; with SPACELANG_FULL each run draws anew.
settings.register_profile("reproducible", derandomize=not os.environ.get("SPACELANG_FULL"))
settings.load_profile("reproducible")

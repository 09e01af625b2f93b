"""Where pytest finds this file it puts the folder on the path: helper modules of all tests lie beside it."""

import os
import signal

from hypothesis import settings

# Who starts the tests in the background has some signals ignored, and all that they start would inherit that.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# Here every run draws the same, so that a change fails by what it changes; with SPACELANG_FULL each run draws anew.
settings.register_profile("reproducible", derandomize=not os.environ.get("SPACELANG_FULL"))
settings.load_profile("reproducible")

"""Where pytest finds this file it puts the folder on the path: helper modules of all tests lie beside it."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # The tests were started in the background, and what they start would inherit that: no Ctrl-C would be seen.
    signal.signal(signal.SIGINT, signal.default_int_handler)

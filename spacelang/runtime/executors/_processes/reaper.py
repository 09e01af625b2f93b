"""The reaper: the parent of the zygote, which kills everything that the zygote leaves, even if that was killed.

The kernel makes the reaper the parent of each process whose parents have ended, also of one that has left its session
and cleared its environment. A trial that kills its parent, the zygote, therefore leaves no process behind.
"""

import os
import signal
from contextlib import suppress
from typing import Final, NoReturn

from spacelang.runtime.executors._processes import operating_system
from spacelang.runtime.executors._processes.process_tree import kill_children

STANDARD_ERROR: Final = 2  # The descriptor of the standard error, the last one of the standard streams


def fork_zygote() -> None:
    """Fork the zygote, in which this function returns; this process becomes its reaper, and exits as the zygote does.

    The caller must have only one thread.
    """
    operating_system.adopt_orphans()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    zygote = os.fork()
    if zygote != 0:
        try:
            _reap_until_end_of(zygote)
        finally:
            os._exit(1)


def _reap_until_end_of(zygote: int) -> NoReturn:
    # The data of the zygote is freed, and its connections are closed, when it ends, not when this process does.
    for descriptor in map(int, operating_system.inodes_by_descriptor()):
        if descriptor > STANDARD_ERROR:
            os.close(descriptor)
    while True:
        ended, status = os.wait()
        if ended == zygote:
            break
    kill_children()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        operating_system.disable_core_dumps()
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)

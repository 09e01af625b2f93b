"""What stops a command, without a command."""

import io
import os
import pty
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from spacelang.cli import _process
from spacelang.cli._process import sigterm_as_interrupt

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in STOPS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", STOPS)
def test_all_signals_interrupt_and_are_as_before_afterwards(number: signal.Signals) -> None:
    before = [signal.getsignal(each) for each in STOPS]
    with pytest.raises(KeyboardInterrupt), sigterm_as_interrupt():
        os.kill(os.getpid(), number)
    assert [signal.getsignal(each) for each in STOPS] == before


def test_one_that_comes_twice_at_once_counts_once_and_a_later_one_again(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([100.0, 100.1, 100.4, 100.6])
    monkeypatch.setattr(_process.time, "monotonic", lambda: next(moments))
    with sigterm_as_interrupt():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_who_closes_the_terminal_does_not_break_what_is_printed_afterwards() -> None:
    """The store has the end of the run, then, and not an error of its output."""
    child, terminal = pty.fork()
    if child == 0:
        ended = 1
        try:
            with sigterm_as_interrupt():
                os.write(1, b"!")
                time.sleep(30)
        except KeyboardInterrupt:
            os.write(1, b"the best pipeline")
            ended = 130
        finally:
            os._exit(ended)
    assert os.read(terminal, 1) == b"!"
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130


@pytest.mark.parametrize("number", STOPS)
def test_what_is_ignored_stays_so(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_IGN)
    with sigterm_as_interrupt():
        signal.raise_signal(number)
    assert signal.getsignal(number) is signal.SIG_IGN


def test_in_other_threads_nothing_is_changed() -> None:
    seen: list[object] = []

    def look() -> None:
        with sigterm_as_interrupt():
            seen.extend(signal.getsignal(each) for each in STOPS)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(each) for each in STOPS]


def test_a_stream_that_the_language_server_has_closed_is_not_flushed() -> None:
    stream = _process.SanitizedStream(io.StringIO())
    stream.close()
    stream.flush()

"""`spacelang watch` as a user starts and ends it."""

import signal
import socket
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from commands import TIMEOUT, Going, spacelang
from storing import stored


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)])
def test_it_says_where_it_is_and_ends_in_order(number: signal.Signals, tmp_path: Path) -> None:
    stored(tmp_path / "run.db")
    with Going("watch", "run.db", "--no-browser", folder=tmp_path) as process:
        line = process.stdout.readline()
        assert line.startswith("run.db is shown at http://127.0.0.1:")
        with urlopen(line.split()[-1], timeout=TIMEOUT) as answer:
            assert b"wine.csv" in answer.read()
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out) == (0, "")
    assert err == "note: press Ctrl-C to stop\n"
    assert [each.name for each in tmp_path.iterdir()] == ["run.db"]


def test_what_is_no_store_and_a_port_in_use_are_told(tmp_path: Path) -> None:
    stored(tmp_path / "run.db")
    ended = spacelang("watch", "none.db", folder=tmp_path)
    assert ended.returncode == 1
    assert "none.db" in ended.stderr
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ended = spacelang("watch", "run.db", "--port", port, "--no-browser", folder=tmp_path)
    assert ended.returncode == 2
    assert f"port {port} cannot be used" in ended.stderr

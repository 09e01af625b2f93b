"""The executor `dask`, as far as no cluster is needed: what is refused, and the parts that can be told apart."""

import logging
import pickle
import socket
import sys
import threading
import time
from importlib import import_module

import pytest

from spacelang.ir.task import UNLIMITED
from spacelang.runtime import executors
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors._dask import silence_dask_loggers
from spacelang.runtime.executors._dask.worker_plugin import (
    EvaluationPlugin,
    PickledEvaluation,
    describe_version_difference,
    installed_versions,
    make_slots,
    worker_label,
)
from spacelang.runtime.executors.dask import Dask
from spacelang.testing.faults import MAX_SECONDS, evaluate


@pytest.mark.parametrize(
    "address",
    [
        "",
        "process",
        "localhost",
        "localhost:8786",
        "tcp://",
        "tcp://localhost",
        "tcp://localhost:",
        "tcp://:8786",
        "tcp://localhost:0",
        "tcp://localhost:65536",
        "tcp://localhost:8786/status",
        "tcp://a:b@localhost:8786",
        "http://localhost:8786",
        "tcp://local host:8786",
        "TCP//localhost:8786",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="neither an executor nor the address of a dask scheduler") as caught:
        Dask(evaluate, address=address)
    assert f"`{address}`" in caught.value.message
    assert "tcp://HOST:PORT" in caught.value.help


def test_where_nobody_listens_there_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacelang.runtime.executors._dask.cluster.CONNECT_TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    refuses(address, f"no scheduler answers at `{address}`")


def test_a_host_that_does_not_exist_has_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacelang.runtime.executors._dask.cluster.CONNECT_TIMEOUT", 0.5)
    refuses("tcp://no-such-host.invalid:8786", "no scheduler answers at `tcp://no-such-host.invalid:8786`")


def test_what_listens_without_a_word_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacelang.runtime.executors._dask.cluster.CONNECT_TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        refuses(f"tcp://127.0.0.1:{mute.getsockname()[1]}", "no scheduler answers")


def test_what_hangs_up_is_no_scheduler() -> None:
    with socket.create_server(("127.0.0.1", 0)) as rude:
        caller = threading.Thread(target=hang_up, args=(rude,))
        caller.start()
        refuses(f"tcp://127.0.0.1:{rude.getsockname()[1]}", "closed the connection", "`tls://`")
        caller.join()


def hang_up(listening: socket.socket) -> None:
    answered, _ = listening.accept()
    with answered:
        assert answered.recv(1)


def test_certificates_must_be_configured() -> None:
    address = "tls://127.0.0.1:8786"
    refuses(address, f"the scheduler at `{address}` cannot be used", "under `distributed.comm.tls`")


def refuses(address: str, message: str, remedy: str = "") -> None:
    executor = Dask(evaluate, address=address)
    started = time.monotonic()
    try:
        with pytest.raises(InputError) as caught:
            executor.wait_until_ready()
    finally:
        executor.close()
    assert message in caught.value.message
    assert remedy in caught.value.help
    assert time.monotonic() - started < MAX_SECONDS / 3


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import_module("spacelang.runtime.executors._dask.session")  # so that there is something to be put back
    for name in [name for name in sys.modules if name.startswith("spacelang.runtime.executors._dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(executors, "_dask")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="needs dask, which is not installed") as caught:
        Dask(evaluate)
    assert caught.value.help == "pip install 'spacelang[dask]'"


def test_what_cannot_be_pickled_is_refused_before_anything_starts() -> None:
    lock = threading.Lock()
    before = threading.active_count()
    with pytest.raises(InputError, match="the evaluation cannot be sent to another process: TypeError"):
        Dask(lambda _: lock)  # type: ignore[arg-type,return-value]
    assert threading.active_count() == before


def test_no_workers_are_none_at_all() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        Dask(evaluate, workers=0)


def test_what_is_packed_is_unpacked_as_it_was() -> None:
    payload = pickle.dumps({"rows": list(range(10))})
    assert pickle.loads(pickle.dumps(PickledEvaluation(payload))) == {"rows": list(range(10))}


def test_a_laboratory_can_be_sent() -> None:
    assert isinstance(pickle.loads(pickle.dumps(EvaluationPlugin(b"", UNLIMITED))), EvaluationPlugin)


def test_the_same_versions_do_not_differ() -> None:
    assert describe_version_difference(installed_versions(), installed_versions(), "elsewhere") == ""


@pytest.mark.parametrize(
    ("name", "theirs", "words"),
    [
        ("scikit-learn", "1.0", "the version of `scikit-learn` is 1.8 here, but 1.0 on w"),
        ("numpy", None, "`numpy` is not installed on w"),
        ("python", "3.99.1.final.0", "the version of `python` is 3.11 here, but 3.99 on w"),
        ("python", "3.11.0.final.0", ""),
        ("pandas", "0", ""),
    ],
)
def test_versions_that_decide_a_score_must_be_the_same(name: str, theirs: str | None, words: str) -> None:
    here = {"python": "3.11.9.final.0", "spacelang": "1", "scikit-learn": "1.8", "numpy": "2", "scipy": None}
    assert describe_version_difference(here, {**here, name: theirs}, "w") == words


def test_there_are_as_many_seats_as_trials_in_flight() -> None:
    names, threads = {"tcp://b": "b", "tcp://a": "a"}, {"tcp://a": 2, "tcp://b": 1}
    assert [seat.name for seat in make_slots(names, threads, 1)] == ["a"]
    assert [seat.name for seat in make_slots(names, threads, 3)] == ["a", "b", "a (2)"]
    more = make_slots(names, threads, 5)
    assert [seat.name for seat in more] == ["a", "b", "a (2)", "slot 4", "slot 5"]
    assert [seat.last_address for seat in more] == ["tcp://a", "tcp://b", "tcp://a", "", ""]


def test_a_worker_that_has_only_a_number_is_called_by_its_address() -> None:
    assert worker_label(0, "tcp://a") == "tcp://a"
    assert worker_label("bench", "tcp://a") == "bench"


def test_only_one_thread_is_quiet() -> None:
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    logger, listener = logging.getLogger("distributed"), Listener()
    logger.addHandler(listener)
    try:
        with silence_dask_loggers(threading.get_ident()):
            logger.critical("mine")
            logging.getLogger("distributed.of_this_test").critical("mine, with a logger that is new")
            other = threading.Thread(target=lambda: logger.critical("another's"))
            other.start()
            other.join()
        logger.critical("mine afterwards")
    finally:
        logger.removeHandler(listener)
    assert said == ["another's", "mine afterwards"]

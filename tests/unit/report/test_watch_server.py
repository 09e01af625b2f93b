"""The server of `spacelang watch`: who is refused, what it says, and a store that is written while it is looked at."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from threading import Thread

import pytest
from pages import Page, configuration
from storing import header, space, stored, trial

from spacelang.report.page.watch_server import MAX_SECONDS, STATE_SECONDS, WatchedPage, WatchServer, new_access_token
from spacelang.runtime.storage.store import Store

TOKEN = "token-of-a-test"


class Clock:
    """A time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def served(store: Path) -> Iterator[WatchServer]:
    with WatchServer(WatchedPage(store), TOKEN) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asked(server: WatchServer, path: str, method: str = "GET", host: str | None = None) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    if host != "":
        connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchServer]:
    folder = tmp_path_factory.mktemp("watched")
    stored(folder / "run.db")
    (folder / "secret.txt").write_text("secret", encoding="utf-8")
    with served(folder / "run.db") as found:
        yield found


def test_the_page_is_served_and_kept_from_others(server: WatchServer) -> None:
    answer, text = asked(server, f"/{TOKEN}/")
    assert answer.status == 200
    assert answer.headers.get_content_type() == "text/html"
    found = Page(text)
    (policy,) = (each["content"] for _, each in found.elements if each.get("http-equiv") == "Content-Security-Policy")
    assert answer.headers["Content-Security-Policy"] == f"{policy}; frame-ancestors 'none'"
    assert "script-src 'sha256-" in policy
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert TOKEN not in text
    assert server.address == f"http://127.0.0.1:{server.server_port}/{TOKEN}/"
    assert server.server_address[0] == "127.0.0.1"


REFUSED = (
    "/",
    f"/{TOKEN}",
    "/wrong/",
    f"/{TOKEN[:-1]}/",
    f"/{TOKEN}x/",
    f"/{TOKEN.upper()}/",
    f"/?{TOKEN}",
    f"/{TOKEN}//",
)
TRAVERSING = ("/../secret.txt", "/secret.txt", "/%2e%2e/secret.txt", f"/{TOKEN}/../secret.txt", f"/{TOKEN}/secret.txt")
OTHERS = (
    f"/x/../{TOKEN}/",
    f"/{TOKEN}/%2e%2e/{TOKEN}/",
    f"/{TOKEN}/?x",
    f"http://127.0.0.1/{TOKEN}/",
    "*",
    "/\udcff".encode("utf-8", "replace").decode(),
)


@pytest.mark.parametrize("path", [*REFUSED, *TRAVERSING, *OTHERS])
def test_without_the_token_there_is_nothing(path: str, server: WatchServer) -> None:
    answer, text = asked(server, path)
    assert (answer.status, text) == (404, "page not found")
    assert answer.headers.get_content_type() == "text/plain"


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:80", "127.0.0.1", "127.0.0.1:1", "", "localhost.evil.test:PORT"]
)
def test_who_looks_for_another_host_is_refused(host: str, server: WatchServer) -> None:
    answer, text = asked(server, f"/{TOKEN}/", host=host.replace("PORT", str(server.server_port)))
    assert (answer.status, text) == (403, "unknown host name")


def test_the_loopback_address_has_a_name(server: WatchServer) -> None:
    assert asked(server, f"/{TOKEN}/", host=f"localhost:{server.server_port}")[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "<script>"])
def test_no_other_method_is_answered(method: str, server: WatchServer) -> None:
    answer, text = asked(server, f"/{TOKEN}/", method=method)
    assert answer.status == 501
    assert text in ("unsupported request", "")


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"a" * 70_000 + b"\r\n\r\n"]
)
def test_nonsense_is_refused_in_plain_words(sent: bytes, server: WatchServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(sent)
        heard = b"".join(iter(lambda: connection.recv(4096), b""))
    assert heard.endswith(b"unsupported request")


def test_a_browser_that_goes_and_one_that_waits_hold_nobody_up(server: WatchServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)) as silent:
        with socket.create_connection(("127.0.0.1", server.server_port)) as gone:
            gone.sendall(f"GET /{TOKEN}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
        assert asked(server, f"/{TOKEN}/")[0].status == 200
        assert silent.fileno() > 0


def test_tokens_are_long_and_differ() -> None:
    found = {new_access_token() for _ in range(50)}
    assert len(found) == 50
    assert min(map(len, found)) >= 43


def version(text: str) -> str:
    (main,) = (attributes for tag, attributes in Page(text).elements if tag == "main")
    return main["data-version"]


def test_a_page_follows_a_store_that_is_written(tmp_path: Path) -> None:
    path, clock = tmp_path / "run.db", Clock()
    store = Store.create(path, header(space()))
    watched = WatchedPage(path, clock)
    assert version(watched.page()) == "1.0.running"
    for index in range(1, 4):
        store.append(trial(index, configuration=configuration(index)))
        assert version(watched.page()) == f"1.{index}.running"
    assert watched.page() is watched.page()
    store.end_session("budget", 3.0)
    text = watched.page()
    assert version(text) == "1.3.finished"
    assert "finished: the run has ended" in Page(text).said


def test_a_run_that_is_killed_is_told_a_moment_later(tmp_path: Path) -> None:
    path, clock = tmp_path / "run.db", Clock()
    store = Store.create(path, header(space()))
    watched = WatchedPage(path, clock)
    assert version(watched.page()) == "1.0.running"
    store.close()
    clock.now = STATE_SECONDS / 2
    assert version(watched.page()) == "1.0.running"
    clock.now = STATE_SECONDS
    assert version(watched.page()) == "1.0.killed"


def test_pages_that_take_long_are_made_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from spacelang.report.page import watch_server

    path, clock, made = tmp_path / "run.db", Clock(), []

    def slow(*_: object, **__: object) -> str:
        clock.now += 1.0
        made.append(clock.now)
        return f"page {len(made)}"

    monkeypatch.setattr(watch_server, "render_page", slow)
    store = Store.create(path, header(space()))
    watched = WatchedPage(path, clock)
    for index in range(1, 4):
        store.append(trial(index, configuration=configuration(index)))
        watched.page()
    assert made == [1.0, 2.0]  # for the first one nothing counts that was imported
    clock.now += MAX_SECONDS
    assert watched.page() == "page 3"
    store.close()


def test_what_cannot_be_read_is_told_and_may_come_back(tmp_path: Path) -> None:
    path, away = tmp_path / "run.db", tmp_path / "away.db"
    stored(path)
    with served(path) as server:
        assert asked(server, f"/{TOKEN}/")[0].status == 200
        path.rename(away)
        answer, text = asked(server, f"/{TOKEN}/")
        assert answer.status == 503
        assert text.startswith("the run cannot be read at the moment: ")
        away.rename(path)
        assert asked(server, f"/{TOKEN}/")[0].status == 200

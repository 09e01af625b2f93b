"""A run as a page that follows it while it goes on: for its user alone, on the loopback address, behind a token.

Whoever knows the address may read the page: it has a random token in it, which is compared in constant time. Other
sites that the browser is on cannot guess it, and one that gives its own name this address is refused, as the browser
says whom it was looking for. Nothing else is served, nothing is taken, and no file is opened that a request names.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock
from typing import Any, Final

from spacelang.report.page.rendering import Live, page, policy, script, style
from spacelang.runtime.errors import InputError
from spacelang.runtime.storing.store import Store
from spacelang.runtime.storing.stored import RunState
from spacelang.runtime.storing.stored_run import StoredRun

LOOPBACK: Final = "127.0.0.1"

EVERY: Final = 2
"""Seconds between two looks of the browser."""

SHARE: Final = 0.05
"""At most this share of the time is spent on making pages: a processor is for the trials."""

LONGEST: Final = 30.0
"""Seconds after which a page is made again in any case, where its run has gone on."""

STATE_EVERY: Final = 10.0
"""Seconds after which it is asked whether a run that is silent still lives."""

PATIENCE: Final = 20.0
"""Seconds within which a client has to say what it wants."""

GOES_ON: Final = frozenset({RunState.RUNNING, RunState.UNKNOWN})


@dataclass(frozen=True, slots=True)
class ProgressMark:
    """What tells that a run has gone on: how many trials there are, and how its sessions have ended."""

    trials: int = 0
    endings: tuple[str | None, ...] = ()


class Watched:
    """The page of a run, made again when the run has gone on; one at a time, whoever asks for it."""

    def __init__(self, store: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock, self._lock = store, clock, Lock()
        self._text, self._seen, self._state = "", ProgressMark(), RunState.UNKNOWN
        self._until, self._looked = 0.0, 0.0

    def page(self) -> str:
        """The page as of now, or as of a moment ago; raises StoreError where the store cannot be read."""
        with self._lock, Store.read(self._store) as run:
            now, seen = self._clock(), ProgressMark(run.count, tuple(each.ending for each in run.sessions))
            if not self._text or (now >= self._until and (seen != self._seen or self._is_another(run, now))):
                is_first = not self._text
                self._text = self._made(run, seen)
                self._seen, self._looked, done = seen, now, self._clock()
                # What is imported for the first one says nothing of the others.
                self._until = done if is_first else done + min((done - now) / SHARE, LONGEST)
            return self._text

    def _is_another(self, run: StoredRun, now: float) -> bool:
        """Whether a run that went on does so no more, though it has said nothing; it is not asked all the time."""
        if self._state not in GOES_ON or now < self._looked + STATE_EVERY:
            return False
        self._looked = now
        return run.state is not self._state

    def _made(self, run: StoredRun, seen: ProgressMark) -> str:
        self._state = run.state
        said = "follows the run" if self._state in GOES_ON else f"{self._state.value}: the run does not go on"
        return page([run], live=Live(said, f"{len(seen.endings)}.{seen.trials}.{self._state.value}", EVERY, script()))


class Watch(ThreadingHTTPServer):
    """A server of that page, on the loopback address; `token` is what its address ends with, which `address` has."""

    daemon_threads = True

    def __init__(self, watched: Watched, token: str, port: int = 0) -> None:
        """Port 0 is any that is free; raises OSError for one that is not."""
        super().__init__((LOOPBACK, port), _Handler)
        self.watched = watched
        self.path = f"/{token}/"
        self.hosts = {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.server_port}{self.path}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that has gone, or says nothing, is no error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request: it has the page, or nothing."""

    server: Watch
    server_version = "spacelang"
    sys_version = ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        """Answer with the page."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            self._say(HTTPStatus.FORBIDDEN, "this is another host's page")
        elif not compare_digest(self.path.encode("utf-8", "replace"), self.server.path.encode()):
            self._say(HTTPStatus.NOT_FOUND, "there is nothing here")
        else:
            try:
                self._say(HTTPStatus.OK, self.server.watched.page(), "text/html")
            except InputError as error:
                self._say(HTTPStatus.SERVICE_UNAVAILABLE, f"the run cannot be read at present: {error.message}")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """A refusal in plain words, whatever was asked for."""
        self._say(HTTPStatus(code), "this is not answered")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing: addresses have the token in them."""

    def _say(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "backslashreplace")
        self.send_response(status)
        for name, value in _headers().items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@cache
def _headers() -> dict[str, str]:
    """What a browser is told beside the page: to keep it from others, and from being a part of theirs."""
    return {
        "Content-Security-Policy": f"{policy(style(), script())}; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Connection": "close",
    }


def new_token() -> str:
    """A token that nobody guesses."""
    return token_urlsafe(32)

"""A web server for the page of a run, which updates while the run continues.

The server listens on the loopback address only. The address of the page has a random token, which is compared in
constant time: whoever knows the address may read the page. Other sites open in the browser cannot guess it. A site that
points its own host name at this address is refused by the `Host` header. The server serves nothing else, accepts no
data, and opens no file named by a request.
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

from spacelang.report.page.rendering import (
    LiveUpdateSettings,
    content_security_policy,
    live_update_script,
    page_style_sheet,
    render_page,
)
from spacelang.runtime.errors import InputError
from spacelang.runtime.storage.records import RunState
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.stored_run import StoredRun

LOOPBACK: Final = "127.0.0.1"
REQUEST_SECONDS: Final = 2  # Seconds between two requests of the browser
MAX_SHARE: Final = 0.05  # The maximum share of the time spent on making pages, because processors are needed for trials
MAX_SECONDS: Final = 30.0  # Seconds after which a page is made again in any case, if its run has made progress
STATE_SECONDS: Final = 10.0  # Seconds between checks whether a run without new trials is still running
CLIENT_TIMEOUT: Final = 20.0  # Seconds after which a client that sends no request is disconnected
ACTIVE_STATES: Final = frozenset({RunState.RUNNING, RunState.UNKNOWN})


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a run, which changes when the run does: its trials, and how each session ended."""

    trials: int = 0
    endings: tuple[str | None, ...] = ()


class WatchedPage:
    """The page of a run, made again when the run has made progress. Requests from several threads take turns."""

    def __init__(self, store: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock, self._lock = store, clock, Lock()
        self._text, self._seen, self._state = "", RunProgress(), RunState.UNKNOWN
        self._until, self._looked = 0.0, 0.0

    def page(self) -> str:
        """Return the page, which may be some seconds old. Raises StoreError if the store cannot be read."""
        with self._lock, Store.read(self._store) as run:
            now, seen = self._clock(), RunProgress(run.count, tuple(each.ending for each in run.sessions))
            if not self._text or (now >= self._until and (seen != self._seen or self._has_new_state(run, now))):
                is_first = not self._text
                self._text = self._render(run, seen)
                self._seen, self._looked, done = seen, now, self._clock()
                # The time of the first page includes imports, and says nothing about later pages.
                self._until = done if is_first else done + min((done - now) / MAX_SHARE, MAX_SECONDS)
            return self._text

    def _has_new_state(self, run: StoredRun, now: float) -> bool:
        """Return True if the state of a run without new trials has changed, for example because it was killed.

        This is checked only from time to time.
        """
        if self._state not in ACTIVE_STATES or now < self._looked + STATE_SECONDS:
            return False
        self._looked = now
        return run.state is not self._state

    def _render(self, run: StoredRun, seen: RunProgress) -> str:
        self._state = run.state
        status = "follows the run" if self._state in ACTIVE_STATES else f"{self._state.value}: the run has ended"
        return render_page(
            [run],
            live=LiveUpdateSettings(
                status, f"{len(seen.endings)}.{seen.trials}.{self._state.value}", REQUEST_SECONDS, live_update_script()
            ),
        )


class WatchServer(ThreadingHTTPServer):
    """An HTTP server of the page on the loopback address; its `address` ends with the token."""

    daemon_threads = True

    def __init__(self, watched: WatchedPage, token: str, port: int = 0) -> None:
        """Bind the port; 0 takes an unused one. Raises OSError if the port is in use."""
        super().__init__((LOOPBACK, port), _Handler)
        self.watched = watched
        self.path = f"/{token}/"
        self.hosts = {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}

    @property
    def address(self) -> str:
        """The URL of the page."""
        return f"http://{LOOPBACK}:{self.server_port}{self.path}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connection errors, such as a browser that has gone."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer
    server_version = "spacelang"
    sys_version = ""
    timeout = CLIENT_TIMEOUT

    def do_GET(self) -> None:
        """Answer with the page."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            self._respond(HTTPStatus.FORBIDDEN, "unknown host name")
        elif not compare_digest(self.path.encode("utf-8", "replace"), self.server.path.encode()):
            self._respond(HTTPStatus.NOT_FOUND, "page not found")
        else:
            try:
                self._respond(HTTPStatus.OK, self.server.watched.page(), "text/html")
            except InputError as error:
                self._respond(HTTPStatus.SERVICE_UNAVAILABLE, f"the run cannot be read at the moment: {error.message}")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse a request with a short text."""
        self._respond(HTTPStatus(code), "unsupported request")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Log nothing, because addresses contain the token."""

    def _respond(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
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
    """Return the security headers, which keep the page from other sites and out of their frames."""
    policy = content_security_policy(page_style_sheet(), live_update_script())
    return {
        "Content-Security-Policy": f"{policy}; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Connection": "close",
    }


def new_access_token() -> str:
    """Return a random token that cannot be guessed."""
    return token_urlsafe(32)

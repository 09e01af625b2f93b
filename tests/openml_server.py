"""A server on the loopback address that answers as OpenML did: recorded replies, and some that are wrong on purpose."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias
from xml.sax.saxutils import escape

RECORDED = Path(__file__).parents[2] / "shared" / "data" / "openml"

NAMESPACE = "http://openml.org/openml"

Reply: TypeAlias = tuple[int, bytes]

UNKNOWN: dict[str, tuple[int, str]] = {"data": (111, "Unknown dataset"), "task": (151, "Unknown task")}
"""What the server answers where there is nothing: a code and a text."""


@dataclass
class Server:
    """The server: `address` is the client's, `asked` counts the requests by their paths.

    `more` has replies to further paths, `changes` are applied to the replies of the paths that they name by a pattern;
    `key` is the one that it was given.
    """

    address: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    more: dict[str, Reply] = field(default_factory=dict)
    changes: dict[str, Callable[[Reply], Reply]] = field(default_factory=dict)
    key: str | None = None

    def reply(self, path: str) -> Reply:
        found = self.more.get(path) or _recorded(path) or _shipped(path) or _refusal(path)
        for pattern, change in self.changes.items():
            if re.search(pattern, path):
                found = change(found)
        status, content = found
        if b"<oml:" in content:
            content = re.sub(
                rb"https?://(?!openml\.org/openml)[a-z.]*(?:openml\.org|tue\.nl)", self.host.encode(), content
            )
        return status, content

    @property
    def host(self) -> str:
        return self.address.removesuffix("/api/v1/xml")


@contextmanager
def serving() -> Iterator[Server]:
    """A server in a thread of its own, until this ends."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            server.asked[path] += 1
            server.key = query.partition("api_key=")[2] or server.key
            status, content = server.reply(path)
            self.send_response(status)
            kind = "text/plain" if "download" in path or "splits" in path else "text/xml"
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    server.address = f"http://127.0.0.1:{listening.server_address[1]}/api/v1/xml"
    thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def refused(code: int, message: str) -> Reply:
    """How the server says no."""
    text = f"<oml:code>{code}</oml:code><oml:message>{message}</oml:message>"
    return 412, f'<oml:error xmlns:oml="{NAMESPACE}">{text}</oml:error>'.encode()


def with_text(old: str, new: str) -> Callable[[Reply], Reply]:
    """A change that puts other words into a reply, which must have the old ones."""

    def change(reply: Reply) -> Reply:
        assert old.encode() in reply[1]
        return reply[0], reply[1].replace(old.encode(), new.encode())

    return change


def _refusal(path: str) -> Reply:
    return refused(*UNKNOWN["task" if "/task/" in path else "data"])


# ---- recorded by the suites of OpenML's clients


def _recorded(path: str) -> Reply | None:
    file = next((made for pattern, name in ROUTES if (made := _named(pattern, name, path)) is not None), None)
    if file is None:
        return None
    if file.is_file():
        return 200, file.read_bytes()
    packed = file.with_name(f"{file.name}.gz")
    return (200, gzip.decompress(packed.read_bytes())) if packed.is_file() else None


ROUTES = (
    (r"/api/v1/xml/data/(\d+)", "data/{}/description.xml"),
    (r"/api/v1/xml/data/features/(\d+)", "data/{}/features.xml"),
    (r"/api/v1/xml/data/qualities/(\d+)", "data/{}/qualities.xml"),
    (r"/api/v1/xml/task/(\d+)", "task/{}/task.xml"),
    (r"/api_splits/get/(\d+)/.*", "task/{}/datasplits.arff"),
    (r"/data/(?:v1/)?download/(\d+)/.*", "data/{}/dataset.arff"),
)

FILES = {"1666876": "2"}
"""Data sets by the numbers of their files, where these are others."""


def _named(pattern: str, name: str, path: str) -> Path | None:
    match = re.fullmatch(pattern, path)
    if match is None:
        return None
    number = FILES.get(match[1], match[1]) if "download" in path else match[1]
    return RECORDED / name.format(number)


# ---- those that scikit-learn ships, which are in JSON


def _shipped(path: str) -> Reply | None:
    folder = files("sklearn.datasets.tests.data.openml")
    for pattern, kind in ((r"/api/v1/xml/data/(\d+)", "jd"), (r"/api/v1/xml/data/(features|qualities)/(\d+)", "jd?")):
        match = re.fullmatch(pattern, path)
        if match is not None:
            number = match[match.lastindex or 1]
            name = kind.replace("?", match[1][0])
            file = folder / f"id_{number}" / f"api-v1-{name}-{number}.json.gz"
            return (200, _as_xml(gzip.decompress(file.read_bytes()))) if file.is_file() else None
    match = re.fullmatch(r"/data/(?:v1/)?download/(\d+)/.*", path)
    if match is not None:
        packed = (each / f"data-v1-dl-{match[1]}.arff.gz" for each in folder.iterdir() if each.name.startswith("id_"))
        return next(((200, gzip.decompress(file.read_bytes())) for file in packed if file.is_file()), None)
    return None


def _as_xml(document: bytes) -> bytes:
    """The reply in JSON as the one in XML is."""
    ((name, content),) = json.loads(document).items()
    return f'<oml:{name} xmlns:oml="{NAMESPACE}">{_elements(content)}</oml:{name}>'.encode()


def _elements(content: dict[str, Any]) -> str:
    return "".join(
        f"<oml:{name}>{_elements(each) if isinstance(each, dict) else escape(str(each))}</oml:{name}>"
        for name, value in content.items()
        for each in (value if isinstance(value, list) else [value])
    )

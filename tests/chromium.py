"""Pages in a headless Chromium, which is driven by its command line alone."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.parse import urlsplit

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")

SECONDS: Final = 100.0
"""After which a browser has hung."""

OF_ITS_OWN: Final = re.compile(r"^(http://)?([\w.-]+\.google|update\.googleapis)\.com[:/]")
"""Hosts that no page asks for anything: fonts, say, would come from others."""

WIDTHS: Final = (375, 1280)

FRAMES: Final = """\
<!doctype html><meta charset="utf-8"><title>frames</title><body><script>
"use strict";
const channels = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((each) => {
  const share = each / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
});
const luminance = (colour) => channels(colour).reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
const behind = (window, element) => {
  for (let each = element; each; each = each.parentElement) {
    const colour = window.getComputedStyle(each).backgroundColor;
    if (colour !== "rgba(0, 0, 0, 0)") return colour;
  }
  return window.getComputedStyle(window.document.body).backgroundColor;
};
const contrast = (window, element) => {
  const style = window.getComputedStyle(element);
  const ink = element instanceof window.SVGElement ? style.fill : style.color;
  const [low, high] = [luminance(ink), luminance(behind(window, element))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const told = (frame, page, width) => {
  const window = frame.contentWindow, document = frame.contentDocument, root = document.documentElement;
  const shown = [...document.querySelectorAll("p,td,th,dt,dd,a,summary,h1,h2,h3,h4,li,span,text,caption,figcaption")]
    .filter((each) => each.textContent.trim() && each.getClientRects().length);
  const texts = shown.map((each) => [contrast(window, each), each.outerHTML.slice(0, 90)]);
  const sizes = shown.map((each) => parseFloat(window.getComputedStyle(each).fontSize));
  const outside = [...document.querySelectorAll("main *")].filter((each) =>
    !each.closest(".scroll") && each.getBoundingClientRect().right > width + 1 && each.getClientRects().length);
  return {
    page, width, "overflow": root.scrollWidth - root.clientWidth,
    "ground": window.getComputedStyle(document.body).backgroundColor,
    "contrast": texts.sort((a, b) => a[0] - b[0])[0], "size": Math.min(...sizes), "shown": shown.length,
    "outside": outside.map((each) => each.outerHTML.slice(0, 90)), "attacked": "pwned" in window,
  };
};
const wanted = WANTED;
const frames = wanted.map(([page, width]) => {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.src = page;
  document.body.append(frame);
  return frame;
});
// What was asked for is known a moment after it came, or did not.
window.onload = () => setTimeout(() => {
  document.body.textContent = JSON.stringify(wanted.map(([page, width], at) => told(frames[at], page, width)));
}, 200);
</script>
"""
"""Opens pages in frames of some widths, and says what became of each."""


def browser() -> str:
    """The path of a Chromium; a test that needs one fails without it."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found is not None, "no Chromium is installed: `apt-get install chromium`, or put another one on the path"
    return found


def opened(folder: Path, pages: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """What becomes of pages, as files in the dark, in frames of all widths, and the lines of the console."""
    said, heard = dumped(_framed(folder, pages).as_uri(), folder, "--allow-file-access-from-files", dark=True)
    return _results(said), heard


def served(folder: Path, pages: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """The same in the light, loaded by the network, and what else is asked for, wherever it is.

    What the browser asks its maker for is not counted.
    """
    asked: list[str] = []

    class Proxy(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.path = urlsplit(self.path).path
            super().do_GET()

        def do_CONNECT(self) -> None:
            asked.append(self.path)
            self.send_error(502)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    _framed(folder, pages)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Proxy, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        proxy = f"--proxy-server=http://127.0.0.1:{server.server_port}"
        said, _ = dumped("http://pages.test/frames.html", folder, proxy)
        server.shutdown()
    own = {f"http://pages.test/{name}" for name in ("frames.html", "favicon.ico", *pages)}
    others = [each for each in asked if each not in own]
    return _results(said), [each for each in others if not OF_ITS_OWN.search(each)]


def _framed(folder: Path, pages: Sequence[str]) -> Path:
    wanted = [[page, width] for page in pages for width in WIDTHS]
    (folder / "frames.html").write_text(FRAMES.replace("WANTED", json.dumps(wanted)), encoding="utf-8")
    return folder / "frames.html"


def _results(said: str) -> list[dict[str, Any]]:
    found = re.search("<body>(.*?)</body>", said, re.DOTALL)
    assert found is not None, said
    results: list[dict[str, Any]] = json.loads(unescape(found[1]))
    return results


def dumped(url: str, folder: Path, *more: str, dark: bool = False) -> tuple[str, list[str]]:
    """A page as it is after its scripts, and the lines of the console."""
    quiet = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-extensions"]
    quiet += ["--disable-component-update", "--disable-sync", "--disable-default-apps"]
    # Whoever tests in a container may have no sandbox; what is opened is our own.
    alone = ["--no-sandbox", f"--user-data-dir={folder / 'browser'}", "--enable-logging=stderr", "--log-level=0"]
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    ended = subprocess.run(
        [browser(), "--headless=new", *quiet, *alone, scheme, *more, "--virtual-time-budget=5000", "--dump-dom", url],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, [line for line in ended.stderr.splitlines() if "CONSOLE" in line]

"""The playground of the documentation site checks, formats, counts, explains and compares a space in the browser."""

import json
import os
import re
import subprocess
import sys
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from chromium import dumped

import spacelang

ROOT = Path(__file__).parents[2]
PYODIDE = Path(os.environ.get("SPACELANG_PYODIDE", ROOT / ".node" / "node_modules" / "pyodide"))
"""The folder of the npm package `pyodide`; `npm install --prefix .node pyodide` makes it."""

DRIVER = """\
<!doctype html><meta charset="utf-8"><title>driver</title><body><script type="module">
const frame = document.createElement("iframe");
frame.width = WIDTH; frame.height = 900;
const text = "space s\\nstage e = GaussianNB |   SVC { C : float[1, 2] log, gama : {scale} }\\n";
frame.src = "playground.html#space=" + encodeURIComponent(text);
document.body.append(frame);
const pause = () => new Promise((done) => setTimeout(done, 50));
while (!frame.contentWindow.playgroundReady) await pause();
const page = frame.contentDocument, by = (id) => page.getElementById(id), found = {};
const problems = () => by("pg-problems").textContent;
found.wrong = problems();
found.marked = [...page.querySelectorAll("#pg-marks .error")].map((each) => each.textContent);
found.overflow = page.documentElement.scrollWidth - page.documentElement.clientWidth;
[...page.querySelectorAll("#pg-problems button")].find((each) => each.textContent.startsWith("explain")).click();
found.explained = by("pg-output").textContent;
[...page.querySelectorAll("#pg-problems button")].find((each) => each.textContent.startsWith("replace")).click();
while (problems()) await pause();
by("pg-fmt").click();
found.formatted = by("pg-text").value;
by("pg-stats").click();
found.counted = by("pg-output").textContent;
by("pg-diff").click();
found.compared = by("pg-output").textContent;
found.status = by("status").textContent;
found.version = by("pg-version").textContent;
document.body.textContent = JSON.stringify(found);
</script>
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site with the playground by its command, and return its folder."""
    if not PYODIDE.exists():
        pytest.skip("needs the npm package `pyodide`: npm install --prefix .node pyodide")
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "examples/documentation/build.py", str(folder), "--pyodide", str(PYODIDE)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


def driven(site: Path, width: int) -> tuple[dict[str, Any], list[str]]:
    """Return the observations of the driver, and the failed requests to other hosts."""
    (site / "driver.html").write_text(DRIVER.replace("WIDTH", str(width)), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        nobody = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        address = f"http://127.0.0.1:{server.server_port}/driver.html"
        dumped_page, console = dumped(address, site.parent, nobody, "--virtual-time-budget=90000")
        server.shutdown()
    body = re.search("<body>(.*?)</body>", dumped_page, re.DOTALL)
    assert body is not None
    assert body[1].startswith("{"), console
    return json.loads(unescape(body[1])), [line for line in console if "ERR_NAME_NOT_RESOLVED" in line]


@pytest.mark.parametrize("width", [1280, 400])
def test_it_checks_mends_formats_counts_and_compares(site: Path, width: int) -> None:
    found, elsewhere = driven(site, width)
    assert "SL301, line 2: `gama` is not a parameter of `SVC`" in found["wrong"]
    assert "did you mean `gamma`?" in found["wrong"]
    assert found["marked"] == ["gama"]
    assert found["explained"].startswith("error[SL301]")
    assert found["formatted"].startswith("space s\n\nstage e =\n  | GaussianNB\n  | SVC {\n")
    assert re.search(r"structures +2\n", found["counted"])
    assert "+ my.space" in found["compared"]
    assert found["status"] == "no problems"
    assert found["version"].startswith(f"spacelang {spacelang.__version__} on Python 3.")
    assert found["overflow"] == 0
    assert elsewhere == []

"""The page of `watch` in a browser: it follows a run by its only script, and says when it can do so no more."""

from pathlib import Path
from threading import Thread

from chromium import dumped
from pages import Page, configuration
from storing import header, space, trial

from spacelang.report.page.watch_server import WatchedPage, WatchServer
from spacelang.runtime.storage.store import Store, StoreError


class Followed(WatchedPage):
    """A run that has a trial more when its page is asked for a second time, and cannot be read after that."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, clock=lambda: 0.0)
        self.path, self.asked = path, 0

    def page(self) -> str:
        self.asked += 1
        if self.asked > 2:
            raise StoreError("it is <b>gone</b>")
        with (Store.create if self.asked == 1 else Store.open)(self.path, header(space())) as store:
            store.append(trial(self.asked, configuration=configuration(self.asked)))
            return super().page()


def test_a_page_follows_its_run_and_says_where_that_ends(tmp_path: Path) -> None:
    with WatchServer(Followed(tmp_path / "run.db"), "token") as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        said, console = dumped(server.address, tmp_path)
        server.shutdown()
    found = Page(said)
    (main,) = (attributes for tag, attributes in found.elements if tag == "main")
    assert main["data-version"] == "2.2.running"
    assert "2 none failed" in found.said
    assert "the run cannot be read at the moment: it is <b>gone</b>" in found.said
    assert [line for line in console if "503" not in line] == []

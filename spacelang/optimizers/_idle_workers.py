"""The main loop of a search that starts one trial for each idle worker."""

from collections.abc import Callable, Iterator
from itertools import islice

from spacelang.ir.search_protocol import Ask, LazyRequest, Search
from spacelang.ir.trial import Request, Trial


def run_requests(
    wishes: Iterator[Request | LazyRequest], note: Callable[[Request | LazyRequest, Trial], None]
) -> Search:
    """Start as many requests as there are idle workers, and pass each finished trial to `note` with its request.

    The loop ends when no request is left and no trial is running.
    """
    told, out = (yield Ask()), 0
    while True:
        begin = tuple(islice(wishes, max(told.idle_workers, not out)))
        out += len(begin)
        if not out:
            return
        told = yield Ask(begin)
        if told.finished is not None and told.request is not None:
            out -= 1
            note(told.request, told.finished)

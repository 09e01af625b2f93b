"""As there is room: the loop of a search that begins one trial for every idle worker."""

from collections.abc import Callable, Iterator
from itertools import islice

from spacelang.ir.asking import Ask, Later, Search
from spacelang.ir.trial import Request, Trial


def as_there_is_room(wishes: Iterator[Request | Later], note: Callable[[Request | Later, Trial], None]) -> Search:
    """Begin as many wishes as there is room for, again and again, and note what came of each.

    It ends when none is left, and none is under way.
    """
    told, out = (yield Ask()), 0
    while True:
        begin = tuple(islice(wishes, max(told.room, not out)))
        out += len(begin)
        if not out:
            return
        told = yield Ask(begin)
        if told.ended is not None and told.asked is not None:
            out -= 1
            note(told.asked, told.ended)

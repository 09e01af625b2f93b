"""Driving an optimizer from a table or a function instead of real evaluations."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

from spacelang.ir.asking import Search, Told
from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.trial import Request, Status, Trial

Objective = Callable[[Request], float | None]
"""The loss of a request; None where it fails."""


@dataclass(frozen=True)
class Driven:
    """What an optimizer asked for, with the answers, and whether it returned by itself."""

    trials: tuple[Trial, ...]
    ended: bool

    @property
    def requests(self) -> tuple[Request, ...]:
        return tuple(trial.request for trial in self.trials)


def drive(
    search: Search,
    objective: Objective,
    limit: int,
    known: Sequence[Trial] = (),
    scale: Scale = UNIT,
    *,
    workers: int = 1,
) -> Driven:
    """Answer a search until it returns or has asked `limit` times, the first requests from what is known.

    Trials end in the order in which they were begun, with `workers` that begin so many at once.
    """
    trials: list[Trial] = []
    out: deque[Request] = deque()
    room: int | None = None
    try:
        ask = next(search)
        while True:
            out.extend(ask.begin)
            answer = None
            if out:
                if len(trials) == limit:
                    search.close()
                    return Driven(tuple(trials), False)
                request = out.popleft()
                stored = known[len(trials)] if len(trials) < len(known) else None
                assert stored is None or stored.request == request, "a replay asks for the same trials"
                answer = stored or answered(request, objective(request), scale)
                trials.append(answer)
            else:
                assert room != workers, "a search that waits for nothing asks for something"
            room = max(workers - len(out), 0)
            ask = search.send(Told(answer, room))
    except StopIteration:
        assert not out, "a search that returns waits for nothing"
        return Driven(tuple(trials), True)


def answered(request: Request, loss: float | None, scale: Scale = UNIT) -> Trial:
    return Trial(request, loss, 1.0, Status.ERROR if loss is None else Status.SUCCESS, scale=scale)


def arbitrary(request: Request) -> float:
    """A loss in [0, 1) that depends on nothing but the request."""
    return crc32(f"{request.configuration.identity} {request.fidelity}".encode()) / 2**32


def moody(request: Request) -> float | None:
    """The same, but a third of all requests fail."""
    loss = arbitrary(request)
    return None if loss < 1 / 3 else loss


def failing(request: Request) -> None:
    """Everything fails."""

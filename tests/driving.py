"""Driving an optimizer from a table or a function instead of real evaluations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.trial import Request, Search, Status, Trial

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


def drive(search: Search, objective: Objective, limit: int, known: Sequence[Trial] = (), scale: Scale = UNIT) -> Driven:
    """Answer a search until it returns or has asked `limit` times, the first requests from what is known."""
    trials: list[Trial] = []
    try:
        requests = next(search)
        while True:
            answers = []
            for request in requests:
                if len(trials) == limit:
                    search.close()
                    return Driven(tuple(trials), False)
                stored = known[len(trials)] if len(trials) < len(known) else None
                assert stored is None or stored.request == request, "a replay asks for the same trials"
                answers.append(stored or answered(request, objective(request), scale))
                trials.append(answers[-1])
            requests = search.send(answers)
    except StopIteration:
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

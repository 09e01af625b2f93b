"""A search of a space for any black box: configurations are asked for, their losses are told."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from math import inf, isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any

from spacelang.api.initial import Initial, initial_configurations
from spacelang.api.searching import configure_optimizer
from spacelang.api.space import Space, load
from spacelang.ir.asking import IdleSearchError, Search, Told
from spacelang.ir.problem import Allowance, Problem
from spacelang.ir.scale import Scale
from spacelang.ir.trial import Request, Status, Trial
from spacelang.optimizers import default_optimizer
from spacelang.optimizers._opening import begun

if TYPE_CHECKING:
    from spacelang.runtime.proposals import Proposals, Wish


def ask_and_tell(
    space: Space | str | PathLike[str],
    *,
    optimizer: str | None = None,
    optimizer_options: Mapping[str, Any] | None = None,
    seed: int = 0,
    allow: Iterable[str] = (),
    scale: float | None = None,
    trials: int | None = None,
    initial: Initial | None = None,
) -> "Iterator[Asked]":
    """The configurations that an optimizer asks for, one at a time, for any black box; no scikit-learn needed.

    The box is evaluated at full fidelity, and `allow` is as for `load`. The optimizer is `hyperband` where the space
    has hyperparameters, which draws every configuration anew, and `blds` else, unless it is named. Those that select
    pipelines keep hyperparameters at their defaults, or draw them once for each pipeline with the option
    `hyperparameters="sample"`, and end once every pipeline was asked for.

    `scale` is a loss that is as bad as losses need be told apart, above 0: 1 for a share of errors, that of a guess for
    others. Optimizers that reckon with more than the order of losses take loss / `scale`, at least 0 and at most 1, and
    1 for failures; without `scale` they take 1/2 for the first loss that is told, 0 and 1 for losses that differ from
    it by as much as it differs from 0.

    `initial` are configurations to start from, as for `search`: they are asked for first.

    Ends after so many `trials`, or when the space is exhausted: one with ranges never is. Raises SpaceError,
    UnknownPluginError, OptionError and, for a scale or a number of trials that is none, ValueError at once,
    RuntimeError where a trial was not told before the next one is asked for.
    """
    from numpy.random import default_rng

    from spacelang.runtime.budget import Budget
    from spacelang.runtime.proposals import Proposals

    if scale is not None and not 0 < scale < inf:
        raise ValueError(f"the scale of losses is a number above 0, not {scale}")
    budget = Budget(trials=trials)
    loaded = space if isinstance(space, Space) else load(space, allow=allow)
    name = default_optimizer(loaded.checked) if optimizer is None else optimizer
    first = () if initial is None else initial_configurations(loaded, initial)
    problem = Problem(loaded.checked, 1, default_rng(seed), first, Allowance(trials=trials))
    search = begun(configure_optimizer(name, optimizer_options), problem)
    asked = _asked(search, None if scale is None else Scale(0.0, float(scale)), Proposals(seed))
    return islice(asked, budget.trials)


class Asked:
    """A configuration that an optimizer wants to know the loss of; tell it exactly once."""

    def __init__(self, request: Request) -> None:
        self.configuration = request.configuration
        self._request = request
        self.answer: Trial | None = None

    def tell(self, loss: float | None) -> None:
        """Tell the loss, which is minimised; None, or what is no finite number, where the evaluation failed.

        Raises RuntimeError where it was told before.
        """
        if self.answer is not None:
            raise RuntimeError("the loss of this trial was told before")
        number = None if loss is None or not isfinite(loss) else float(loss)
        status = Status.ERROR if number is None else Status.SUCCESS
        self.answer = Trial(self._request, number, status=status)


def _asked(search: Search, scale: Scale | None, proposals: "Proposals") -> Iterator[Asked]:
    waiting: deque[Wish] = deque()
    room: int | None = None
    try:
        ask = next(search)
        while True:
            waiting.extend(map(proposals.wish, ask.begin))
            answer, wish = None, waiting.popleft() if waiting else None
            if wish is not None:
                asked = Asked(wish.request)
                yield asked
                answer = asked.answer
                if answer is None:
                    raise RuntimeError("tell the loss of a trial before asking for the next one")
                if scale is None and answer.loss is not None:
                    scale = Scale.around(answer.loss)
                answer = answer if scale is None else replace(answer, scale=scale)
            elif room == 1:
                raise IdleSearchError
            room = max(1 - len(waiting), 0)
            ask = search.send(Told(answer, room, asked=None if wish is None else wish.asked))
    except StopIteration:
        return

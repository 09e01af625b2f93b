"""TPE by the hyperopt library: its own `tpe.suggest`, and what that has to know of earlier trials."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import exclusion
from spacelang.optimizers._proposing import ObservedLoss
from spacelang.optimizers._settings import check
from spacelang.optional import library
from spacelang.solver.counting import Structures
from spacelang.targets._lowered import Lowered, RefusedError
from spacelang.targets.hyperopt import Hyperopt, HyperoptSpace, Values

if TYPE_CHECKING:
    from numpy.random import Generator

TRIES: Final = 100
"""So many proposals that break constraints, one after the other, mean that there is none."""
SEEDS: Final = 2**31 - 1
"""Hyperopt's own seeds are smaller than this."""


@dataclass(frozen=True, slots=True)
class TpeSettings:
    """What TPE is set to; the defaults are those of hyperopt, which the BOASF paper takes."""

    startup: int = 20
    gamma: float = 0.25
    candidates: int = 24

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        check(self.startup >= 1, f"`startup` is {self.startup}", "at least 1 configuration is drawn before a model")
        check(self.gamma > 0, f"`gamma` is {self.gamma}", "it is greater than 0")
        check(self.candidates >= 1, f"`candidates` is {self.candidates}", "at least 1 candidate is drawn")


class HyperoptTpe:
    """TPE over a space: densities of the good and of the other trials, a tree of them where there are conditions.

    Of n trials the best min(25, ceil(gamma sqrt(n))) are good; trials without a loss count and never are. All
    hyperparameters are modelled independently, each by the trials in which it was active. A space whose constraints
    tie too much for nested choices is proposed for without them; what breaks one is then proposed again.
    """

    def __init__(self, structures: Structures, settings: TpeSettings | None = None) -> None:
        """Proposes for a space that is not empty; raises RefusedError for one that hyperopt cannot hold."""
        self._space = structures.space
        self._settings = TpeSettings() if settings is None else settings
        self._form = form_of(structures).form
        self._documents: list[dict[str, Any]] = []
        self._documented: list[Configuration] = []
        """What the documents are of: a history mostly begins as the one before did."""

    def propose(self, history: Sequence[ObservedLoss], rng: "Generator") -> Configuration | None:
        """A member after a history, the oldest trial first; None where 100 in a row break constraints.

        It depends on nothing but these. The first `startup` ones are drawn from the space alone.
        """
        suggest = self._suggest(history)
        for _ in range(TRIES):
            proposal = suggest(int(rng.integers(SEEDS)))
            if exclusion(self._space, proposal) is None:
                return proposal
        return None

    def _suggest(self, history: Sequence[ObservedLoss]) -> Callable[[int], Configuration]:
        """What the library suggests after a history, by a seed."""
        if not self._form.labels:
            return lambda _: self._form.decode({})
        new = [len(history)]
        if len(history) < self._settings.startup:
            # It is what `tpe.suggest` comes to as well, once it has made a model of nothing.
            suggest = partial(library("hyperopt", "hyperopt.rand").suggest, new, self._domain, self._trials(()))
        else:
            suggest = partial(
                library("hyperopt", "hyperopt.tpe").suggest,
                new,
                self._domain,
                self._trials(history),
                n_startup_jobs=self._settings.startup,
                n_EI_candidates=self._settings.candidates,
                gamma=self._settings.gamma,
                verbose=False,
            )
        return lambda seed: self._form.decode(self._form.values_of(suggest(seed=seed)[0]))

    def _trials(self, history: Sequence[ObservedLoss]) -> Any:
        """The history as hyperopt keeps it."""
        if [configuration for configuration, _ in history[: len(self._documented)]] != self._documented:
            self._documented, self._documents = [], []
        for number in range(len(self._documented), len(history)):
            configuration, _ = history[number]
            self._documented.append(configuration)
            self._documents.append(self._form.document(number, self._form.encode(configuration)))
        for document, (_, loss) in zip(self._documents, history, strict=True):
            document["state"] = 2  # done; what goes on is no worse to hyperopt than what has failed
            document["result"] = {"status": "fail"} if loss is None else {"status": "ok", "loss": loss}
        return library("hyperopt", "hyperopt.base").trials_from_docs(self._documents, validate=False)

    @cached_property
    def _domain(self) -> Any:
        return library("hyperopt", "hyperopt.base").Domain(None, self._form.native)


def form_of(structures: Structures) -> Lowered[HyperoptSpace, Values]:
    """A space in hyperopt's words, without its constraints where these cannot be said: proposals are held to them.

    Raises RefusedError where it cannot be said even so, and MissingLibraryError. The library is imported here: whoever
    times proposals shall not charge the first one for it.
    """
    library("hyperopt")
    try:
        return Hyperopt().lower(structures)
    except RefusedError:
        if not structures.space.constraints:
            raise
        return Hyperopt().lower(Structures(replace(structures.space, constraints=())))

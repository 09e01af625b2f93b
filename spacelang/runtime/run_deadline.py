"""The time until the answer of a run: how much of it is left, what is reserved for its end, and the kept models."""

from bisect import insort
from dataclasses import dataclass, field
from typing import Final

from spacelang.ir.trial import Trial
from spacelang.runtime.final_work_costs import FinalWorkCosts, WorkSizes
from spacelang.runtime.history import Clock, TrialRecord
from spacelang.runtime.kept_models import KeptModel, KeptModels, TrialRank, rank_trial
from spacelang.runtime.listeners import Closeable

TIME_WAS_UP: Final = "the time was up"
GRACE_SECONDS: Final = 1.0  # The seconds beyond the time after which reading a model and a score are stopped
MIN_SEARCH_SHARE: Final = 0.5  # The smallest share of the time that a search has for its first successful trial


@dataclass(frozen=True, slots=True, order=True)
class RankedTrial:
    """A successful trial with its rank, and its kept models or None; trials are ordered by rank, then by number."""

    rank: TrialRank
    index: int
    trial: Trial = field(compare=False)
    model: KeptModel | None = field(compare=False)


class RunDeadline(Closeable):
    """The time of a run with a limit on the seconds until its answer; close it to delete the kept models.

    `seconds` is the limit, and `started` the reading of `clock` when the run was started: its command or its function.
    `candidates` is the number of best trials that may be part of the answer, and `votes` the number of votes of the
    ensemble, None without one.
    """

    def __init__(
        self,
        seconds: float,
        *,
        started: float,
        clock: Clock,
        sizes: WorkSizes,
        candidates: int,
        votes: int | None = None,
        models: KeptModels | None = None,
    ) -> None:
        self.seconds, self.clock, self.votes, self.models = seconds, clock, votes, models
        self.costs = FinalWorkCosts(sizes, seconds)
        self.is_enforced = True
        self._started = started
        self._earlier_seconds = 0.0
        self._workers = 1
        self._candidates = candidates
        self._best: list[RankedTrial] = []
        self._reserve: float | None = None

    def close(self) -> None:
        """Delete the kept models."""
        if self.models is not None:
            self.models.close()

    def start_session(self, earlier_seconds: float, workers: int) -> None:
        """Record the start of the search; the seconds of its earlier sessions count towards the time."""
        self._earlier_seconds, self._workers = earlier_seconds, workers
        self.costs.preceding_seconds = self.clock() - self._started

    def end_session(self, trials: int) -> None:
        """Record the end of the search, which made `trials` new trials.

        A resumed run without new trials only does the work after the search, which then takes as long as it needs.
        """
        self.is_enforced = trials > 0

    def update_predicted_seconds(self, record: TrialRecord) -> None:
        """Update the predicted seconds by a finished or replayed trial."""
        trial = record.trial
        if self.models is not None:
            self.models.add(record)
        self.costs.learn_growth(trial)
        if trial.loss is None:
            return
        model = None if self.models is None else self.models.find(trial)
        rank = rank_trial(trial, self.costs.sizes.training_size)
        insort(self._best, RankedTrial(rank, record.index, trial, model))
        del self._best[self._candidates :]
        self._reserve = None

    @property
    def reserved_seconds(self) -> float:
        """The seconds to reserve for the work after the search."""
        if self._reserve is None:
            self._reserve = self.costs.seconds_to_reserve(self._best, workers=self._workers, votes=self.votes)
        return self._reserve

    @property
    def seconds_without_search(self) -> float:
        """The seconds that the search cannot use: those before it, and those reserved for the work after it.

        Until a trial has succeeded, the search has `MIN_SEARCH_SHARE` of the time even if the start took longer: a late
        answer is better than none.
        """
        found = self.costs.preceding_seconds + self.reserved_seconds
        return found if self._best else min(found, (1 - MIN_SEARCH_SHARE) * self.seconds)

    @property
    def seconds_left(self) -> float:
        """The seconds until the answer must be there; infinite if the time is not enforced, negative once it is up."""
        if not self.is_enforced:
            return float("inf")
        return self.seconds - self._earlier_seconds - (self.clock() - self._started)

    def find_model(self, trial: Trial) -> KeptModel | None:
        """Return the kept models of a trial, or None."""
        return None if self.models is None else self.models.find(trial)

    def predicted_fit_seconds(self, trial: Trial) -> float:
        """Return the predicted seconds of fitting the pipeline of a trial on all rows."""
        return self.costs.fit_seconds(trial, self.find_model(trial))

    def allowed_fit_seconds(self, trial: Trial, seconds: float) -> float | None:
        """Return the seconds that a fit on all rows may take, or None if it is predicted to take more than that.

        The search ends when exactly the reserved seconds are left, and ending it takes some of them. So a fit may also
        take half of the seconds that are reserved for such work.
        """
        longest = seconds + self.costs.fixed_seconds / 2
        return longest if self.predicted_fit_seconds(trial) <= longest else None

    def correct_fit_predictions(self, trial: Trial, measured: float) -> None:
        """Use the measured seconds of a final fit to correct those that follow."""
        self.costs.learn_fit(self.costs.uncorrected_fit_seconds(trial, self.find_model(trial)), measured)

    @property
    def seconds_left_for_fit(self) -> float:
        """The seconds that are left for fitting the best pipeline: all but those of the other work after the search."""
        return self.seconds_left - self.costs.seconds_without_fits(self._best, self.votes)

    @property
    def seconds_left_for_best_score(self) -> float:
        """The seconds that are left for the score of the best pipeline: all but those of the ensemble."""
        if self.votes is None:
            return self.seconds_left - self.costs.fixed_seconds
        return self.seconds_left_for_members - self.costs.selection_seconds(self.votes, len(self._best))

    @property
    def seconds_left_for_ensemble_score(self) -> float:
        """The seconds that are left for the score of the ensemble, the last work of a run."""
        return self.seconds_left - self.costs.fixed_seconds

    @property
    def seconds_left_for_members(self) -> float:
        """The seconds that are left for selecting and fitting members: all but those of the score of the ensemble."""
        of_score = 0.0 if self.votes is None else self.costs.ensemble_score_seconds(self._best, self.votes)
        return self.seconds_left - self.costs.fixed_seconds - of_score

    @property
    def job_time_limit(self) -> float:
        """The seconds that a job may take without which the answer is not complete, such as the score."""
        return max(self.seconds_left, 0.0) + GRACE_SECONDS

r"""The time until the answer of a run: what is left of it, and what is reserved for the work after the search.

The prediction for a trial on r of the n rows that trials may use, with k folds:

    fit(trial)   = c (seconds of the trial without scoring / k) (n / r)^e + preparation
    score(trial) = (seconds of scoring / k) (test rows / held-out rows of a fold) + interval

- r are the training rows of one fold. The seconds of a trial are those without work shared with other trials. Those of
  scoring are measured if the model of the trial was kept; otherwise they are `SCORING_SHARE` of the trial.
- e is the growth of the cost with the rows. It is the median over the pairs of trials of one configuration on different
  numbers of rows, of log(ratio of seconds) / log(ratio of rows), from 0 to 2. `PRIOR_EXPONENT` is the first pair.
- c corrects for what was predicted wrong: the geometric mean of measured / predicted over the final fits so far, with
  `FIT_MARGIN` counting as one fit.
- preparation are the seconds that imputing and encoding took before the first trial, for one fold.
- interval are the seconds of the loss on all bootstrap resamples of the test rows, at most INTERVAL_SHARE T. If they do
  not suffice, there is no interval.

The reserve for a run of T seconds, of which the best trial is b, with W workers and m expected members of an ensemble
(2 sqrt(votes), at most as many as there are candidates):

    answer  = fixed + score(b) + selection + reading + m mean of score(candidate)
    reserve = min(answer + fit(b) + m mean of fit(candidate) / W, MAX_SHARE T)

- fixed are FIXED_SECONDS + FIXED_SHARE (seconds before the search).
- selection are the seconds of votes x candidates losses on the held-out rows, reading those of unpickling the models.
- If answer + fit(b) exceeds MAX_SHARE T, the model of the trial will be the answer, so fit(b) is left out. If that
  model was not kept, there would be no answer without the fit, and the reserve is at least answer + fit(b).
- The fit of a candidate that takes longer than MAX_SHARE T - answer - fit(b) is left out of the mean, too.
- If bounds are measured on the test rows, which takes a fit of its own, fit(b) counts twice.
- Before the first successful trial, the reserve is min(fixed, PRIOR_SHARE T).
"""

from bisect import insort
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, exp, inf, log, sqrt
from statistics import median
from typing import Final

from spacelang.ir.trial import Trial
from spacelang.runtime.history import Clock, TrialRecord
from spacelang.runtime.learner_shares import choose_equal_shares, learner_of
from spacelang.runtime.listeners import Closeable
from spacelang.runtime.trial_models import BestTrialModels, StoredTrialModels, TrialRank, rank_trial

SCORING_SHARE: Final = 0.1  # The share of scoring in the seconds of a trial, if it was not measured
PRIOR_EXPONENT: Final = 1.25  # The growth of the cost with the rows before anything is known of it
MAX_EXPONENT: Final = 2.0
MAX_PAIRS: Final = 99  # The number of the last pairs of trials that decide the growth
FIT_MARGIN: Final = 1.15  # The factor on predicted fits before the first final fit
FIXED_SECONDS: Final = 0.3  # The seconds of starting workers again, of writing code and of the end of the process
FIXED_SHARE: Final = 0.1
"""The share of the seconds before the search that is added: both consist of imports and of starting processes."""
MAX_SHARE: Final = 0.25  # The largest share of the time that is reserved
PRIOR_SHARE: Final = 0.1  # The largest share of the time that is reserved before the first successful trial
INTERVAL_SHARE: Final = 0.05  # The largest share of the time that is reserved for the interval of one score
READ_BYTES_PER_SECOND: Final = 2.0e8  # The bytes of models that are read, sent to this process and unpickled a second


@dataclass(frozen=True, slots=True)
class LossComputationTime:
    """The seconds of computing the losses of predictions: for each call, and in addition for each row of a model."""

    call: float = 0.0
    row: float = 0.0

    def total(self, calls: float, models: float, rows: float) -> float:
        """Return the seconds of some calls, each with the predictions of `models` models for `rows` rows."""
        return calls * (self.call + models * rows * self.row)


NO_LOSS_SECONDS: Final = LossComputationTime()


@dataclass(frozen=True, slots=True)
class WorkSizes:
    """The sizes of the data from which the seconds of the work after a search are predicted."""

    rows: int
    training_size: int
    folds: int = 1
    held_out_rows: float = 1.0
    test_rows: int = 0
    resamples: int = 0
    preparation_seconds: float = 0.0
    loss_seconds: LossComputationTime = NO_LOSS_SECONDS
    has_bounds: bool = False


@dataclass(frozen=True, slots=True, order=True)
class AnswerCandidate:
    """A successful trial that may be part of the answer, with its rank, its number and its kept models or None.

    Candidates are ordered by rank, then by number.
    """

    rank: TrialRank
    index: int
    trial: Trial = field(compare=False)
    model: StoredTrialModels | None = field(compare=False)


@dataclass(slots=True)
class FinalWorkCosts:
    """The prediction of the seconds of final fits and scores in a run of `seconds`, corrected by what is measured."""

    sizes: WorkSizes
    seconds: float = inf
    preceding_seconds: float = 0.0  # The seconds between the start of the run and that of the search
    _exponents: deque[float] = field(default_factory=lambda: deque([PRIOR_EXPONENT], MAX_PAIRS))
    _log_ratios: list[float] = field(default_factory=lambda: [log(FIT_MARGIN)])
    _by_configuration: dict[bytes, tuple[float, float]] = field(default_factory=dict)
    """The training rows and the seconds of the last successful trial of each configuration."""

    def update_cost_growth(self, trial: Trial) -> None:
        """Use a finished trial to correct the growth of the cost, if its configuration had other numbers of rows."""
        rows, seconds = float(self._training_rows(trial)), trial.seconds_without_sharing
        if trial.loss is None or seconds <= 0 or rows <= 0:
            return
        known = self._by_configuration.get(trial.request.configuration.digest)
        self._by_configuration[trial.request.configuration.digest] = rows, seconds
        if known is not None and known[0] != rows:
            found = log(seconds / known[1]) / log(rows / known[0])
            self._exponents.append(min(max(found, 0.0), MAX_EXPONENT))

    def update_fit_correction(self, predicted: float, measured: float) -> None:
        """Use the measured seconds of a final fit to correct those that follow."""
        if predicted > 0 and measured > 0:
            self._log_ratios.append(log(measured / predicted))

    @property
    def fixed_seconds(self) -> float:
        """The seconds of everything after the search that does not depend on trials."""
        return FIXED_SECONDS + FIXED_SHARE * self.preceding_seconds

    @property
    def row_growth_exponent(self) -> float:
        """The exponent e of the growth of the cost with the rows: r rows take seconds in proportion to r^e."""
        return median(self._exponents)

    @property
    def fit_time_correction(self) -> float:
        """The factor by which predicted seconds of final fits are multiplied.

        It is the geometric mean of the ratios of measured to predicted seconds and of an initial margin.
        """
        return exp(sum(self._log_ratios) / len(self._log_ratios))

    def uncorrected_fit_seconds(self, trial: Trial, model: StoredTrialModels | None) -> float:
        """Return the predicted seconds of fitting the pipeline of a trial on all rows, without the correction."""
        sizes = self.sizes
        of_fit = max(trial.seconds_without_sharing - (0.0 if model is None else model.score_seconds), 0.0)
        growth = (sizes.rows / max(self._training_rows(trial), 1)) ** self.row_growth_exponent
        return float(of_fit / sizes.folds * growth + sizes.preparation_seconds)

    def fit_seconds(self, trial: Trial, model: StoredTrialModels | None) -> float:
        """Return the predicted seconds of fitting the pipeline of a trial on all rows."""
        return self.fit_time_correction * self.uncorrected_fit_seconds(trial, model)

    def score_seconds(self, trial: Trial, model: StoredTrialModels | None) -> float:
        """Return the predicted seconds of predicting the test rows; 0 without any."""
        sizes = self.sizes
        of_score = SCORING_SHARE * trial.seconds_without_sharing if model is None else model.score_seconds
        return of_score / sizes.folds * sizes.test_rows / max(sizes.held_out_rows, 1.0)

    @property
    def confidence_interval_seconds(self) -> float:
        """The seconds for the interval of a loss on the test rows."""
        whole = self.sizes.loss_seconds.total(self.sizes.resamples, 1, self.sizes.test_rows)
        return min(whole, INTERVAL_SHARE * self.seconds)

    def best_pipeline_score_seconds(self, best: Sequence[AnswerCandidate]) -> float:
        """Return the predicted seconds of the score of the best pipeline on the test rows, with its interval."""
        return self.score_seconds(best[0].trial, best[0].model) + self.confidence_interval_seconds if best else 0.0

    def selection_seconds(self, votes: int, candidates: int) -> float:
        """Return the predicted seconds of selecting the members of an ensemble."""
        sizes = self.sizes
        return sizes.loss_seconds.total(votes, candidates, sizes.held_out_rows * sizes.folds)

    def ensemble_score_seconds(self, best: Sequence[AnswerCandidate], votes: int) -> float:
        """Return the predicted seconds of reading the models of an ensemble and of its score on the test rows."""
        if not best:
            return 0.0
        count = expected_member_count(votes, len(best))
        scores = sum(self.score_seconds(each.trial, each.model) for each in best) * count / len(best)
        return scores + self.confidence_interval_seconds + self._reading_seconds(best, count)

    def seconds_without_fits(self, best: Sequence[AnswerCandidate], votes: int | None) -> float:
        """Return the predicted seconds of the work after the search except for the fits."""
        found = self.fixed_seconds + self.best_pipeline_score_seconds(best)
        if votes is None:
            return found
        return found + self.selection_seconds(votes, len(best)) + self.ensemble_score_seconds(best, votes)

    def seconds_to_reserve(self, best: Sequence[AnswerCandidate], *, workers: int, votes: int | None) -> float:
        """Return the seconds to reserve; `best` are the best trials of the run so far, the best one first."""
        if not best:
            return min(self.fixed_seconds, PRIOR_SHARE * self.seconds)
        most, first, answer = MAX_SHARE * self.seconds, best[0], self.seconds_without_fits(best, votes)
        of_best = self.fit_seconds(first.trial, first.model) * (2 if self.measures_bounds else 1)
        if first.model is None:
            most = max(most, answer + of_best)
        elif answer + of_best > most:
            of_best = 0.0
        of_members = 0.0 if votes is None else self._member_seconds(best, votes, workers, most - answer - of_best)
        return min(answer + of_best + of_members, most)

    @property
    def measures_bounds(self) -> bool:
        """True if the bounds of the task are measured on test rows."""
        return self.sizes.has_bounds and self.sizes.test_rows > 0

    def _member_seconds(self, best: Sequence[AnswerCandidate], votes: int, workers: int, longest: float) -> float:
        """Return the predicted seconds of fitting the members; those that take longer than `longest` are not fitted."""
        fits = [self.fit_seconds(each.trial, each.model) for each in best]
        fits = [each if each <= longest else 0.0 for each in fits]
        return sum(fits) / len(fits) * expected_member_count(votes, len(best)) / max(workers, 1)

    def _reading_seconds(self, best: Iterable[AnswerCandidate], count: int) -> float:
        sizes = [each.model.bytes for each in best if each.model is not None]
        return sum(sizes) / len(sizes) * min(count, len(sizes)) / READ_BYTES_PER_SECOND if sizes else 0.0

    def _training_rows(self, trial: Trial) -> int:
        return min(trial.request.fidelity or self.sizes.training_size, self.sizes.training_size)


def expected_member_count(votes: int, candidates: int) -> int:
    """Return the expected number of pipelines that have the votes, 2 sqrt(votes), at most `votes` and `candidates`."""
    return min(ceil(2 * sqrt(votes)), votes, candidates)


TIME_WAS_UP: Final = "the time was up"
GRACE_SECONDS: Final = 1.0  # The seconds beyond the time after which reading a model and a score are stopped
MIN_SEARCH_SHARE: Final = 0.5  # The smallest share of the time that a search has for its first successful trial


class RunDeadline(Closeable):
    """The time of a run with a limit on the seconds until its answer; close it to delete the kept models.

    `seconds` is the limit, and `started` the reading of `clock` when the run was started: its command or its function.
    `candidates` is the number of best trials that may be part of the answer, and `votes` the number of votes of the
    ensemble, None without one. All learners have equal shares of the candidates if there is a `learner_key`, the key of
    the decision that chooses them.
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
        models: BestTrialModels | None = None,
        learner_key: str = "",
    ) -> None:
        self.seconds, self.clock, self.votes, self.models = seconds, clock, votes, models
        self.costs = FinalWorkCosts(sizes, seconds)
        self.is_enforced = True
        self._started = started
        self._earlier_seconds = 0.0
        self._workers = 1
        self._candidates, self._learner_key = candidates, learner_key
        self._best: list[AnswerCandidate] = []
        self._reserve: float | None = None

    def close(self) -> None:
        """Delete the kept models."""
        if self.models is not None:
            self.models.close()

    def record_search_start(self, earlier_seconds: float, workers: int) -> None:
        """Record the start of the search; the seconds of its earlier sessions count towards the time."""
        self._earlier_seconds, self._workers = earlier_seconds, workers
        self.costs.preceding_seconds = self.clock() - self._started

    def end_session(self, trials: int) -> None:
        """Record the end of the search, which made `trials` new trials.

        A resumed run without new trials only does the work after the search, which then takes as long as it needs.
        """
        self.is_enforced = trials > 0

    def update_predicted_seconds(self, record: TrialRecord) -> None:
        """Update the predicted seconds by a finished or replayed trial, which may become a candidate for the answer."""
        trial = record.trial
        if self.models is not None:
            self.models.add(record)
        self.costs.update_cost_growth(trial)
        if trial.loss is None:
            return
        model = None if self.models is None else self.models.find(trial)
        rank = rank_trial(trial, self.costs.sizes.training_size)
        insort(self._best, AnswerCandidate(rank, record.index, trial, model))
        learners = [learner_of(each.trial, self._learner_key) for each in self._best]
        chosen = choose_equal_shares([each.rank for each in self._best], learners, self._candidates)
        self._best = [self._best[place] for place in chosen]
        self._reserve = None

    @property
    def reserved_seconds(self) -> float:
        """The seconds to reserve for the work after the search."""
        if self._reserve is None:
            self._reserve = self.costs.seconds_to_reserve(self._best, workers=self._workers, votes=self.votes)
        return self._reserve

    @property
    def seconds_unavailable_to_search(self) -> float:
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

    def find_model(self, trial: Trial) -> StoredTrialModels | None:
        """Return the kept models of a trial, or None."""
        return None if self.models is None else self.models.find(trial)

    def predicted_fit_seconds(self, trial: Trial) -> float:
        """Return the predicted seconds of fitting the pipeline of a trial on all rows."""
        return self.costs.fit_seconds(trial, self.find_model(trial))

    def allowed_fit_seconds(self, trial: Trial, seconds: float) -> float | None:
        """Return the most seconds that a fit on all rows may take: a little more than the `seconds` left for it.

        Return None if the fit is predicted to take more than that. The search ends when exactly the reserved seconds
        are left, and ending it takes some of them. So a fit may also take half of the fixed seconds that are reserved
        for such work.
        """
        longest = seconds + self.costs.fixed_seconds / 2
        return longest if self.predicted_fit_seconds(trial) <= longest else None

    def correct_fit_predictions(self, trial: Trial, measured: float) -> None:
        """Use the measured seconds of a final fit to correct those that follow."""
        self.costs.update_fit_correction(self.costs.uncorrected_fit_seconds(trial, self.find_model(trial)), measured)

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
        """The time limit in seconds of a job that completes the answer, such as the score of the pipeline."""
        return max(self.seconds_left, 0.0) + GRACE_SECONDS


def enforced_deadline(answer_time: RunDeadline | None) -> RunDeadline | None:
    """Return the deadline if it limits the work after the search, else None."""
    return answer_time if answer_time is not None and answer_time.is_enforced else None

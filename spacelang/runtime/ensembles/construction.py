"""Build an ensemble from the trials of a run: select members by stored predictions and refit them on all rows."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from spacelang.ir.task import UNLIMITED, Limits
from spacelang.ir.trial import Status, TestScore, Trial
from spacelang.runtime import final_fit
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Executor, Job
from spacelang.runtime.final_fit import SkippedTrial
from spacelang.runtime.history import NullTrialStorage, Outcome, TrialRecord
from spacelang.runtime.learner_shares import choose_equal_shares, learner_of
from spacelang.runtime.objective import EnsembleObjective, learner_key_of
from spacelang.runtime.pipelines import PipelineInput
from spacelang.runtime.run_deadline import TIME_WAS_UP, RunDeadline, enforced_deadline

LIBRARY_SIZE: Final = 32
"""The number of pipelines from which members are selected, as in the ADMM paper (appendix 8).

All learners have equal shares of it, rounded up: the mistakes of pipelines with the same learner are alike.
"""
FIRST_JOB: Final = -final_fit.MAX_ATTEMPTS - 3  # The number of the first job; the following ones count down
Predictions: TypeAlias = npt.NDArray[np.float64]
"""The predictions of one model for n rows: n x classes probabilities, or n numbers."""
PredictionsOf: TypeAlias = Callable[[int], Predictions | None]
"""A function that returns a trial's predictions for the held-out rows by its number; None if they were not stored."""
Losses: TypeAlias = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
"""A function that returns the m losses of m predictions in one array."""
ROUNDING: Final = 1e-12  # The relative difference of losses up to which they count as equal
MAX_COPIED: Final = 2**24  # The maximum number of values that are copied at once, unless one model alone has more


@dataclass(frozen=True, slots=True)
class ModelMultiset:
    """A multiset of models, given by their indices in a library.

    `order` has the models in the order in which they were added, and `losses[k]` is the loss of the first k + 1
    together.
    """

    order: tuple[int, ...]
    losses: tuple[float, ...]

    @property
    def loss(self) -> float:
        """The loss of all models of the multiset together."""
        return self.losses[-1]

    @property
    def votes(self) -> dict[int, int]:
        """The number of times that each model was added, in the order of the first additions."""
        return dict(Counter(self.order))

    @property
    def weights(self) -> dict[int, float]:
        """The share of all votes of each model; the shares sum to 1."""
        return {model: votes / len(self.order) for model, votes in self.votes.items()}


class EnsembleError(InputError):
    """An error of a run from which no ensemble can be built."""


class NoEligibleTrialError(EnsembleError):
    """An error of a run without a possible member: no trial succeeded within all bounds on all training rows."""


class BestPredictionsStorage(NullTrialStorage):
    """A trial storage that keeps only predictions, by trial number: those from which an ensemble is selected.

    `learner_key` is the key of the decision that chooses the learner, if any.
    """

    stores_predictions = True

    def __init__(self, training_size: int, learner_key: str = "") -> None:
        self._training_size, self._learner_key = training_size, learner_key
        self._losses: dict[int, float] = {}
        self._learners: dict[int, str] = {}
        self.predictions: dict[int, Predictions] = {}

    def append(self, record: TrialRecord) -> None:
        """Hold the predictions of an eligible trial, and drop those that no ensemble can have any more."""
        super().append(record)
        trial = record.trial
        if trial.loss is None or not is_eligible(trial, self._training_size) or not _is_finite(trial.predictions):
            return
        self._losses[record.index], self.predictions[record.index] = trial.loss, trial.predictions
        self._learners[record.index] = learner_of(trial, self._learner_key)
        numbers = sorted(self._losses)
        losses, learners = [self._losses[each] for each in numbers], [self._learners[each] for each in numbers]
        kept = choose_equal_shares(losses, learners, LIBRARY_SIZE)
        for number in {*numbers} - {numbers[place] for place in kept}:
            del self._losses[number], self._learners[number], self.predictions[number]


@dataclass(frozen=True, slots=True)
class EnsembleMember:
    """A trial whose pipeline has `votes` votes in an ensemble.

    `seconds` is the time of its fit on all rows, 0 before that fit. If `is_trial_model`, there was no time for it, and
    the model is that of the trial, which was fitted on fewer rows.
    """

    record: TrialRecord
    votes: int
    seconds: float = 0.0
    is_trial_model: bool = False


@dataclass(frozen=True, slots=True)
class EnsembleSelection:
    """The members of an ensemble, in the order in which they were first chosen.

    `library` is the number of pipelines that they were chosen from. `models` has the loss for every ensemble size.
    `loss_of` returns the loss of some of the members together on the held-out rows.
    """

    members: tuple[EnsembleMember, ...]
    models: ModelMultiset
    library: int
    loss_of: Callable[[Sequence[EnsembleMember]], float] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ensemble:
    """An ensemble whose members were fitted on all `rows`. It has no members if none could be fitted.

    `loss` is the loss of the members on the held-out rows by which they were selected. `left_out` lists the trials that
    could not be fitted; the other members share their votes. `seconds` is the total time of all fits. `estimator` is
    the fitted vote if it was requested. `test` is its score on the test rows, if there are any. `note` is a sentence on
    what did not fit into the time of the run, otherwise empty.
    """

    choice: EnsembleSelection
    members: tuple[EnsembleMember, ...]
    loss: float | None
    rows: int
    seconds: float
    left_out: tuple[SkippedTrial, ...] = ()
    estimator: Any = field(default=None, compare=False, repr=False)
    test: TestScore | None = None
    note: str = ""

    @property
    def weights(self) -> tuple[float, ...]:
        """The share of the votes of each member; the shares sum to 1."""
        votes = sum(member.votes for member in self.members)
        return tuple(member.votes / votes for member in self.members)


def select_members(
    outcome: Outcome,
    objective: EnsembleObjective,
    predictions: PredictionsOf,
    size: int,
    answer_time: RunDeadline | None = None,
) -> EnsembleSelection:
    """Select an ensemble of `size` votes by Caruana's method, from feasible trials on all training rows.

    A member can have several votes. `predictions` returns the stored predictions of a trial by its number. There are
    fewer votes, at least one, if the time of the run does not suffice for all. Raises EnsembleError if no trial is
    eligible, if no pipeline has usable predictions, or if the metric of an ensemble is undefined.
    """
    from spacelang.runtime.scoring import pipeline_scorer

    records = [record for record in outcome.records if is_eligible(record.trial, objective.training_size)]
    if not records:
        within = " within all bounds" if outcome.infeasible else ""
        reason = f"no trial{within} was trained on all {objective.training_size} rows"
        raise NoEligibleTrialError(f"an ensemble cannot be built: {reason}", "give the search more time")
    held_out = objective.held_out_rows
    shape = (len(held_out.target), len(held_out.classes)) if held_out.classes else (len(held_out.target),)
    known: dict[int, Predictions] = {}

    def has_predictions(place: int) -> bool:
        found = predictions(records[place].index)
        if found is None or found.shape != shape or not _is_finite(found):
            return False
        known[place] = found
        return True

    losses = [float("inf") if record.trial.loss is None else record.trial.loss for record in records]
    learners = [learner_of(record.trial, learner_key_of(objective)) for record in records]
    places = choose_equal_shares(losses, learners, LIBRARY_SIZE, has_predictions)
    if not places:
        raise EnsembleError("an ensemble cannot be built: no pipeline predicts probabilities or numbers")
    losses_of = pipeline_scorer.make_batch_prediction_loss_function(held_out, objective.metric)
    time = enforced_deadline(answer_time)
    may_continue = (lambda: True) if time is None else lambda: time.seconds_left_for_members > 0
    bag = select_models([known[place] for place in places], losses_of, size, may_continue)
    if not np.isfinite(bag.losses).all():
        raise EnsembleError(f"the metric `{objective.metric.name}` is undefined for the predictions of an ensemble")
    members = [EnsembleMember(records[places[model]], votes) for model, votes in bag.votes.items()]
    of_trial = {records[place].index: known[place] for place in places}
    judged = pipeline_scorer.make_prediction_loss_function(held_out, objective.metric)

    def loss_of(some: Sequence[EnsembleMember]) -> float:
        found = [of_trial[each.record.index] for each in some]
        return judged(average_predictions(found, [each.votes for each in some]))

    return EnsembleSelection(tuple(members), bag, len(places), loss_of)


def fit_ensemble(
    choice: EnsembleSelection,
    outcome: Outcome,
    objective: EnsembleObjective,
    executor: Executor,
    *,
    limits: Limits = UNLIMITED,
    form: PipelineInput = PipelineInput.TABLE,
    is_wanted: bool = False,
    answer_time: RunDeadline | None = None,
) -> Ensemble:
    """Fit the members on all rows, in parallel on the executor of the run, after stopping its remaining jobs.

    Each fit has the limits that the best pipeline of the run would have. A member is left out if its fit fails, takes
    too long or dies. If there are test rows, the ensemble is scored on them. Errors of the executor as a whole are
    raised.

    With an `answer_time`, fits end in time. Members with many votes are fitted first. A member whose fit does not end
    in time has the model of its trial. Without one it is left out; `Ensemble.note` says so.
    """
    executor.stop()
    time = enforced_deadline(answer_time)
    needed = is_wanted or objective.test_rows > 0
    limit = {
        each.record.index: final_fit.allowed_fit_seconds(each.record, outcome, objective, limits)
        for each in choice.members
    }
    fits = _fit_members(choice.members, limit, executor, form, needed, time)
    if needed:
        fits = {index: final_fit.replace_unreadable_by_failure(fit) for index, fit in fits.items()}
    models = {} if time is None else _take_trial_models(choice.members, fits, limit, executor, form, time)
    fits |= models
    fitted, failed, late = [], [], 0
    for member in choice.members:
        index, fit = member.record.index, fits[member.record.index]
        if fit.status is Status.SUCCESS:
            fitted.append((replace(member, seconds=fit.cost, is_trial_model=index in models), fit))
        elif time is not None and final_fit.was_cut_off_by_run_deadline(fit, limit[index]):
            late += 1
        else:
            failed.append(SkippedTrial(member.record, fit.status, fit.reason))
    members = tuple(member for member, _ in fitted)
    loss = choice.loss_of(members) if members else None
    seconds = sum(fit.cost for fit in fits.values())
    found = Ensemble(choice, members, loss, objective.rows, seconds, tuple(failed))
    if time is not None:
        found = replace(found, note=_time_note(found, late, objective, time))
    if not (needed and members):
        return found
    from spacelang.runtime.ensembles.voting import as_fitted_voting_estimator

    pipelines = [fit.value.unpickle() for _, fit in fitted if fit.value is not None]
    estimator = as_fitted_voting_estimator(
        make_unfitted_vote(objective, members, form), pipelines, objective.held_out_rows.classes
    )
    first, payload = members[0].record.trial.request.configuration, final_fit.SerializedPayload(estimator)
    scoring, most = final_fit.UnseenScoreWork(first, form, payload), max(*limit.values(), final_fit.MIN_SECONDS)
    if time is not None:
        scoring = replace(scoring, interval_seconds=max(time.seconds_left_for_ensemble_score, 0.0))
        most = min(most, time.job_time_limit)
    job = Job(FIRST_JOB - len(choice.members), scoring, most)
    test = final_fit.score_on_unseen_rows(executor, job, objective.test_rows)
    return replace(found, estimator=estimator if is_wanted else None, test=test)


_Fits: TypeAlias = "dict[int, final_fit.WorkResult[final_fit.SerializedPayload]]"
"""The results of fits by the numbers of the trials."""


def _fit_members(
    members: Sequence[EnsembleMember],
    limit: Mapping[int, float],
    executor: Executor,
    form: PipelineInput,
    needed: bool,
    time: RunDeadline | None,
) -> _Fits:
    """Fit the members on all rows, and return the results by trial number.

    With a `time`, those with many votes are fitted first, and only if they are predicted to end in time.
    """
    ordered = [*members] if time is None else sorted(members, key=lambda each: -each.votes)
    trials = {FIRST_JOB - place: each.record.trial for place, each in enumerate(ordered)}
    jobs = [
        Job(
            FIRST_JOB - place,
            final_fit.RefitWork(each.record.trial.request.configuration, form, returns_pipeline=needed, is_member=True),
            limit[each.record.index],
        )
        for place, each in enumerate(ordered)
    ]
    admit = (
        None
        if time is None
        else lambda job: time.allowed_fit_seconds(trials[job.number], time.seconds_left_for_members)
    )
    fits = final_fit.run_final_jobs(executor, *jobs, admit=admit)
    return {each.record.index: fit for each, fit in zip(ordered, fits, strict=True)}


def _take_trial_models(
    members: Sequence[EnsembleMember],
    fits: _Fits,
    limit: Mapping[int, float],
    executor: Executor,
    form: PipelineInput,
    time: RunDeadline,
) -> _Fits:
    """Return the models of trials, by trial number, for members whose fits on all rows did not end in time.

    A member is missing if its trial has no kept model, or if there is no time to read it; members with many votes come
    first.
    """
    late = [
        each
        for each in members
        if final_fit.was_cut_off_by_run_deadline(fits[each.record.index], limit[each.record.index])
    ]
    found = [(each, time.find_model(each.record.trial)) for each in sorted(late, key=lambda each: -each.votes)]
    known = [(each, model) for each, model in found if model is not None]
    jobs = [
        Job(
            FIRST_JOB - place,
            final_fit.LoadTrialModelWork(
                each.record.trial.request.configuration, form, path=str(model.path), is_member=True
            ),
            time.job_time_limit,
        )
        for place, (each, model) in enumerate(known)
    ]
    taken = final_fit.run_final_jobs(
        executor, *jobs, admit=lambda _: time.seconds_left if time.seconds_left > 0 else None
    )
    read = map(final_fit.replace_unreadable_by_failure, taken)
    return {each.record.index: fit for (each, _), fit in zip(known, read, strict=True) if fit.status is Status.SUCCESS}


def _time_note(ensemble: Ensemble, late: int, objective: EnsembleObjective, time: RunDeadline) -> str:
    """Return a sentence on what did not fit into the time; empty if everything did."""
    parts, count, wanted = [], len(ensemble.members), len(ensemble.choice.members)
    votes, models = len(ensemble.choice.models.order), sum(each.is_trial_model for each in ensemble.members)
    if time.votes is not None and votes < time.votes and ensemble.choice.library > 1:
        parts.append(f"the ensemble has {votes} of {time.votes} votes")
    if late:
        parts.append(f"the ensemble has {count} of {wanted} members")
    if models:
        rows = f"{objective.training_size:,} of {objective.rows:,} rows"
        parts.append(f"{_describe_models(models, count)}, fitted on {rows}")
    return f"{', and '.join(parts)}: {TIME_WAS_UP}" if parts else ""


def _describe_models(models: int, members: int) -> str:
    if members == 1:
        return "the only member of the ensemble is the model of its trial"
    which = f"all {members}" if models == members else f"{models} of {members}"
    if models == 1:
        return f"{which} members of the ensemble is the model of its trial"
    return f"{which} members of the ensemble are the models of their trials"


def make_unfitted_vote(
    objective: EnsembleObjective, members: Sequence[EnsembleMember], form: PipelineInput = PipelineInput.TABLE
) -> Any:
    """Return the vote of the members as an estimator that is not fitted yet; it takes input of the kind `form`."""
    from spacelang.runtime.ensembles.voting import make_voting_estimator

    trials = {f"trial_{each.record.index}": each.record.trial for each in members}
    made = {name: objective.make_member(trial.request.configuration, form) for name, trial in trials.items()}
    return make_voting_estimator(
        made, [each.votes for each in members], is_classifier=bool(objective.held_out_rows.classes)
    )


def is_eligible(trial: Trial, training_size: int) -> bool:
    """Return True if a trial's pipeline may be a member: it succeeded within all bounds on all training rows."""
    rows = trial.request.fidelity
    return trial.loss is not None and trial.is_feasible and (rows is None or rows >= training_size)


def _is_finite(predictions: Predictions | None) -> bool:
    return predictions is not None and bool(np.isfinite(predictions).all())


def select_models(
    library: Sequence[Predictions], losses: Losses, size: int, may_continue: Callable[[], bool] = lambda: True
) -> ModelMultiset:
    """Return `size` models, chosen greedily: each time the one with which the mean prediction has the lowest loss.

    A model can be chosen several times. Of equal losses the first model is taken; NaN is the worst loss. `losses`
    computes the losses of an array of mean predictions. There are fewer models, at least one, if `may_continue` returns
    False before one is added.
    """
    if not library or size < 1:
        raise ValueError(f"cannot select {size} votes from {len(library)} models")
    models: Predictions = np.stack(library)
    at_once = max(1, MAX_COPIED // max(1, models[0].size))
    chunks = [models[first : first + at_once] for first in range(0, len(models), at_once)]
    total = np.zeros_like(models[0])
    order: list[int] = []
    found: list[float] = []
    for taken in range(1, size + 1):
        if order and not may_continue():
            break
        tried = np.concatenate([losses((total + part) / taken) for part in chunks])
        tried[np.isnan(tried)] = np.inf
        best = _first_lowest(tried)
        total += models[best]
        order.append(best)
        found.append(float(tried[best]))
    return ModelMultiset(tuple(order), tuple(found))


def average_predictions(library: Sequence[Predictions], votes: Sequence[int]) -> Predictions:
    """Return the mean of the predictions, weighted by the votes."""
    return np.asarray(sum(number * each for number, each in zip(votes, library, strict=True)) / sum(votes))


def _first_lowest(losses: npt.NDArray[np.float64]) -> int:
    """Return the index of the first loss that equals the lowest one up to rounding."""
    finite = np.abs(losses[np.isfinite(losses)])
    tolerance = ROUNDING * finite.max() if finite.size else 0.0
    return int(np.argmax(losses <= losses.min() + tolerance))

"""The data of a run for a page, read once from its store."""

import json
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.ir.trial import LossName
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.run_listing import RunSummary, summarize_run
from spacelang.runtime.storage.stored_run import StoredRun
from spacelang.sampling.batch_builder import BatchBuilder, ConfigurationBatch
from spacelang.sampling.value_codes import Array
from spacelang.serialization.definition import space_from_json
from spacelang.serialization.json_documents import DefinitionError, decision_keys_in_definition


@dataclass(frozen=True, eq=False)
class TrialsInSpace:
    """The trials whose configurations are members of the space; row i of `columns` is the configuration of trial i."""

    records: tuple[TrialRecord, ...]
    columns: ConfigurationBatch

    @cached_property
    def losses(self) -> Array:
        """The losses of the trials, of shape (n_trials,); NaN for failed trials."""
        return np.array([np.nan if each.trial.loss is None else each.trial.loss for each in self.records])


@dataclass(frozen=True)
class RunData:
    """A stored run with its trials in order. `space` is None if its definition is of another version.

    `is_temporary` is True if the store is deleted after the page is made, so that no command can use it.
    """

    run: StoredRun
    summary: RunSummary
    records: tuple[TrialRecord, ...]
    space: Space | None
    is_temporary: bool = False

    @property
    def metric(self) -> LossName:
        """The score that users see, and the loss that was minimized."""
        return LossName.of_formula(self.run.header.metric)

    @cached_property
    def successful_trials(self) -> tuple[TrialRecord, ...]:
        """The successful trials."""
        return tuple(each for each in self.records if each.trial.loss is not None)

    @cached_property
    def trials_in_space(self) -> TrialsInSpace | None:
        """The trials that are members of the space, with their configurations as columns; None without any.

        A file from someone else may have trials that are not members.
        """
        if self.space is None:
            return None
        found, tabulator = self.records, BatchBuilder(self.space)
        try:
            columns = tabulator.build([each.trial.request.configuration for each in found])
        except (LookupError, TypeError, ValueError, OverflowError, AssertionError):
            found = tuple(e for e in found if first_exclusion(self.space, e.trial.request.configuration) is None)
            columns = tabulator.build([each.trial.request.configuration for each in found])
        return TrialsInSpace(found, columns) if found else None

    @cached_property
    def decision_keys(self) -> tuple[str, ...]:
        """The keys of all decisions of the space, as configurations have them."""
        return decision_keys_in_definition(self.run.header.definition)

    @property
    def is_scored_on_data(self) -> bool:
        """True if trials were scored on rows of data, and not by a function or a formula."""
        return self.run.header.data.rows > 0

    def is_trained_on_all_rows(self, record: TrialRecord) -> bool:
        """Return True if the trial was trained on all training rows."""
        rows = record.trial.request.fidelity
        return rows is None or rows >= self.run.header.training_size


def read_run_data(run: StoredRun, *, is_temporary: bool = False) -> RunData:
    """Read the data of a run. Raises StoreError for a damaged store."""
    return RunData(run, summarize_run(run), tuple(run.records()), _space_of(run), is_temporary)


def _space_of(run: StoredRun) -> Space | None:
    try:
        return space_from_json(json.loads(run.header.definition))
    except (DefinitionError, ValueError, RecursionError):
        return None

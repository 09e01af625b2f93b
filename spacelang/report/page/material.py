"""The data of a run for a page, read once from its store."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spacelang.draws.tabulating import Tabulator
from spacelang.forms.decisions import decision_keys
from spacelang.forms.definition import from_json
from spacelang.forms.json_fields import DefinitionError
from spacelang.ir.membership import exclusion
from spacelang.ir.space import Space
from spacelang.runtime.storing.runs import Summary, summary

if TYPE_CHECKING:
    from spacelang.draws.batch import Batch
    from spacelang.draws.codes import Array
    from spacelang.runtime.history import Record
    from spacelang.runtime.storing.stored_run import StoredRun


@dataclass(frozen=True, eq=False)
class MemberTrials:
    """Trials whose configurations are members of the space, with these as columns: row i belongs to trial i."""

    records: "tuple[Record, ...]"
    columns: "Batch"

    @cached_property
    def losses(self) -> "Array":
        """The losses of the trials, of shape (n_trials,); NaN for failed trials."""
        return np.array([np.nan if each.trial.loss is None else each.trial.loss for each in self.records])


@dataclass(frozen=True)
class Material:
    """A stored run with its trials in order. `space` is None if its definition is of another version."""

    run: "StoredRun"
    summary: Summary
    records: "tuple[Record, ...]"
    space: Space | None

    @cached_property
    def known(self) -> "tuple[Record, ...]":
        """The successful trials."""
        return tuple(each for each in self.records if each.trial.loss is not None)

    @cached_property
    def members(self) -> "MemberTrials | None":
        """The trials as columns, or None without trials.

        Trials of a foreign file whose configurations are not members are left out.
        """
        if self.space is None:
            return None
        found, tabulator = self.records, Tabulator(self.space)
        try:
            columns = tabulator.columns([each.trial.request.configuration for each in found])
        except (LookupError, TypeError, ValueError, OverflowError, AssertionError):
            found = tuple(each for each in found if exclusion(self.space, each.trial.request.configuration) is None)
            columns = tabulator.columns([each.trial.request.configuration for each in found])
        return MemberTrials(found, columns) if found else None

    @cached_property
    def decisions(self) -> tuple[str, ...]:
        """The keys of the space's decisions in configurations."""
        return decision_keys(self.run.header.definition)

    @property
    def has_rows(self) -> bool:
        """True if trials were scored on rows of data, and not by a function or a formula."""
        return self.run.header.data.rows > 0

    def is_whole(self, record: "Record") -> bool:
        """Return True if the trial was trained on all training rows."""
        rows = record.trial.request.fidelity
        return rows is None or rows >= self.run.header.training_size


def gathered(run: "StoredRun") -> Material:
    """Read the data of a run. Raises StoreError for a damaged store."""
    return Material(run, summary(run), tuple(run.records()), _space_of(run))


def _space_of(run: "StoredRun") -> Space | None:
    try:
        return from_json(json.loads(run.header.definition))
    except (DefinitionError, ValueError, RecursionError):
        return None

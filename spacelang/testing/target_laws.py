"""Checks of what a target must preserve of a space.

They take the compiled space. The conformance suite of targets uses them, and so does the test that shows that they can
fail.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import reject

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.solver.counting import Structures
from spacelang.targets._constructs import Construct, constructs_of
from spacelang.targets._lowering import (
    LoweringResult,
    Preservation,
    PreservationTable,
    RefusedError,
    ReportEntry,
    Target,
    Verdict,
)

SAMPLES = 20


def lower(target: Target, space: Space) -> LoweringResult[Any, Any]:
    """Compile a space that the target must not refuse."""
    found = target.lower(Structures(space))
    assert isinstance(found, LoweringResult)
    return found


def lower_drawn(target: Target, space: Space) -> LoweringResult[Any, Any]:
    """Compile a drawn space; reject the example if it is empty, or if the target refuses it as declared."""
    structures = Structures(space)
    if not structures.count:
        reject()
    try:
        return target.lower(structures)
    except RefusedError as error:
        report = error.report
    assert any(entry.status is Preservation.REFUSED for entry in report)
    check_declared_verdicts(report, target.preserves)
    return reject()


def check_declared_verdicts(report: Iterable[ReportEntry], keeps: PreservationTable) -> None:
    """Check that every entry of a report is a verdict that the target declares, and has spans."""
    for entry in report:
        assert Verdict(entry.status, entry.message) in keeps[Construct(entry.construct)]
        assert entry.spans


def check_constructs_reported(form: LoweringResult[Any, Any], space: Space) -> None:
    """Check that the report covers every construct of the space at all its places."""
    told: Counter[str] = Counter()
    for entry in form.report:
        told[entry.construct] += len(entry.spans)
    there = {construct.value: len(spans) for construct, spans in constructs_of(space).items()}
    assert told.keys() == there.keys()
    assert all(told[construct] >= places for construct, places in there.items())


def check_round_trip(form: LoweringResult[Any, Any], members: Iterable[Configuration]) -> None:
    """Check that decoding an encoded configuration returns it."""
    for configuration in members:
        assert form.decode(form.encode(configuration)) == configuration


def check_accepted(form: LoweringResult[Any, Any], members: Iterable[Configuration]) -> None:
    """Check that the compiled space accepts the encoding of every given member."""
    for configuration in members:
        assert form.accepts(form.encode(configuration)), configuration


def check_samples(form: LoweringResult[Any, Any], space: Space, seed: int) -> None:
    """Check that samples of the compiled space are accepted by it and decode to members of the space."""
    drawn = form.sample(SAMPLES, np.random.default_rng(seed))
    assert len(drawn) == SAMPLES
    for encoding in drawn:
        assert form.accepts(encoding)
        found = first_exclusion(space, form.decode(encoding))
        assert found is None, found


def check_log_scale(form: LoweringResult[Any, Any], keeps: PreservationTable, key: str, middle: float) -> None:
    """Check that about half of the samples of a log-scaled range lie below its geometric middle.

    Sampled uniformly, only a few of a hundred would. The check is skipped if the target does not declare that it
    preserves log scales.
    """
    if keeps[Construct.LOG][0].status not in (Preservation.EXACT, Preservation.REWRITTEN):
        return
    drawn = [form.decode(encoding) for encoding in form.sample(200, np.random.default_rng(0))]
    values = [float(str(configuration[key])) for configuration in drawn if key in configuration]
    below = sum(value < middle for value in values) / len(values)
    assert 0.25 < below < 0.75, f"{below} of the draws are below {middle}"

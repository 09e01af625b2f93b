"""What every target must keep of a space, as functions of a form: the suite of targets asks them, and so does the test
that shows that they can fail.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import reject

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import exclusion
from spacelang.ir.space import Space
from spacelang.solver.counting import Structures
from spacelang.targets._constructs import Construct, constructs_of
from spacelang.targets._lowered import Keeps, Lowered, Preservation, RefusedError, ReportEntry, Target, Verdict

DRAWS = 20


def lower(target: Target, space: Space) -> Lowered[Any, Any]:
    """The form of a space that must not be refused."""
    found = target.lower(Structures(space))
    assert isinstance(found, Lowered)
    return found


def lower_drawn(target: Target, space: Space) -> Lowered[Any, Any]:
    """The form of a drawn space; one that is empty, or refused by what the target declares, is not looked at."""
    structures = Structures(space)
    if not structures.count:
        reject()
    try:
        return target.lower(structures)
    except RefusedError as error:
        report = error.report
    assert any(entry.status is Preservation.REFUSED for entry in report)
    says_what_is_declared(report, target.keeps)
    return reject()


def says_what_is_declared(report: Iterable[ReportEntry], keeps: Keeps) -> None:
    for entry in report:
        assert Verdict(entry.status, entry.message) in keeps[Construct(entry.construct)]
        assert entry.spans


def tells_every_construct(form: Lowered[Any, Any], space: Space) -> None:
    told: Counter[str] = Counter()
    for entry in form.report:
        told[entry.construct] += len(entry.spans)
    there = {construct.value: len(spans) for construct, spans in constructs_of(space).items()}
    assert told.keys() == there.keys()
    assert all(told[construct] >= places for construct, places in there.items())


def comes_back(form: Lowered[Any, Any], members: Iterable[Configuration]) -> None:
    for configuration in members:
        assert form.decode(form.encode(configuration)) == configuration


def is_reached(form: Lowered[Any, Any], members: Iterable[Configuration]) -> None:
    for configuration in members:
        assert form.reaches(form.encode(configuration)), configuration


def draws_members(form: Lowered[Any, Any], space: Space, seed: int) -> None:
    drawn = form.sample(DRAWS, np.random.default_rng(seed))
    assert len(drawn) == DRAWS
    for encoding in drawn:
        assert form.reaches(encoding)
        found = exclusion(space, form.decode(encoding))
        assert found is None, found


def keeps_logarithms(form: Lowered[Any, Any], keeps: Keeps, key: str, middle: float) -> None:
    """Half of the draws of a range with a log scale lie below its geometric middle, not a few of a hundred."""
    if keeps[Construct.LOG][0].status not in (Preservation.EXACT, Preservation.REWRITTEN):
        return
    drawn = [form.decode(encoding) for encoding in form.sample(200, np.random.default_rng(0))]
    values = [float(str(configuration[key])) for configuration in drawn if key in configuration]
    below = sum(value < middle for value in values) / len(values)
    assert 0.25 < below < 0.75, f"{below} of the draws are below {middle}"

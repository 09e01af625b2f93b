"""Constraints that the solver cannot decide: draws are tested with them, and defaults are moved by trying."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

import spacelang as sl
from spacelang.ir.membership import first_exclusion
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter

ALPHA = 1e-4
HEAD = "space tested\nabstract Model\nstage model = Model {\n"
CASES = [
    "a : float[0.01, 1] log = 0.1\nn : int[1, 5000] log = 100\nrequire a * n >= 5",
    "n : int[2, 100000] log = 31\nd : int[1, 30] = 6\nrequire n <= 2 ** d",
    "a : float[0, 1] = 0\nb : float[0, 1] = 0\nrequire a * a + b * b <= 1",
    "a : float[0, 1] = 0\nb : float[0, 1] = 0\nc : {x, y} = y\nrequire a * b <= 0.1 or c == y",
    "a : float[0, 1] = 0 when c == x\nb : float[0, 1] = 0\nc : {x, y} = y\nforbid a * b > 0.1",
    "a : {none} | float[0, 1] = none\nb : float[0, 1] = 0\nforbid a * b > 0.1",
]


@pytest.mark.parametrize("body", CASES)
def test_draws_are_the_members_among_draws_of_the_rest(body: str) -> None:
    space = sl.parse(f"{HEAD}{body}\n}}\n").checked
    lines = [line for line in body.split("\n") if not line.startswith(("require", "forbid"))]
    rest = sl.parse("\n".join([HEAD, *lines, "}"])).checked
    drawn = list(Sampler(Structures(space)).configurations(1_500, np.random.default_rng(1)))
    assert all(first_exclusion(space, each) is None for each in drawn)
    free = Sampler(Structures(rest)).configurations(6_000, np.random.default_rng(2))
    kept = [each for each in free if first_exclusion(space, each) is None]
    for node in space.hyperparameters:
        found, wanted = ([each.get(node.key) for each in sample] for sample in (drawn, kept))
        numbers = [[v for v in values if isinstance(v, int | float)] for values in (found, wanted)]
        if all(numbers):
            assert stats.ks_2samp(*numbers).pvalue > ALPHA
        counts = [Counter(v if isinstance(v, str) else type(v).__name__ for v in values) for values in (found, wanted)]
        names = sorted({*counts[0], *counts[1]})
        if len(names) > 1:
            table = [[each[name] for name in names] for each in counts]
            assert stats.chi2_contingency(table).pvalue > ALPHA


def test_an_excluded_default_moves_to_a_close_member() -> None:
    text = f"{HEAD}n : int[2, 100000] log = 31\nd : int[1, 30] = 6\nrequire n <= 2 ** d\n}}\n"
    space = sl.parse(text)
    found = space.nearest({"model": "Model", "model.n": 31, "model.d": 3})
    assert dict(found.member) == {"model": "Model", "model.n": 8, "model.d": 3}
    assert "2 ** d" in found.reasons[0].reason
    assert DefaultCompleter(Structures(space.checked)).complete({"model": "Model"}) in space

"""`simplex a, b, c`: shares of a whole, of which the last is computed."""

import numpy as np
import pytest
from scipy import stats

import spacelang as sl
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.syntax.inline_printer import spell_item
from spacelang.syntax.printer import format_text
from tests.unit.syntax.reading import item

TEXT = "space blend\nabstract Blend\nstage model = Blend { simplex %s }\n"


@pytest.mark.parametrize("count", [2, 3, 9])
def test_draws_have_the_flat_dirichlet_distribution(count: int) -> None:
    names = [f"share{place}" for place in range(count)]
    space = sl.parse(TEXT % ", ".join(names)).checked
    batch = Sampler(Structures(space)).batch(2_000, np.random.default_rng(5))
    shares = [batch.dense_part_indices_and_codes(f"model.Blend.{name}")[1] for name in names[:-1]]
    for found in (*shares, 1 - sum(shares)):
        assert stats.kstest(found, stats.beta(1, count - 1).cdf).pvalue > 1e-4


def test_the_default_has_equal_shares_and_the_last_is_the_rest() -> None:
    space = sl.parse("stage model = RandomForestClassifier { simplex ccp_alpha, min_impurity_decrease }")
    assert dict(space.default()) == {"model": "RandomForestClassifier", "model.ccp_alpha": 0.5}
    built = space.build(sl.Configuration({"model": "RandomForestClassifier", "model.ccp_alpha": 0.7}))
    forest = built.steps[-1][1]
    assert (forest.ccp_alpha, forest.min_impurity_decrease) == (0.7, 0.3)  # not 0.30000000000000004


def test_the_last_share_may_be_constrained() -> None:
    space = sl.parse(TEXT.replace("%s", "a, b, c = (0.1, 0.2, 0.7)\n require c >= 0.5"), name="blend.space")
    given = {"model": "Blend", "model.a": 0.3, "model.b": 0.2}
    assert sl.Configuration(given) in space
    assert sl.Configuration({**given, "model.a": 0.31}) not in space


def test_a_share_in_a_configuration_of_the_last_name_is_reported() -> None:
    space = sl.parse(TEXT % "a, b")
    assert sl.Configuration({"model": "Blend", "model.a": 0.3, "model.b": 0.7}) not in space


def test_both_printers_keep_a_simplex() -> None:
    text = "stage s = M { k : int[1, 2], simplex a, `b c`, d = (0.5, 0.25, 0.25)\nl = 1 }"
    assert item(text) == item(spell_item(item(text)))
    written = "stage s = M {\n  k : int[1, 2]\n  simplex a, `b c`, d = (0.5, 0.25, 0.25)\n  l = 1\n}\n"
    assert format_text(text) == format_text(written) == written

"""The summary of a comparison: its table as numbers and LaTeX, its figures, and its verdict."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from comparisons import made, run
from rich.console import Console

from spacelang.bench.comparison import ComparisonResults, IncumbentCurve, IncumbentKind, RunKey
from spacelang.bench.comparison.text_report import MAX_SUMMARY_DATA, print_comparison
from spacelang.bench.run_comparison import Comparison


def ended(losses: dict[str, list[float]], data: int = 4) -> ComparisonResults:
    """A comparison in which each seed of an optimizer ends with a given loss on every data set."""
    names = [f"d{number}" for number in range(data)]
    keyed = {(name, each, seed): loss for name in names for each in losses for seed, loss in enumerate(losses[each])}
    runs = tuple(run(RunKey(*key), [(1.0, loss)]) for key, loss in keyed.items())
    seeds = tuple(range(len(next(iter(losses.values())))))
    return ComparisonResults.from_runs(
        "s", tuple(names), tuple(losses), seeds, runs, dict.fromkeys(names, "1 - r2"), 60.0
    )


LEAD = "1.50 [0.83, 2.00] ranks"
VERDICTS = {
    f"`b` is ahead of `a` by {LEAD} and `c` by {LEAD} at the end, over 9 data sets": ([0.3, 0.1, 0.3], 9),
    "all optimizers have the same rank at the end, over 4 data sets and 1 seed": ([0.3, 0.3], 4),
    "`a` has the best average rank (1.00) at the end, over 1 data set and 1 seed, which are too few": ([0.1, 0.3], 1),
    "there is nothing to compare `a` with": ([0.1], 4),
}


@pytest.mark.parametrize("said", VERDICTS)
def test_the_verdict_says_who_is_ahead_of_whom(said: str) -> None:
    losses, data = VERDICTS[said]
    text = Comparison(ended({name: [loss] for name, loss in zip("abc", losses, strict=False)}, data)).verdict
    assert text.startswith(said)
    assert "\n" not in text


def test_a_difference_within_noise_is_no_lead() -> None:
    text = Comparison(ended({"a": [0.1, 0.3, 0.1, 0.3], "b": [0.3, 0.1, 0.31, 0.1]}, 1)).verdict
    assert text.startswith("no difference is beyond noise at the end, over 1 data set and 4 seeds; ")


def test_the_verdict_agrees_with_the_differences_of_ranks() -> None:
    rng, shifts = np.random.default_rng(0), {"a": 0.2, "b": 0.22, "c": 0.3}
    for spread in (0.001, 0.05, 0.5):
        found = Comparison(ended({name: (shift + spread * rng.random(5)).tolist() for name, shift in shifts.items()}))
        chosen = found.differences.query("ranking == 'mean_losses' and models == 'full'")
        last, first = chosen.groupby(["optimizer", "other"]).last(), found.to_frame()["all data", "rank"].idxmin()
        for (one, other), is_noise in last["within_noise"].items():
            if first in (one, other):
                assert (f"`{other if first == one else one}` by " in found.verdict) == (not is_noise)


def test_the_table_has_losses_and_ranks_at_the_end() -> None:
    found = Comparison(made())
    table = found.to_frame()
    quartiles = found.quartiles.query("models == 'full'").groupby(["data", "optimizer"]).last()
    for data in ("first", "second"):
        assert table[data, "loss"].to_dict() == quartiles.loc[data, "median"].to_dict()
        for ours, theirs in {"roc_auc": "median", "low": "upper", "high": "lower"}.items():
            assert table[data, ours].to_dict() == (1 - quartiles.loc[data, theirs]).to_dict()
        assert [*table[data].columns] == ["roc_auc", "low", "high", "loss"]
    ranks = found.ranks.query("models == 'full' and ranking == 'mean_losses'").groupby("optimizer").last()
    assert table["all data", "rank"].to_dict() == ranks["rank"].to_dict()


def test_the_table_is_latex() -> None:
    text = Comparison(ended({"a_b": [0.25, 0.25], "c & d": [0.5, 0.5]}, 1)).to_latex()
    assert text.splitlines() == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"optimizer & d0: r2 & rank \\",
        r"\midrule",
        r"a\_b & \textbf{0.7500} [0.7500, 0.7500] & \textbf{1.00} \\",
        r"c \& d & 0.5000 [0.5000, 0.5000] & 2.00 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_without_a_score_no_score_is_shown() -> None:
    """Ranks assume a loss of 1 for it, but nobody has measured that."""
    whole = ended({"a": [0.25, 0.25], "b": [0.5, 0.5]}, 1)
    none = {IncumbentKind.FULL: IncumbentCurve()}
    runs = [replace(run, curves={**run.curves, **none}) if run.key.optimizer == "b" else run for run in whole.runs]
    found = Comparison(replace(whole, runs=tuple(runs)))
    table = found.to_frame()
    assert table["d0", "r2"].isna().tolist() == [False, True]
    assert table["d0", "loss"].tolist() == [0.25, 1.0]
    assert r"b & -- & 2.00 \\" in found.to_latex()
    for verbose in (False, True):
        stream = StringIO()
        print_comparison(found.results, Console(file=stream, width=200, highlight=False), verbose=verbose)
        row = next(line for line in stream.getvalue().splitlines() if line.startswith("b "))
        assert row.endswith(" -")
    assert repr(found) == f"Comparison: {found.verdict}"


def test_figures_are_drawn() -> None:
    found = Comparison(made(data=("one",), seeds=2))
    assert [each.get_title() for each in found.plot().axes] == ["one"]
    assert len(found.plot("ranks").axes) == 2
    with pytest.raises(ValueError, match="`costs` is not a plot of a comparison: give `losses` or `ranks`"):
        found.plot("costs")


@pytest.mark.parametrize("data", [2, MAX_SUMMARY_DATA + 1])
def test_the_summary_is_short(data: int) -> None:
    stream = StringIO()
    results = made(data=[f"d{number}" for number in range(data)], seeds=3)
    print_comparison(results, Console(file=stream, width=200, highlight=False))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3 + 1 + len(results.optimizers)
    assert ("d1: roc_auc" in lines[3]) == (data <= MAX_SUMMARY_DATA)

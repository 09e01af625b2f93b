"""A comparison as people read it: in a file, on a terminal, and while it goes on."""

from io import StringIO

import pytest
from comparisons import made, run
from rich.console import Console

from spacelang.bench.comparison import ComparisonResults, IncumbentKind, RunKey, progress
from spacelang.bench.comparison.progress import ComparisonProgress
from spacelang.bench.comparison.ranks import LeadInterval, RankingMethod
from spacelang.bench.comparison.text_report import MAX_INTERVALS, format_leaders, print_comparison
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import TrialRecord


def shown(results: ComparisonResults, *, terminal: bool = False) -> str:
    stream = StringIO()
    print_comparison(results, Console(file=stream, force_terminal=terminal, width=120, highlight=False), verbose=True)
    return stream.getvalue()


def test_medians_quartiles_and_ranks_stand_in_aligned_columns() -> None:
    results = made()
    text = shown(results)
    lines = text.splitlines()
    assert lines[0] == "blds_table1: 3 optimizers, 2 data sets, 4 seeds; 24 runs of 60 s"
    at = lines.index(
        "first: roc_auc (the loss is 1 - roc_auc), models trained on all training rows, median [quartiles]"
    )
    table = lines[at + 1 : at + 5]
    assert len({len(line) for line in table}) == 1
    lower, median, upper = results.quartiles[IncumbentKind.FULL][:, 0, 0, -1]
    assert table[1].endswith(f"{1 - median:.4f} [{1 - upper:.4f}, {1 - lower:.4f}]")
    ranked = {ranking: found[IncumbentKind.ANY].ranks for ranking, found in results.rank_estimates.items()}
    at = lines.index(
        "ranks of mean losses, averaged over 2 data sets, losses that differ by at most 0.001 share a rank; "
        "all trained models"
    )
    value, low, high = (getattr(ranked[RankingMethod.MEAN_LOSSES], name)[0, -1] for name in ("value", "low", "high"))
    assert lines[at + 2].endswith(f"{value:.2f} [{low:.2f}, {high:.2f}]")
    at = next(place for place, line in enumerate(lines) if line.startswith("ranks of runs, averaged over 2 data sets"))
    assert " ".join(lines[at + 1].split()) == "after 0.6 s 6 s 60 s 0.6 s (any) 6 s (any) 60 s (any)"
    assert float(lines[at + 2].split()[-1]) == pytest.approx(ranked[RankingMethod.RUNS].value[0, -1], abs=0.005)
    assert "ahead by the ranks of mean losses" in text
    assert "ahead by the ranks of runs" in text
    assert "\x1b" not in text
    assert not any(line != line.rstrip() for line in lines)


def test_a_terminal_gets_colours_and_the_same_numbers() -> None:
    results = made()
    text = shown(results, terminal=True)
    assert "\x1b[" in text
    assert f"{1 - results.quartiles[IncumbentKind.FULL][1, 0, 0, -1]:.4f} [" in text


def test_names_that_are_markup_or_escape_sequences_are_shown_as_they_are() -> None:
    results = made(data=("[red]x[/red]", "a\x1b[31mb"), optimizers=("alpha", "beta"))
    text = shown(results)
    assert "[red]x[/red]: roc_auc (the loss is 1 - roc_auc)" in text
    assert "\x1b" not in text


def test_one_optimizer_alone_has_no_ranks() -> None:
    text = shown(made(data=("x",), optimizers=("alpha",), seeds=1))
    assert "1 optimizer, 1 data set, 1 seed; 1 run of 60 s" in text
    assert "rank" not in text


def test_it_is_said_over_what_intervals_are_and_what_they_cannot_tell() -> None:
    for data, seeds, told in (
        (4, 2, "by bootstrap over 4 data sets, without correction for multiple comparisons"),
        (4, 2, "up to 60% of other data sets may behave as none of these"),
        (1, 5, "by bootstrap over 5 seeds, without correction for multiple comparisons"),
        (1, 5, "up to 52% of other seeds may behave as none of these"),
        (1, 5, "The intervals do not hold for other data: 1 data set is too few."),
        (2, 3, "The intervals do not hold for other data: 2 data sets are too few."),
        (1, 2, "1 data set and 2 seeds are too few for intervals: every difference of ranks may be noise."),
    ):
        text = shown(made(data=[f"d{place}" for place in range(data)], seeds=seeds, trials=10))
        assert told in text
        assert ("do not hold for other data" in text) is (data < 3 and seeds > 2)
        assert ("\ndifferences of ranks of mean losses" in text) is (seeds > 2 or data > 2)


def test_of_two_it_is_said_who_was_ahead_beyond_noise_and_when_nobody_was() -> None:
    # `a` is ahead on every data set until 3 s, and from then on on every second one.
    runs = [
        run(RunKey(f"d{place}", name, 0), [(1.0, first), (3.0, last + 0.1 * (place % 2) * (1 if name == "a" else -1))])
        for place in range(8)
        for name, first, last in (("a", 0.5, 0.2), ("b", 0.6, 0.3))
    ]
    data = tuple(f"d{place}" for place in range(8))
    text = shown(
        ComparisonResults.from_runs("s", data, ("a", "b"), (0,), tuple(runs), dict.fromkeys(data, "loss"), 60.0)
    )
    at = text.index("differences of ranks of mean losses")
    assert "a and b: a ahead from 1 s to 3.03 s; within noise from 3.03 s to 60 s" in text[at:]


def test_where_two_change_places_often_it_is_said_when_one_was_ahead() -> None:
    scores = {"a": [(2.0**place, 1 / place) for place in range(2, 9)]}
    scores["b"] = [(1.5 * seconds, loss - 0.05) for seconds, loss in scores["a"]]
    data = tuple(f"d{place}" for place in range(6))
    runs = [run(RunKey(name, each, 0), found, until=400.0) for name in data for each, found in scores.items()]
    text = shown(
        ComparisonResults.from_runs("s", data, ("a", "b"), (0,), tuple(runs), dict.fromkeys(data, "loss"), 400.0)
    )
    line = next(line for line in text.splitlines() if "a and b: " in line)
    assert line.startswith("    a and b: a ahead from 4 s to ")
    assert line.endswith("400 s (2 shorter intervals left out); otherwise within noise")
    assert line.count("within noise") == 1


def test_of_many_pairs_those_with_whoever_was_ahead_longest_are_told() -> None:
    names = ("alpha", "beta", "gamma", "delta", "epsilon")
    text = shown(made(optimizers=names, data=("x", "y", "z")))
    told = text[text.index("differences of ranks") :].splitlines()
    assert told[1].endswith(", against alpha, which was ahead longest")
    assert [line.partition(":")[0].strip() for line in told[2:6]] == [f"alpha and {name}" for name in names[1:]]


def test_runs_without_a_score_and_without_a_model_on_all_rows_are_told() -> None:
    runs = [
        run(RunKey("x", "a", 0), [], [(1.0, 0.2)]),
        run(RunKey("x", "b", 0), [], reason="no trial succeeded: boom"),
    ]
    text = shown(ComparisonResults.from_runs("s", ("x",), ("a", "b"), (0,), tuple(runs), {"x": "loss"}, 60.0))
    assert "x, b, seed 0: no trial succeeded: boom" in text
    assert "x, a: in 1 of 1 run no model was trained on all training rows" in text


def test_losses_beyond_one_are_said_to_begin_elsewhere() -> None:
    runs = [run(RunKey("x", "a", 0), [(1.0, 250.0), (2.0, 3.0)])]
    text = shown(ComparisonResults.from_runs("s", ("x",), ("a",), (0,), tuple(runs), {"x": "loss"}, 60.0))
    assert "on x: the worst first score" in text


def test_of_many_intervals_the_longest_are_told() -> None:
    results = made(optimizers=("a", "b"))
    many = [LeadInterval(1.3**n, 1.3 ** (n + 1), ("ab"[n % 2],)) for n in range(20)]
    assert format_leaders(results, many).endswith(f"({20 - MAX_INTERVALS} shorter intervals left out)")
    assert format_leaders(results, [LeadInterval(1, 2, ()), LeadInterval(2, 60, ("a", "b"))]) == "2 s to 60 s all equal"
    assert format_leaders(results, [LeadInterval(1, 60, ())]) == "nobody"
    long_one = [*many[:8], LeadInterval(many[7].end, 10_000.0, ("a",))]
    assert "10,000 s a" in format_leaders(results, long_one)


def test_progress_without_a_terminal_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = StringIO()
    record = TrialRecord(1, Trial(Request(Configuration({})), 0.25), 0.0, 1.0)
    with ComparisonProgress(Console(file=stream, width=40)) as listener:
        listener.data_checked({"x": "1 - r2"})
        listener.runs_planned(6, 2)
        for seed in range(2):
            listener.run_started(RunKey("x", "blds", seed))
            listener.on_start(Budget(60.0))
            for _ in range(40):
                now[0] += 1.0
                listener.on_trial(record, record)
            listener.run_finished(
                run(RunKey("x", "blds", seed), [], reason="boom") if seed else run(RunKey("x", "a", 0), [(1, 0.5)])
            )
    assert stream.getvalue().splitlines() == [
        "2 of 6 runs were already done",
        "2 of 6 runs; x, blds, seed 0: 30 trials, best r2 0.75",
        "3 of 6 runs; x, blds, seed 1: 20 trials, best r2 0.75",
        "x, blds, seed 1: boom",
    ]


def test_progress_on_a_terminal_leaves_nothing_behind() -> None:
    stream = StringIO()
    record = TrialRecord(1, Trial(Request(Configuration({})), None), 0.0, 1.0)
    with ComparisonProgress(Console(file=stream, force_terminal=True, width=100)) as listener:
        listener.runs_planned(1, 0)
        listener.run_started(RunKey("x", "blds", 0))
        listener.on_start(Budget(None, 10))
        listener.on_trial(record, record)
        assert "seed 0: 1 trial" in str(listener._bar.tasks[0].description)
        listener.run_finished(run(RunKey("x", "blds", 0), [(1.0, 0.5)]))
        assert listener._bar.finished
    assert stream.getvalue().endswith("\x1b[2K")

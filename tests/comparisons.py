"""Comparisons for tests: runs with made-up scores."""

from collections.abc import Sequence

import numpy as np

from spacelang.bench.comparison import ComparisonResults, IncumbentKind, RunKey, RunResult, incumbent_curve

Score = tuple[float, float]


def run(
    key: RunKey, full: Sequence[Score], other: Sequence[Score] = (), until: float = 60.0, reason: str = ""
) -> RunResult:
    """A run whose models had these scores: those trained on all rows, and the others."""
    every = [*full, *other]
    curves = {
        IncumbentKind.FULL: incumbent_curve(full, until),
        IncumbentKind.ANY: incumbent_curve(every, until),
    }
    return RunResult(key, curves, len(every), 0, until, "budget", reason or ("" if every else "nothing was tried"))


def made(
    data: Sequence[str] = ("first", "second"),
    optimizers: Sequence[str] = ("alpha", "beta", "gamma disc=2"),
    seeds: int = 4,
    end: float = 60.0,
    trials: int = 30,
) -> ComparisonResults:
    """A comparison in which everybody finds better models in the course of time, the first optimizers sooner."""
    rng = np.random.default_rng(0)
    runs = []
    for name in data:
        for place, optimizer in enumerate(optimizers):
            for seed in range(seeds):
                seconds = np.sort(10 ** rng.uniform(-1.5 + 0.3 * place, np.log10(end), trials)).tolist()
                losses = (0.01 + 0.5 * rng.uniform(0, 1, trials) ** 3).tolist()
                scores = list(zip(seconds, losses, strict=True))
                runs.append(run(RunKey(name, optimizer, seed), scores[5:], scores[:5], end))
    return ComparisonResults.from_runs(
        "blds_table1",
        tuple(data),
        tuple(optimizers),
        tuple(range(seeds)),
        tuple(runs),
        dict.fromkeys(data, "1 - roc_auc"),
        end,
    )

"""Choose the portfolios of the everyday spaces from a measured pool, and check them by leaving one table out.

    python examples/default/portfolio_choice.py POOL collect OUTPUT
    python examples/default/portfolio_choice.py POOL check
    python examples/default/portfolio_choice.py POOL choose spaces
    python examples/default/portfolio_choice.py POOL leave-out FOLDER

POOL is a CSV file with a row for each configuration of the pool on each table; `collect` makes it from the OUTPUT of
`portfolio.py`. `choose` writes `SPACE.portfolio.json` for the kinds of task in `SHIPPED`. `leave-out` writes a
portfolio `TABLE.json` for each of their tables, made without this table and its siblings, for `benchmark.py`. `check`
prints how much these gain over the defaults of the learners, the cheapest first, and then random draws: the ratio of
the smallest losses that were found within some seconds, with the losses and the seconds of the pool. A portfolio is
followed by them, too.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from default.analysis import detectable_difference
from default.portfolio import DRAWS, PACKAGES, USUAL, generic_pool
from default.siblings import siblings

from spacelang.bench.comparison.ranks import bootstrap_mean
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Kind
from spacelang.runtime.archives.creation import Evaluation, choose_portfolio
from spacelang.serialization.portfolio import Portfolio, write_portfolio
from spacelang.starter_spaces.general_purpose import general_purpose_space_name

KINDS: Final[tuple[Kind, ...]] = ("classification", "regression")
SIZE: Final = 16  # The largest number of configurations of a portfolio
PACKAGE_SETS: Final = (PACKAGES, ("lightgbm",), ("xgboost",), ())
"""The sets of packages whose learners join the everyday spaces, for which portfolios are checked."""
SHIPPED: Final[dict[Kind, tuple[tuple[str, ...], ...]]] = {"classification": (PACKAGES, ("lightgbm",))}
"""The kinds of task and the sets of packages whose portfolios gain beyond noise, according to `check`."""
CHECKED_SECONDS: Final = (3.0, 10.0, 30.0)  # The seconds after which the gain over the defaults is checked
SMALLEST_LOSS: Final = 1e-4  # Smaller losses are not told apart


@dataclass(frozen=True, slots=True)
class PoolTable:
    """The evaluations of the pool on a table, by number of the configuration."""

    name: str
    kind: Kind
    evaluations: Mapping[int, Evaluation]


def collect(folder: Path, pool: Path) -> None:
    """Write the measurements of a folder to a CSV file."""
    rows = [
        (path.stem, document["kind"], number, loss, seconds, status)
        for path in sorted(folder.glob("*.json"))
        for document in [json.loads(path.read_text(encoding="utf-8"))]
        for number, (loss, seconds, status) in enumerate(document["trials"])
    ]
    columns = ["table", "kind", "configuration", "loss", "seconds", "status"]
    pd.DataFrame(rows, columns=columns).to_csv(pool, index=False, float_format="%.6g")


def read_pool(path: Path) -> list[PoolTable]:
    """Return the tables of a pool."""
    rows: Any = pd.read_csv(path)
    return [
        PoolTable(
            name,
            kind,
            {
                int(number): Evaluation(None if np.isnan(loss) else float(loss), float(seconds))
                for number, loss, seconds in zip(found["configuration"], found["loss"], found["seconds"], strict=True)
            },
        )
        for (name, kind), found in rows.groupby(["table", "kind"])
    ]


def numbers_with(members: Sequence[Configuration], packages: Iterable[str]) -> list[int]:
    """Return the numbers of the configurations whose learner does not need another package than these."""
    lacking = {*PACKAGES} - {*packages}
    return [number for number, each in enumerate(members) if each["estimator"] not in lacking]


def choose_numbers(tables: Iterable[PoolTable], numbers: Iterable[int]) -> list[int]:
    """Return the numbers of the chosen configurations, in the order to try them."""
    wanted = {*numbers}
    kept = [{number: each for number, each in t.evaluations.items() if number in wanted} for t in tables]
    return [each.configuration for each in choose_portfolio(kept, SIZE)]


def make_portfolio(tables: Sequence[PoolTable], kind: Kind) -> Portfolio:
    """Return the portfolio of a kind of task, with a list for each set of packages."""
    members = generic_pool(kind)
    lists = (choose_numbers(tables, numbers_with(members, packages)) for packages in SHIPPED[kind])
    return Portfolio(general_purpose_space_name(kind), tuple(tuple(members[each] for each in some) for some in lists))


def tables_without(tables: Iterable[PoolTable], left_out: PoolTable) -> list[PoolTable]:
    """Return the tables of the same kind without a table and its siblings."""
    names = {left_out.name, *siblings(left_out.name)}
    return [each for each in tables if each.kind == left_out.kind and each.name not in names]


def best_loss(table: PoolTable, order: Iterable[int], seconds: float) -> float | None:
    """Return the smallest loss of the configurations that can be evaluated one after the other within some seconds."""
    best, spent = None, 0.0
    for number in order:
        found = table.evaluations[number]
        spent += found.seconds
        if spent > seconds:
            break
        if found.loss is not None and (best is None or found.loss < best):
            best = found.loss
    return best


def order_without_portfolio(table: PoolTable, packages: Iterable[str]) -> list[int]:
    """Return the numbers of the defaults, the cheapest first on this table, and then those of the random draws."""
    members = generic_pool(table.kind)
    known = numbers_with(members, packages)
    draws = len(members) - DRAWS
    defaults = [number for number in known if number < draws - len(USUAL[table.kind])]
    by_cost = sorted(defaults, key=lambda number: table.evaluations[number].seconds)
    return [*by_cost, *(number for number in known if number >= draws)]


def gains(tables: Sequence[PoolTable], packages: Sequence[str], seconds: float) -> Iterator[tuple[str, float]]:
    """Yield the log ratio of the smallest losses with a portfolio and without one, for each table."""
    for table in tables:
        chosen = choose_numbers(tables_without(tables, table), numbers_with(generic_pool(table.kind), packages))
        others = order_without_portfolio(table, packages)
        found = best_loss(table, [*dict.fromkeys([*chosen, *others])], seconds)
        other = best_loss(table, others, seconds)
        if found is not None and other is not None:
            yield table.name, log(max(found, SMALLEST_LOSS) / max(other, SMALLEST_LOSS))


def check(tables: Sequence[PoolTable]) -> None:
    """Print the gains of portfolios that were made without a table and its siblings."""
    print("| kind of task | learners of | seconds | mean log ratio of losses [95 %] | detectable | smaller loss on |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in KINDS:
        own = [each for each in tables if each.kind == kind]
        for packages in PACKAGE_SETS:
            for seconds in CHECKED_SECONDS:
                values = np.array([gain for _, gain in gains(own, packages, seconds)])
                mean = bootstrap_mean(values)
                interval = f"{float(mean.value):.3f} [{float(mean.low):.3f}, {float(mean.high):.3f}]"
                names, smaller = " and ".join(packages) or "scikit-learn", f"{(values < 0).sum()} of {len(values)}"
                print(
                    f"| {kind} | {names} | {seconds:g} | {interval} | {detectable_difference(values):.3f} | {smaller} |"
                )


def main() -> None:
    """Perform one of the actions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pool", type=Path)
    parser.add_argument("action", choices=["collect", "check", "choose", "leave-out"])
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    options = parser.parse_args()
    if options.action == "collect":
        collect(options.folder, options.pool)
        return
    tables = read_pool(options.pool)
    if options.action == "check":
        check(tables)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.action == "choose":
        for kind in SHIPPED:
            portfolio = make_portfolio([each for each in tables if each.kind == kind], kind)
            write_portfolio(portfolio, options.folder / f"{portfolio.space}.portfolio.json")
    else:
        for table in (each for each in tables if each.kind in SHIPPED):
            made = make_portfolio(tables_without(tables, table), table.kind)
            write_portfolio(made, options.folder / f"{table.name}.json")


if __name__ == "__main__":
    main()

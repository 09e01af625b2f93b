"""Measure long searches: processor time and memory of a search of up to 20,000 trials by each optimizer.

    python tests/torture/soak.py [OPTIMIZER ...] [--interfaces search ask_and_tell] [--trials 20000] [--limit 600]
    python tests/torture/soak.py --workers [--trials 20000]
    python tests/torture/soak.py --table

Every measurement runs in a process of its own, and its rows are added to `soak.csv` (`--output`) when it has ended. A
measurement that is in the file is not repeated: interrupt the script at will, and start it again. The objective takes
microseconds, so the times are those of the optimizer, the loop and the store. Optimizers that need 10 ms or more for a
trial after 1,000 trials stop after 5,000 trials, SMAC after 2,000. `search` has a store and is resumed for one more
trial once it has ended; the time of that is measured, too. A search that takes more than `--limit` seconds of
processor time ends early, and is measured anew by the next call. `--workers` measures 16 workers on trials of 10 ms, in
seconds of the clock. The script asserts nothing.
"""

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import psutil

import spacelang as sl
from spacelang.optimizers import OPTIMIZERS

RESULTS: Final = Path(__file__).with_name("soak.csv")
COLUMNS: Final = ("optimizer", "interface", "trials", "seconds", "ms_per_trial", "memory_mb", "is_last", "note")
TRIALS: Final = 20_000
SLOW_MS: Final = 10.0  # The time for a trial from which on a search is shorter, in milliseconds
SLOW_AT: Final = 1_000  # The number of trials after which that is decided
FEWER: Final[Mapping[str, int]] = {"smac": 2_000}
SLOW_TRIALS: Final = 5_000
INTERFACES: Final = ("search", "ask_and_tell")
RESUMED: Final = ", resumed"  # The suffix of the interface in the row of a resumption
LEFT_OUT: Final = frozenset({"random_forest_tpe", "select_best"})
"""Optimizers that are `tpe` on a part of a space, or that end after every model was tried once."""
MARKS: Final = frozenset({"10", "100", "1000", "2000", "5000", "10000", str(TRIALS)})
"""The numbers of trials that have a row."""
SELECTORS: Final = frozenset({"blds", "bo", "cmab", "daub", "enumerate", "lds", "mlds"})
"""Optimizers that select pipelines at their default hyperparameters."""
PIPELINES: Final = (
    "space pipelines\n"
    + "".join(f"abstract {letter}{stage}\n" for stage in range(5) for letter in "ABCDEFGH")
    + "".join(f"stage s{n} = " + " | ".join(f"{letter}{n}" for letter in "ABCDEFGH") + "\n" for n in range(5))
)
"""32,768 pipelines without hyperparameters."""
RANGES: Final = """\
space ranges
abstract line { slope : float[-1, 1], offset : float[0, 1], kind : {plain, bent} }
abstract wave { height : float[0.01, 10] log, length : float[1, 100] log, turns : int[1, 20] }
abstract step { count : int[1, 500] log, width : float[0, 1] }
stage filter = none | line | wave
stage curve = line | wave | step
"""
"""Nine structures with up to six hyperparameters."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing in the file of results, the optimizers in the given order."""
    options = parse(arguments)
    if options.measure:
        measure(*options.measure[:2], options.trials, options.limit, Path(options.measure[2]))
        return
    if options.table:
        print_table(read_rows(options.output))
        return
    if options.workers:
        add_measurement("random", "16 workers", options)
    else:
        for name in options.optimizers or [each for each in OPTIMIZERS.names() if each not in LEFT_OUT]:
            for interface in options.interfaces:
                add_measurement(name, interface, options)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("optimizers", nargs="*", metavar="OPTIMIZER", help="names of optimizers; by default all")
    parser.add_argument("--interfaces", nargs="+", default=INTERFACES, choices=INTERFACES)
    parser.add_argument("--trials", type=int, default=TRIALS, help="the maximum number of trials")
    parser.add_argument("--limit", type=float, default=600.0, help="the maximum processor seconds of a search")
    parser.add_argument("--workers", action="store_true", help="measure 16 workers on trials of 10 ms")
    parser.add_argument("--table", action="store_true", help="print the results as a table in Markdown")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of results")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


# ---- the measurements


def add_measurement(name: str, interface: str, options: argparse.Namespace) -> None:
    """Run a measurement in a new process and add its rows to the results, unless they are there."""
    ends = [row for row in read_rows(options.output) if is_of(row, name, interface) and row["is_last"]]
    if ends and not any(row["note"].startswith("stopped") for row in ends):
        return
    with tempfile.TemporaryDirectory() as folder:
        limits = ["--trials", str(options.trials), "--limit", str(options.limit)]
        rows = list(run_process([sys.executable, __file__, *limits, "--measure", name, interface, folder]))
    others = [row for row in read_rows(options.output) if not is_of(row, name, interface)]
    write_rows(options.output, [*others, *rows])


def is_of(row: Mapping[str, str], name: str, interface: str) -> bool:
    """Return True for rows of a measurement, and of the resumption at its end."""
    return row["optimizer"] == name and row["interface"].removesuffix(RESUMED) == interface


def run_process(command: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the rows that a process prints at the marks and at its end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last: dict[str, str] = {}
        for line in process.stdout:
            last = {column: str(value) for column, value in json.loads(line).items()}
            if last["trials"] in MARKS or last["is_last"]:
                print("  ".join(last.values()), flush=True)
                yield last
    if process.returncode and not last.get("is_last"):
        yield last | {"is_last": "yes", "note": f"stopped with status {process.returncode}"}


def measure(name: str, interface: str, trials: int, seconds: float, folder: Path) -> None:
    """Print the rows of a measurement: the main function of its process."""
    meter = Meter(name, interface, min(trials, FEWER.get(name, trials)), seconds)
    space = sl.parse(PIPELINES if name in SELECTORS else RANGES)
    store = folder / "run.db"
    if interface == "ask_and_tell":
        with sl.ask_and_tell(space, optimizer=name, trials=trials) as search:
            for asked in takewhile(lambda _: not meter.is_over, search):
                asked.tell(loss_of(asked.configuration))
                meter.count()
        meter.end()
        return
    if interface == "16 workers":
        given: dict[str, Any] = {"workers": 16, "objective": slow_loss_of}
    else:
        given = {"workers": 0, "objective": loss_of}
    sl.search(space, optimizer=name, trials=trials, store=store, callbacks=[meter], **given)
    meter.end()
    before, wall = time.process_time(), time.perf_counter()
    resumed = sl.search(space, optimizer=name, trials=meter.trials + 1, store=store, resume=True, **given)
    seconds = time.process_time() - before if interface == "search" else time.perf_counter() - wall
    meter.tell(interface + RESUMED, len(resumed.trials), seconds, is_last=True)


class Meter:
    """A counter of trials that prints a row at each mark; as a callback it stops a search that is long enough."""

    def __init__(self, name: str, interface: str, trials: int, seconds: float) -> None:
        """Create a counter for at most some trials or, tested every 100 trials, seconds."""
        self._name, self._interface, self._limit, self._max_seconds = name, interface, trials, seconds
        self._is_late = False
        self._is_parallel = interface == "16 workers"
        self._times = [self._now()]
        self._process = psutil.Process()
        self._is_told = False

    @property
    def trials(self) -> int:
        """The number of trials so far."""
        return len(self._times) - 1

    @property
    def is_over(self) -> bool:
        """Return True if there were enough trials, or if they took too long."""
        return self._is_late or self.trials >= self._limit

    def __call__(self, *_: object) -> bool:
        """Count a trial; return True to stop the search."""
        self.count()
        return self.is_over

    def count(self) -> None:
        """Count a trial, and print a row if it is one of the marks."""
        self._times.append(self._now())
        if self.trials == SLOW_AT and self._recent_ms() >= SLOW_MS and not self._is_parallel:
            self._limit = min(self._limit, SLOW_TRIALS)
        if self.trials % 100 == 0 or str(self.trials) in MARKS:
            seconds = self._times[-1] - self._times[0]
            self._is_late = seconds > self._max_seconds and self.trials < self._limit
            note = f"stopped: more than {self._max_seconds:g} s" if self._is_late else ""
            self.tell(self._interface, self.trials, seconds, is_last=self.is_over, note=note)

    def end(self) -> None:
        """Print the last row of a search that has ended before the last mark."""
        if not self._is_told:
            note = "it has no more requests"
            self.tell(self._interface, self.trials, self._times[-1] - self._times[0], is_last=True, note=note)

    def tell(self, interface: str, trials: int, seconds: float, *, is_last: bool, note: str = "") -> None:
        """Print a row."""
        self._is_told = is_last
        memory = self._process.memory_info().rss / 1e6
        each = seconds / max(trials, 1) * 1000 if interface.endswith(RESUMED) else self._recent_ms()
        last = "yes" if is_last else ""
        row = (self._name, interface, trials, f"{seconds:.2f}", f"{each:.3f}", f"{memory:.0f}", last, note)
        print(json.dumps(dict(zip(COLUMNS, row, strict=True))), flush=True)

    def _now(self) -> float:
        return time.perf_counter() if self._is_parallel else time.process_time()

    def _recent_ms(self) -> float:
        """Return the mean milliseconds of a trial among the last tenth of all trials."""
        recent = max(self.trials // 10, 1)
        return (self._times[-1] - self._times[-1 - min(recent, self.trials)]) / recent * 1000


def loss_of(configuration: Mapping[str, Any]) -> float:
    """Return a loss between 0 and 1: a smooth function of the numbers, and a bit of noise from a hash of everything."""
    noise = crc32(repr(sorted(configuration.items())).encode()) / 2**32
    numbers = [float(value) for value in configuration.values() if isinstance(value, int | float)]
    bowl = sum((math.tanh(number) - 0.3) ** 2 for number in numbers) / max(len(numbers), 1)
    return 0.8 * min(bowl, 1.0) + 0.2 * noise


def slow_loss_of(configuration: Mapping[str, Any]) -> float:
    """Return the loss after 10 ms."""
    time.sleep(0.01)
    return loss_of(configuration)


# ---- the results


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return all rows of the results; none without a file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    """Write the results, ordered by optimizer and interface."""
    ordered = sorted(rows, key=lambda row: (row["optimizer"], row["interface"], int(row["trials"])))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)


def print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """Print one line of a Markdown table for each optimizer and interface."""
    marks = (100, 1_000, 10_000)
    print("| optimizer | interface | trials | " + " | ".join(f"ms at {mark:,}" for mark in marks), end="")
    print(" | ms at the end | MB at 1,000 | MB at the end | resumed in s |\n|" + " --- |" * 10)
    keys = dict.fromkeys((row["optimizer"], row["interface"]) for row in rows if not row["interface"].endswith(RESUMED))
    for name, interface in keys:
        found = {int(row["trials"]): row for row in rows if (row["optimizer"], row["interface"]) == (name, interface)}
        resumed = [row for row in rows if (row["optimizer"], row["interface"]) == (name, interface + RESUMED)]
        end = found[max(found)]
        times = [cell(found.get(mark), "ms_per_trial") for mark in (*marks, max(found))]
        memory = [cell(found.get(1_000), "memory_mb"), cell(end, "memory_mb")]
        cells = [*times, *memory, cell(resumed[0] if resumed else None, "seconds")]
        print(f"| `{name}` | {interface} | {max(found):,} | " + " | ".join(cells) + " |")


def cell(row: Mapping[str, str] | None, column: str) -> str:
    """Return a value of a row with three digits; nothing without the row."""
    return "" if row is None else f"{float(row[column]):.3g}"


if __name__ == "__main__":
    main()

"""Measure how fast spaces are compiled, encoded and decoded: prints times, and ratios to reading the text.

    python tests/benchmarks/targets.py [--quick] [--pcs FILE]

A ratio below 1 means that compiling takes less time than reading and checking the text of the space. Library objects of
exported forms are created on first use, which is measured separately. `wide` has 12 stages of 10 alternatives each,
which are 10^12 structures. `--pcs` is the file of the MOSAIC space, by default the one next to this repository; without
it only bundled spaces are measured.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import spacelang
from spacelang.api.space import Space
from spacelang.targets import TARGETS

PCS: Final = Path(__file__).parents[3] / "shared" / "data" / "pcs" / "mosaic_1_0.pcs"
ROUNDS: Final = 5
ALPHABET: Final = "ABCDEFGHIJ"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="small sizes, to check only that the benchmark runs")
    options.add_argument("--pcs", type=Path, default=PCS, help="file of the MOSAIC space")
    chosen = options.parse_args(arguments)
    rounds, size = (1, 100) if chosen.quick else (ROUNDS, 10_000)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; best of {rounds}, processor time")
    for label, read in list_spaces(chosen.pcs, quick=chosen.quick):
        reading, space = time_best(read, rounds)
        print(f"\n{label}: {space.structures:,} structures, read and checked in {reading * 1000:.1f} ms")
        print("  target       compiled   of reading   first sample")
        for name in TARGETS.names():
            print(f"  {name:<12}{measure_compiling(space, name, rounds, reading)}")
        for name in ("admm", "mosaic"):
            print(f"  {measure_coding(space, name, size)}")


def list_spaces(pcs: Path, *, quick: bool) -> Iterator[tuple[str, Callable[[], Space]]]:
    """Yield the name of each space and a function that reads it."""
    yield "admm_table_a2", lambda: spacelang.load("admm_table_a2")
    if quick:
        return
    yield "mosaic", lambda: spacelang.load("mosaic")
    if pcs.exists():
        yield pcs.name, lambda: spacelang.import_space(pcs).space
    yield "wide", lambda: spacelang.parse(write_wide_space())


def write_wide_space() -> str:
    """Return the text of twelve stages of ten alternatives, with one constraint over two stages."""
    names = [f"{letter}{stage}" for stage in range(12) for letter in ALPHABET]
    abstract = "\n".join(f"abstract {name} {{ p : float[0, 1] }}" for name in names)
    stages = "\n".join(f"stage s{n} = {' | '.join(names[10 * n : 10 * n + 10])}" for n in range(12))
    return f"space wide\n{abstract}\n{stages}\nforbid s0 is A0 and s1 is B1\n"


def measure_compiling(space: Space, name: str, rounds: int, reading: float) -> str:
    """Return a text with the time to compile the space, and to compile it and draw one sample."""
    try:
        seconds, form = time_best(lambda: space.compile(name), rounds)
    except spacelang.SpaceError as error:
        return f"refused: {error.diagnostics[0].message}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries may warn on first use
        drawing, _ = time_best(lambda: form.sample(1, np.random.default_rng(0)), 1)
    return f"{seconds * 1000:>8.1f} ms {seconds / reading:>12.2f} {drawing * 1000:>11.1f} ms"


def measure_coding(space: Space, name: str, size: int) -> str:
    """Return a text with the time to encode and to decode many configurations together."""
    form: Any = space.compile(name).form
    configurations = space.sample(size, seed=0)
    down, encoded = time_best(lambda: form.encode_all(configurations), 1)
    up, decoded = time_best(lambda: form.decode_all(encoded), 1)
    assert list(decoded) == configurations
    return f"{name}: {size:,} configurations encoded in {down:.2f} s, decoded in {up:.2f} s"


def time_best(action: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the seconds of the fastest repetition, and the last result."""
    times, result = [], None
    for _ in range(rounds):
        started = time.process_time()
        result = action()
        times.append(time.process_time() - started)
    return min(times), result


if __name__ == "__main__":
    main()

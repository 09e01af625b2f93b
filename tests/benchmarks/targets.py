"""How fast spaces are compiled, encoded and decoded: prints figures, and ratios to reading the same text in this run.

    python tests/benchmarks/targets.py [--quick] [--pcs FILE]

A ratio below 1 says that compiling takes less than reading and checking the text of the space. The library objects of
the exported forms are made when they are first asked for: that is measured beside it. `wide` has 12 stages of 10
alternatives each: 10^12 structures. `--pcs` names the file of the MOSAIC space, by default the one beside this
repository; without it only the bundled spaces are measured.
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
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="small sizes: that it runs, not how fast")
    options.add_argument("--pcs", type=Path, default=PCS, help="the MOSAIC space")
    chosen = options.parse_args(arguments)
    rounds, size = (1, 100) if chosen.quick else (ROUNDS, 10_000)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; best of {rounds}, processor time")
    for label, read in spaces(chosen.pcs, quick=chosen.quick):
        reading, space = best(read, rounds)
        print(f"\n{label}: {space.structures:,} structures, read and checked in {reading * 1000:.1f} ms")
        print("  target       compiled   of reading   first sample")
        for name in TARGETS.names():
            print(f"  {name:<12}{compiled(space, name, rounds, reading)}")
        for name in ("admm", "mosaic"):
            print(f"  {coded(space, name, size)}")


def spaces(pcs: Path, *, quick: bool) -> Iterator[tuple[str, Callable[[], Space]]]:
    """What is compiled, and how it is read."""
    yield "admm_table_a2", lambda: spacelang.load("admm_table_a2")
    if quick:
        return
    yield "mosaic", lambda: spacelang.load("mosaic")
    if pcs.exists():
        yield pcs.name, lambda: spacelang.import_space(pcs).space
    yield "wide", lambda: spacelang.parse(wide())


def wide() -> str:
    """Twelve stages of ten alternatives, two of them tied to each other."""
    names = [f"{letter}{stage}" for stage in range(12) for letter in ALPHABET]
    abstract = "\n".join(f"abstract {name} {{ p : float[0, 1] }}" for name in names)
    stages = "\n".join(f"stage s{n} = {' | '.join(names[10 * n : 10 * n + 10])}" for n in range(12))
    return f"space wide\n{abstract}\n{stages}\nforbid s0 is A0 and s1 is B1\n"


def compiled(space: Space, name: str, rounds: int, reading: float) -> str:
    """How long compiling takes, and compiling with one sample drawn by the form's own means."""
    try:
        seconds, form = best(lambda: space.compile(name), rounds)
    except spacelang.SpaceError as error:
        return f"refused: {error.diagnostics[0].message}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries that are made for the first time tell of themselves
        drawing, _ = best(lambda: form.sample(1, np.random.default_rng(0)), 1)
    return f"{seconds * 1000:>8.1f} ms {seconds / reading:>12.2f} {drawing * 1000:>11.1f} ms"


def coded(space: Space, name: str, size: int) -> str:
    """How long it takes to encode and to decode many configurations together."""
    form: Any = space.compile(name).form
    configurations = space.sample(size, seed=0)
    down, encoded = best(lambda: form.encode_all(configurations), 1)
    up, decoded = best(lambda: form.decode_all(encoded), 1)
    assert list(decoded) == configurations
    return f"{name}: {size:,} configurations encoded in {down:.2f} s, decoded in {up:.2f} s"


def best(action: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """The least processor time that an action takes, and what it gave last."""
    times, result = [], None
    for _ in range(rounds):
        started = time.process_time()
        result = action()
        times.append(time.process_time() - started)
    return min(times), result


if __name__ == "__main__":
    main()

"""How fast the front end is: prints seconds, memory and ratios to a peer of the same run.

    python tests/benchmarks/front_end.py

Peers: an interpreter that imports Lark for the command, Lark's own tree building for parsing, half of the chain for a
chain of conditions. Seconds are those of the processor, so that other programs of the machine matter little.

On a quiet machine of two cores, Python 3.11: a check of a bundled space takes 1.3 to 2.4 times the import of Lark
(`admm_table_a2` 2.4, `mosaic` 2.2). Chains of 100, 200, 400 and 800 conditions take 0.21, 0.38, 0.63 and 1.32 s. A
thousand alternatives of ten hyperparameters are parsed and checked in 1.3 s, with conditions on a sibling in 1.7 s, on
another stage in 1.7 to 2.4 s (repetitions differ so much; 250 and 500 take 0.5 and 1.05 s), on a hyperparameter of that
stage in 1.8 s, and take 28 to 34 MiB; parsing is 0.6 to 0.8 of Lark's trees. A `forbid` in each body, each a network of
its own, makes it 16 s and 192 MiB, 11 to 17 ms an alternative.
"""

import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from resource import RUSAGE_CHILDREN, getrusage

import spacelang
from spacelang.analysis import check
from spacelang.cli import OBJECTS_BETWEEN_COLLECTIONS
from spacelang.syntax.parser import parse
from spacelang.syntax.sources import bundled
from spacelang.syntax.tables import by_lark
from spacelang.text import Source

REPEATS = 7


def main() -> None:
    """Print all figures; garbage is collected as seldom as by the command."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}")
    peer = shell(["-c", "import lark"])
    print(f"an interpreter that imports lark: {peer * 1000:.0f} ms")
    for name in bundled():
        seconds = shell(["-m", "spacelang", "check", name])
        print(f"check {name} from the shell: {seconds * 1000:.0f} ms = {seconds / peer:.1f} times the import of lark")
    chains()
    for variant in VARIANTS:
        for alternatives in (250, 500, 1000):
            grow(alternatives, variant)


def shell(arguments: list[str]) -> float:
    """The least seconds of a Python command."""
    return min(timed(lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)))


def chains() -> None:
    """Chains of conditions, each twice as long as the one before: a ratio of 2 is linear."""
    before = None
    for length in (100, 200, 400, 800):
        source = Source("chain", chain(length))
        seconds = min(timed(lambda source=source: check(source), 2))  # type: ignore[misc]
        ratio = "" if before is None else f" = {seconds / before:.1f} times half of it"
        print(f"a chain of {length} conditions: {seconds:.2f} s{ratio}")
        before = seconds


def chain(length: int) -> str:
    """A body in which every hyperparameter is there for some values of the one before."""
    members = [f"  x{number} : int[0, 9] = 5 when x{number - 1} > 2" for number in range(1, length)]
    return "\n".join(["abstract A", "stage e = A {", "  x0 : int[0, 9] = 5", *members, "}"])


def grow(alternatives: int, variant: str) -> None:
    """Parsing and checking of a large space: time, peak memory of Python objects, ratio to Lark's trees."""
    source = Source("large", large(alternatives, variant))
    plain = by_lark()
    peer = min(timed(lambda: plain.parse(source.text), 2))
    parsing = min(timed(lambda: parse(source), 2))
    checking = min(timed(lambda: check(source), 2))
    tracemalloc.start()
    checked = check(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert checked.space is not None, checked.diagnostics[:3]
    print(
        f"{alternatives} alternatives, {10 * alternatives} hyperparameters {variant}: parse {parsing:.2f} s"
        f" ({parsing / peer:.2f} of Lark's trees), parse and check {checking:.2f} s"
        f" = {checking / alternatives * 1000:.2f} ms an alternative, peak {peak / 2**20:.0f} MiB"
    )


VARIANTS = {
    "without conditions": ("", ""),
    "with conditions on a sibling": (" when bootstrap", ""),
    "with conditions on another stage": (" when scaler is none", ""),
    "with conditions on a hyperparameter of another stage": (" when scaler.KBinsDiscretizer.n_bins > 5", ""),
    "with a `forbid` in each body": ("", "forbid bootstrap and max_samples > 0.5 and min_samples_leaf > max_depth"),
}
"""What is said of three of the hyperparameters, and what stands besides in each body."""


def large(alternatives: int, variant: str) -> str:
    """A space of that many alternatives with ten hyperparameters each, and a stage before them."""
    when, rule = VARIANTS[variant]
    body = f"""
      n_estimators : int[10, 500] log = 100
      criterion : {{gini, entropy}} = gini
      max_depth : {{none}} | int[2, 50] = none
      min_samples_split : int[2, 20] = 2{when}
      min_samples_leaf : int[1, 20] = 1{when}
      max_features : float(0, 1] = 0.5
      bootstrap : bool = true
      max_samples : float[0.1, 1] = 0.5{when}
      min_impurity_decrease : float[0, 0.1] = 0
      ccp_alpha : float[0, 0.1] = 0
      {rule}
    """
    start = "space large\nstage scaler = none | KBinsDiscretizer { n_bins : int[2, 9] = 5 }\nstage estimator ="
    return start + "".join(
        f"\n  | RandomForestClassifier as forest{number} {{{body}}}" for number in range(alternatives)
    )


def timed(action: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Seconds of each repetition."""
    seconds = []
    for _ in range(repeats):
        started = processor()
        action()
        seconds.append(processor() - started)
    return seconds


def processor() -> float:
    """The processor's seconds of this process and of those that it waited for."""
    ended = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


if __name__ == "__main__":
    main()

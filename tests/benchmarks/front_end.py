"""Measure the front end: seconds, memory, and ratios to a reference in the same run.

    python tests/benchmarks/front_end.py

The references are: for the command, a Python process that imports Lark; for parsing, Lark's own tree building; for a
chain of conditions, a chain of half the length. Times are processor times, so that other load on the machine matters
little.

On two cores without other load, Python 3.11: checking a bundled space takes 1.3 to 2.4 times the import of Lark
(`admm_table_a2` 2.4, `mosaic` 2.2). Chains of 100, 200, 400 and 800 conditions take 0.21, 0.38, 0.63 and 1.32 s. A
thousand alternatives of ten hyperparameters are parsed and checked in 1.3 s. With conditions on a sibling this takes
1.7 s. With conditions on another stage it takes 1.7 to 2.4 s in different repetitions (250 and 500 alternatives take
0.5 and 1.05 s), and on a hyperparameter of that stage 1.8 s. These spaces take 28 to 34 MiB; parsing is 0.6 to 0.8 of
Lark's trees. With a `forbid` in each body, which is a separate network each, it takes 16 s and 192 MiB, 11 to 17 ms per
alternative.
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
from spacelang.syntax.parser_tables import lark_parser
from spacelang.syntax.sources import bundled_names
from spacelang.text import Source

REPEATS = 7


def main() -> None:
    """Print all measurements, with the garbage collector configured as in the command."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}")
    reference = time_command(["-c", "import lark"])
    print(f"importing lark in a new process: {reference * 1000:.0f} ms")
    for name in bundled_names():
        seconds = time_command(["-m", "spacelang", "check", name])
        print(
            f"check {name} from the shell: {seconds * 1000:.0f} ms = {seconds / reference:.1f} times the import of lark"
        )
    measure_chains()
    for variant in VARIANTS:
        for alternatives in (250, 500, 1000):
            measure_large_space(alternatives, variant)


def time_command(arguments: list[str]) -> float:
    """Return the smallest seconds of a Python command."""
    return min(time_repeats(lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)))


def measure_chains() -> None:
    """Measure chains of conditions, each twice as long as the previous one; a ratio of 2 is linear."""
    before = None
    for length in (100, 200, 400, 800):
        source = Source("chain", write_chain(length))
        seconds = min(time_repeats(lambda source=source: check(source), 2))  # type: ignore[misc]
        ratio = "" if before is None else f" = {seconds / before:.1f} times that of half the length"
        print(f"a chain of {length} conditions: {seconds:.2f} s{ratio}")
        before = seconds


def write_chain(length: int) -> str:
    """Return the text of a body in which each hyperparameter has a condition on the previous one."""
    members = [f"  x{number} : int[0, 9] = 5 when x{number - 1} > 2" for number in range(1, length)]
    return "\n".join(["abstract A", "stage e = A {", "  x0 : int[0, 9] = 5", *members, "}"])


def measure_large_space(alternatives: int, variant: str) -> None:
    """Measure parsing and checking of a large space: time, peak memory, and ratio to Lark's trees."""
    source = Source("large", write_large_space(alternatives, variant))
    plain = lark_parser()
    reference = min(time_repeats(lambda: plain.parse(source.text), 2))
    parsing = min(time_repeats(lambda: parse(source), 2))
    checking = min(time_repeats(lambda: check(source), 2))
    tracemalloc.start()
    checked = check(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert checked.space is not None, checked.diagnostics[:3]
    print(
        f"{alternatives} alternatives, {10 * alternatives} hyperparameters {variant}: parse {parsing:.2f} s"
        f" ({parsing / reference:.2f} of Lark's trees), parse and check {checking:.2f} s"
        f" = {checking / alternatives * 1000:.2f} ms per alternative, peak {peak / 2**20:.0f} MiB"
    )


VARIANTS = {
    "without conditions": ("", ""),
    "with conditions on a sibling": (" when bootstrap", ""),
    "with conditions on another stage": (" when scaler is none", ""),
    "with conditions on a hyperparameter of another stage": (" when scaler.KBinsDiscretizer.n_bins > 5", ""),
    "with a `forbid` in each body": ("", "forbid bootstrap and max_samples > 0.5 and min_samples_leaf > max_depth"),
}
"""The condition of three hyperparameters and the constraint of each body, by variant."""


def write_large_space(alternatives: int, variant: str) -> str:
    """Return the text of a space with many alternatives of ten hyperparameters, and a stage before them."""
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


def time_repeats(action: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Return the seconds of each repetition."""
    seconds = []
    for _ in range(repeats):
        started = processor_seconds()
        action()
        seconds.append(processor_seconds() - started)
    return seconds


def processor_seconds() -> float:
    """Return the processor seconds of this process and of its finished child processes."""
    ended = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


if __name__ == "__main__":
    main()

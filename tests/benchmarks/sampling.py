"""Measure how fast spaces are built, counted and sampled: prints rates, and ratios to ConfigSpace.

    python tests/benchmarks/sampling.py [--quick] [--pcs FILE]

`--pcs` is the file of the MOSAIC space, by default the one next to this repository; without it only bundled spaces are
measured. ConfigSpace has the same decisions, hyperparameters and forbidden pairs of alternatives. It has no conditions
on values and no constraints over values, which is an advantage for it. Its vectors are the results of
`sample_configuration`; its dictionaries are these results, converted with `dict`.
"""

import argparse
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import spacelang
from spacelang.analysis import check
from spacelang.ir.domain import Categorical, Grid, SimpleDomain, parts
from spacelang.ir.expr import And, BranchTest
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.sampling.neighbours import Neighbourhood
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.syntax.sources import read_source
from spacelang.text import Source

try:
    import ConfigSpace
    from ConfigSpace.util import get_one_exchange_neighbourhood
except ImportError:
    ConfigSpace = None

ROUNDS, CENTRES = 7, 40
"""The number of rounds, and of configurations per round, whose neighbours are measured."""
PCS = Path(__file__).parents[3] / "shared" / "data" / "pcs" / "mosaic_1_0.pcs"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="small sizes, to check only that the benchmark runs")
    options.add_argument("--pcs", type=Path, default=PCS, help="file of the MOSAIC space")
    chosen = options.parse_args(arguments)
    size = 2_000 if chosen.quick else 1_000_000
    peer = (
        "ConfigSpace is not installed: no ratios" if ConfigSpace is None else f"ConfigSpace {ConfigSpace.__version__}"
    )
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}, {peer}")
    for name in ("admm_table_a2",) if chosen.quick else ("admm_table_a2", "mosaic"):
        space = spacelang.load(name).checked
        measure(name, space, (lambda space=space: make_configuration_space(space)), size)
    if chosen.pcs.exists():
        measure_imported(chosen.pcs, size)
    else:
        print(f"skipped the imported MOSAIC space: the file {chosen.pcs} does not exist")
    measure_front_end("admm_table_a2")
    measure_growth(chosen.quick)
    measure_conditions(50 if chosen.quick else 500)
    measure_counting()


def measure_imported(path: Path, size: int) -> None:
    """Measure an imported PCS file, which ConfigSpace reads itself."""
    from spacelang.importers._import_steps import import_space

    imported, problems = import_space(Source(str(path), path.read_text()))
    assert imported is not None, problems
    space = check(Source(path.name, imported.text)).space
    assert space is not None
    measure(f"{path.name}, imported", space, lambda: read_pcs(path), size)


def read_pcs(path: Path) -> Any:
    """Read a file with ConfigSpace, without the warning that the format is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from ConfigSpace.read_and_write import pcs_new

        return pcs_new.read(path.read_text().splitlines())


def measure(name: str, space: Space, build: Callable[[], Any], size: int) -> None:
    """Measure columns, configurations and neighbours of a space, and the same with ConfigSpace."""
    sampler, rng = Sampler(Structures(space)), np.random.default_rng(0)
    addresses = [node.address for node in space.hyperparameters]
    rounds = 1 if size < 100_000 else ROUNDS
    neighbour_seconds = time_neighbours(sampler, rng, rounds)
    columns = size / time_best(lambda: sampler.batch(size, rng))
    dense = (
        size
        // 10
        / time_best(lambda: list(map(sampler.batch(size // 10, rng).dense_part_indices_and_codes, addresses)))
    )
    objects = size // 10 / time_best(lambda: sampler.batch(size // 10, rng).configurations())
    print(f"\n{name}: {sampler.structures.count} structures, {len(addresses)} hyperparameters")
    if ConfigSpace is None:
        print(f"  columns {columns:,.0f}/s, dense {dense:,.0f}/s, configurations {objects:,.0f}/s")
        print(f"  60 neighbours {neighbour_seconds:.2e} s")
        return
    theirs, few = build(), max(size // 50, 200)
    theirs.seed(0)
    theirs.sample_configuration(few)
    vectors = few / time_best(lambda: theirs.sample_configuration(few))
    dictionaries = few / time_best(lambda: list(map(dict, theirs.sample_configuration(few))), 2)
    their_seconds = time_their_neighbours(theirs, rounds)
    rows = (("columns", columns, vectors), ("dense columns", dense, vectors), ("configurations", objects, dictionaries))
    for what, mine, other in rows:
        print(f"  {what}: {mine:,.0f}/s = {mine / other:.1f} times ConfigSpace ({other:,.0f}/s)")
    print(
        f"  60 neighbours: {neighbour_seconds * 1e3:.3f} ms"
        f" = 1/{their_seconds / neighbour_seconds:.1f} of ConfigSpace ({their_seconds * 1e3:.3f} ms)"
    )


def time_neighbours(sampler: Sampler, rng: np.random.Generator, rounds: int) -> float:
    """Return the seconds for 60 neighbours of random configurations, each of which is used once."""
    neighbourhood = Neighbourhood(sampler.structures)
    rates = []
    for _ in range(rounds):
        centres, found = sampler.batch(CENTRES, rng).configurations(), 0
        started = time.perf_counter()
        for centre in centres:
            found += len(neighbourhood.neighbours_of(centre, rng))
        rates.append((time.perf_counter() - started) / found * 60)
    return min(rates)


def time_their_neighbours(space: Any, rounds: int) -> float:
    """Return the seconds for 60 neighbours with ConfigSpace."""
    rates = []
    for _ in range(rounds):
        centres, found = space.sample_configuration(CENTRES), 0
        started = time.perf_counter()
        for centre in centres:
            found += sum(1 for _ in get_one_exchange_neighbourhood(centre, seed=0))
        rates.append((time.perf_counter() - started) / found * 60)
    return min(rates)


def measure_front_end(name: str) -> None:
    """Measure checking a space from its text, in a warm process."""
    source = read_source(name)
    assert isinstance(source, Source)
    space = check(source).space
    assert space is not None
    seconds = time_best(lambda: check(source))
    ratio = ""
    if ConfigSpace is not None:
        other = time_best(lambda: make_configuration_space(space))
        ratio = f" = {seconds / other:.2f} of ConfigSpace ({other * 1e3:.0f} ms)"
    print(f"\n{name}, text to checked space: {seconds * 1e3:.1f} ms{ratio}")


def measure_growth(quick: bool) -> None:
    """Measure spaces with growing numbers of hyperparameters under one condition."""
    for children in (10, 20) if quick else (50, 100, 200):
        lines = "\n".join(f"  p{number} : float[0, 1] = 0.5 when kind == a" for number in range(children))
        text = f"space grown\nabstract Grown {{\n  kind : {{a, b}} = a\n{lines}\n}}\nstage estimator = Grown\n"
        source = Source("grown", text)
        assert check(source).space is not None, check(source).diagnostics
        mine = time_best(lambda source=source: check(source))
        ratio = ""
        if ConfigSpace is not None:
            other = time_best(lambda children=children: make_children(children), 1)
            ratio = f" = {mine / other:.3f} of ConfigSpace ({other:.2f} s)"
        print(f"{children} conditional children: {mine:.3f} s{ratio}")


def make_children(children: int) -> Any:
    """Return a ConfigurationSpace with `children` hyperparameters under one condition."""
    result = ConfigSpace.ConfigurationSpace()
    kind = ConfigSpace.CategoricalHyperparameter("kind", ["a", "b"])
    result.add(kind)
    for number in range(children):
        child = ConfigSpace.UniformFloatHyperparameter(f"p{number}", 0.0, 1.0)
        result.add(child)
        result.add(ConfigSpace.EqualsCondition(child, kind, "a"))
    return result


def measure_conditions(conditions: int) -> None:
    """Measure 100 draws from a space with many conditions on one integer, with everything that prepares them."""
    lines = "\n".join(f"  p{number} : float[0, 1] when n > {number + 1}" for number in range(conditions))
    text = f"space many\nabstract Many\nstage estimator = Many {{\n  n : int[1, {2 * conditions}]\n{lines}\n}}\n"
    space = check(Source("many", text)).space
    assert space is not None

    def draw() -> None:
        Sampler(Structures(space)).batch(100, np.random.default_rng(0)).configurations()

    mine, tracked = time_best(draw), peak_bytes(draw)
    line = f"{conditions} conditions on one integer, 100 draws: {mine:.3f} s, {tracked / 1e6:.0f} MB"
    if ConfigSpace is not None:
        other = time_best(lambda: make_conditions(conditions).sample_configuration(100), 1)
        line += f" = {mine / other:.3f} of ConfigSpace ({other:.2f} s)"
    print(line)


def make_conditions(conditions: int) -> Any:
    """Return a ConfigurationSpace with many conditions on one integer."""
    result = ConfigSpace.ConfigurationSpace(seed=0)
    number = ConfigSpace.UniformIntegerHyperparameter("n", 1, 2 * conditions)
    children = [ConfigSpace.UniformFloatHyperparameter(f"p{place}", 0.0, 1.0) for place in range(conditions)]
    tests = [ConfigSpace.GreaterThanCondition(child, number, place + 1) for place, child in enumerate(children)]
    result.add(number, *children, *tests)
    return result


def peak_bytes(action: Callable[[], object]) -> int:
    """Return the most bytes that Python and NumPy allocate at once during an action."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measure_counting() -> None:
    """Measure counting 40 stages of 20 alternatives with 30 constraints over pairs of stages."""
    random = Random(5)
    alternatives = " | ".join(f"A{number}" for number in range(20))
    declared = "\n".join(f"abstract A{number} {{}}" for number in range(20))
    stages = "\n".join(f"stage s{number} = {alternatives}" for number in range(40))
    rules = []
    for _ in range(30):
        first, second = random.sample(range(40), 2)
        left, right = (random.sample(range(20), 3) for _ in range(2))
        rules.append(f"forbid s{first} in {format_set(left)} and s{second} in {format_set(right)}")
    checked = check(Source("pairs", f"space pairs\n{declared}\n{stages}\n" + "\n".join(rules)))
    assert checked.space is not None, checked.diagnostics[:3]
    space = checked.space
    seconds = time_best(lambda: Structures(space).count)
    print(f"\n40 stages of 20 alternatives, 30 pairs: counted in {seconds:.3f} s")


def format_set(numbers: Sequence[int]) -> str:
    """Return the text of a set of alternatives."""
    return "{" + ", ".join(f"A{number}" for number in numbers) + "}"


# ---- conversion of a space to ConfigSpace


def make_configuration_space(space: Space) -> Any:
    """Return a ConfigurationSpace with the decisions, hyperparameters and forbidden pairs of a space."""
    result = ConfigSpace.ConfigurationSpace()
    known: dict[str, Any] = {}
    for address, variable in space.variables.items():
        known[address] = add(result, variable, known)
    for constraint in space.constraints:
        tests = constraint.expression.terms if isinstance(constraint.expression, And) else ()
        if constraint.forbidden and tests and all(isinstance(test, BranchTest) for test in tests):
            clauses = [ConfigSpace.ForbiddenInClause(known[test.address], list(test.branches)) for test in tests]
            result.add(ConfigSpace.ForbiddenAndConjunction(*clauses))
    return result


def add(result: Any, variable: Variable, known: dict[str, Any]) -> Any:
    """Add a variable with the conditions of its owners; a union becomes a choice of its parts."""
    address, node = variable.address, variable.node
    if isinstance(node, Choice):
        default = node.branches[node.default].name
        return add_under_owner(
            result, ConfigSpace.CategoricalHyperparameter(address, list(node.branch_indices), default), variable, known
        )
    assert isinstance(node, Hyperparameter)
    found = parts(node.domain)
    if len(found) == 1:
        return add_under_owner(result, make_parameter(address, found[0]), variable, known)
    choice = ConfigSpace.CategoricalHyperparameter(f"{address} part", list(range(len(found))))
    add_under_owner(result, choice, variable, known)
    for number, part in enumerate(found):
        child = make_parameter(f"{address} {number}", part)
        result.add(child)
        result.add(ConfigSpace.EqualsCondition(child, choice, number))
    return choice


def add_under_owner(result: Any, parameter: Any, variable: Variable, known: dict[str, Any]) -> Any:
    """Add a parameter under its innermost owner, which is under the others."""
    result.add(parameter)
    for owner, branch in variable.owners[-1:]:
        result.add(ConfigSpace.EqualsCondition(parameter, known[owner], branch))
    return parameter


def make_parameter(name: str, part: SimpleDomain) -> Any:
    """Return a parameter with a simple domain."""
    if isinstance(part, Categorical):
        return ConfigSpace.CategoricalHyperparameter(name, [repr(value) for value in part.values])
    if part.lower == part.upper:
        return ConfigSpace.Constant(name, part.lower)
    if isinstance(part, Grid) and part.is_integral:
        return ConfigSpace.UniformIntegerHyperparameter(name, part.lower, part.upper, log=part.log)
    return ConfigSpace.UniformFloatHyperparameter(name, part.lower, part.upper, log=part.log)


def time_best(action: Callable[[], object], repeats: int = 3) -> float:
    """Return the seconds of the fastest repetition."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    main()

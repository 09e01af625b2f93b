"""How fast spaces are built, counted, sampled and walked: prints rates, and ratios to ConfigSpace in the same run.

    python tests/benchmarks/sampling.py [--quick] [--pcs FILE]

`--pcs` names the file of the MOSAIC space, by default the one beside this repository; without it only the bundled
spaces are measured. ConfigSpace is given the same decisions, hyperparameters and pairs of alternatives that are
forbidden, but no conditions on values and no constraints over values, which is in its favour. Its vectors are what
`sample_configuration` gives, its dictionaries these with `dict` around each.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import spacelang
from spacelang.analysis import check
from spacelang.draws.neighbours import Neighbourhood
from spacelang.draws.sampling import Sampler
from spacelang.ir.domain import Categorical, Grid, Simple, parts
from spacelang.ir.expr import And, Is
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.solver.counting import Structures
from spacelang.syntax.sources import read_source
from spacelang.text import Source

try:
    import ConfigSpace
    from ConfigSpace.util import get_one_exchange_neighbourhood
except ImportError:
    ConfigSpace = None

ROUNDS, CENTRES = 7, 40
"""How often, and of how many configurations each time, neighbours are asked for."""
PCS = Path(__file__).parents[3] / "shared" / "data" / "pcs" / "mosaic_1_0.pcs"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="small sizes: that it runs, not how fast")
    options.add_argument("--pcs", type=Path, default=PCS, help="the MOSAIC space")
    chosen = options.parse_args(arguments)
    size = 2_000 if chosen.quick else 1_000_000
    peer = (
        "ConfigSpace is not installed: no ratios" if ConfigSpace is None else f"ConfigSpace {ConfigSpace.__version__}"
    )
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}, {peer}")
    for name in ("admm_table_a2",) if chosen.quick else ("admm_table_a2", "mosaic"):
        space = spacelang.load(name).checked
        measure(name, space, (lambda made=space: configuration_space(made)), size)
    if chosen.pcs.exists():
        measure_imported(chosen.pcs, size)
    else:
        print(f"no file {chosen.pcs}: the imported MOSAIC space is left out")
    front_end("admm_table_a2")
    grow(chosen.quick)
    count()


def measure_imported(path: Path, size: int) -> None:
    """The rates of an imported PCS file, which ConfigSpace reads itself."""
    from spacelang.importers._importing import to_space

    imported, problems = to_space(Source(str(path), path.read_text()))
    assert imported is not None, problems
    space = check(Source(path.name, imported.text)).space
    assert space is not None
    measure(f"{path.name}, imported", space, lambda: read_pcs(path), size)


def read_pcs(path: Path) -> Any:
    """ConfigSpace's own reading of a file; it says that the format will get no more support."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from ConfigSpace.read_and_write import pcs_new

        return pcs_new.read(path.read_text().splitlines())


def measure(name: str, space: Space, build: Callable[[], Any], size: int) -> None:
    """Columns, objects and neighbours of a space, and of ConfigSpace's form of it."""
    sampler, rng = Sampler(Structures(space)), np.random.default_rng(0)
    addresses = [node.address for node in space.hyperparameters]
    rounds = 1 if size < 100_000 else ROUNDS
    near = neighbours_of(sampler, rng, rounds)
    columns = size / best(lambda: sampler.columns(size, rng))
    dense = size // 10 / best(lambda: list(map(sampler.columns(size // 10, rng).dense, addresses)))
    objects = size // 10 / best(lambda: sampler.columns(size // 10, rng).configurations())
    print(f"\n{name}: {sampler.structures.count} structures, {len(addresses)} hyperparameters")
    if ConfigSpace is None:
        print(f"  columns {columns:,.0f}/s, dense {dense:,.0f}/s, objects {objects:,.0f}/s, 60 neighbours {near:.2e} s")
        return
    theirs, few = build(), max(size // 50, 200)
    theirs.seed(0)
    theirs.sample_configuration(few)
    vectors = few / best(lambda: theirs.sample_configuration(few))
    dictionaries = few / best(lambda: list(map(dict, theirs.sample_configuration(few))), 2)
    their_near = their_neighbours(theirs, rounds)
    rows = (("columns", columns, vectors), ("dense columns", dense, vectors), ("objects", objects, dictionaries))
    for what, mine, other in rows:
        print(f"  {what}: {mine:,.0f}/s = {mine / other:.1f} times ConfigSpace's {other:,.0f}/s")
    print(
        f"  60 neighbours: {near * 1e3:.3f} ms = 1/{their_near / near:.1f} of ConfigSpace's {their_near * 1e3:.3f} ms"
    )


def neighbours_of(sampler: Sampler, rng: np.random.Generator, rounds: int) -> float:
    """Seconds for 60 neighbours of random configurations, each of which is asked for once."""
    neighbourhood = Neighbourhood(sampler.structures)
    rates = []
    for _ in range(rounds):
        centres, found = sampler.columns(CENTRES, rng).configurations(), 0
        started = time.perf_counter()
        for centre in centres:
            found += len(neighbourhood.of(centre, rng))
        rates.append((time.perf_counter() - started) / found * 60)
    return min(rates)


def their_neighbours(space: Any, rounds: int) -> float:
    """The same for ConfigSpace."""
    rates = []
    for _ in range(rounds):
        centres, found = space.sample_configuration(CENTRES), 0
        started = time.perf_counter()
        for centre in centres:
            found += sum(1 for _ in get_one_exchange_neighbourhood(centre, seed=0))
        rates.append((time.perf_counter() - started) / found * 60)
    return min(rates)


def front_end(name: str) -> None:
    """Text to checked space in a warm process."""
    source = read_source(name)
    assert isinstance(source, Source)
    space = check(source).space
    assert space is not None
    seconds = best(lambda: check(source))
    ratio = ""
    if ConfigSpace is not None:
        other = best(lambda: configuration_space(space))
        ratio = f" = {seconds / other:.2f} of ConfigSpace's {other * 1e3:.0f} ms"
    print(f"\n{name}, text to checked space: {seconds * 1e3:.1f} ms{ratio}")


def grow(quick: bool) -> None:
    """Spaces of more and more hyperparameters under a condition on one other."""
    for children in (10, 20) if quick else (50, 100, 200):
        lines = "\n".join(f"  p{number} : float[0, 1] = 0.5 when kind == a" for number in range(children))
        text = f"space grown\nabstract Grown {{\n  kind : {{a, b}} = a\n{lines}\n}}\nstage estimator = Grown\n"
        source = Source("grown", text)
        assert check(source).space is not None, check(source).diagnostics
        mine = best(lambda source=source: check(source))
        ratio = ""
        if ConfigSpace is not None:
            other = best(lambda children=children: children_of_one(children), 1)
            ratio = f" = {mine / other:.3f} of ConfigSpace's {other:.2f} s"
        print(f"{children} conditional children: {mine:.3f} s{ratio}")


def children_of_one(children: int) -> Any:
    """ConfigSpace's form of so many hyperparameters under a condition on one."""
    made = ConfigSpace.ConfigurationSpace()
    kind = ConfigSpace.CategoricalHyperparameter("kind", ["a", "b"])
    made.add(kind)
    for number in range(children):
        child = ConfigSpace.UniformFloatHyperparameter(f"p{number}", 0.0, 1.0)
        made.add(child)
        made.add(ConfigSpace.EqualsCondition(child, kind, "a"))
    return made


def count() -> None:
    """40 stages of 20 alternatives with 30 constraints over pairs of stages."""
    random = Random(5)
    alternatives = " | ".join(f"A{number}" for number in range(20))
    declared = "\n".join(f"abstract A{number} {{}}" for number in range(20))
    stages = "\n".join(f"stage s{number} = {alternatives}" for number in range(40))
    rules = []
    for _ in range(30):
        first, second = random.sample(range(40), 2)
        left, right = (random.sample(range(20), 3) for _ in range(2))
        rules.append(f"forbid s{first} in {names(left)} and s{second} in {names(right)}")
    checked = check(Source("pairs", f"space pairs\n{declared}\n{stages}\n" + "\n".join(rules)))
    assert checked.space is not None, checked.diagnostics[:3]
    space = checked.space
    seconds = best(lambda: Structures(space).count)
    print(f"\n40 stages of 20 alternatives, 30 pairs: counted in {seconds:.3f} s")


def names(numbers: Sequence[int]) -> str:
    """A set of alternatives as the language writes it."""
    return "{" + ", ".join(f"A{number}" for number in numbers) + "}"


# --- ConfigSpace's form of a space -------------------------------------------------------------------------------


def configuration_space(space: Space) -> Any:
    """The decisions and hyperparameters of a space with what they are below, and its forbidden pairs of branches."""
    made = ConfigSpace.ConfigurationSpace()
    known: dict[str, Any] = {}
    for address, variable in space.variables.items():
        known[address] = add(made, variable, known)
    for constraint in space.constraints:
        tests = constraint.expression.terms if isinstance(constraint.expression, And) else ()
        if constraint.forbidden and tests and all(isinstance(test, Is) for test in tests):
            clauses = [ConfigSpace.ForbiddenInClause(known[test.address], list(test.branches)) for test in tests]
            made.add(ConfigSpace.ForbiddenAndConjunction(*clauses))
    return made


def add(made: Any, variable: Variable, known: dict[str, Any]) -> Any:
    """Add a variable with the conditions that its owners make; a union becomes a choice of its parts."""
    address, node = variable.address, variable.node
    if isinstance(node, Choice):
        default = node.branches[node.default].name
        return placed(made, ConfigSpace.CategoricalHyperparameter(address, list(node.places), default), variable, known)
    assert isinstance(node, Hyperparameter)
    found = parts(node.domain)
    if len(found) == 1:
        return placed(made, simple(address, found[0]), variable, known)
    choice = ConfigSpace.CategoricalHyperparameter(f"{address} part", list(range(len(found))))
    placed(made, choice, variable, known)
    for number, part in enumerate(found):
        child = simple(f"{address} {number}", part)
        made.add(child)
        made.add(ConfigSpace.EqualsCondition(child, choice, number))
    return choice


def placed(made: Any, parameter: Any, variable: Variable, known: dict[str, Any]) -> Any:
    """Add a parameter below its innermost owner, which is below the others."""
    made.add(parameter)
    for owner, branch in variable.owners[-1:]:
        made.add(ConfigSpace.EqualsCondition(parameter, known[owner], branch))
    return parameter


def simple(name: str, part: Simple) -> Any:
    """A parameter with a simple domain."""
    if isinstance(part, Categorical):
        return ConfigSpace.CategoricalHyperparameter(name, [repr(value) for value in part.values])
    if part.lower == part.upper:
        return ConfigSpace.Constant(name, part.lower)
    if isinstance(part, Grid) and part.is_integral:
        return ConfigSpace.UniformIntegerHyperparameter(name, part.lower, part.upper, log=part.log)
    return ConfigSpace.UniformFloatHyperparameter(name, part.lower, part.upper, log=part.log)


def best(action: Callable[[], object], repeats: int = 3) -> float:
    """The seconds of the fastest repetition."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    main()

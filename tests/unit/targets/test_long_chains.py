"""Chains of conditions that are longer than the recursion limit of Python allows."""

import numpy as np
import pytest

import spacelang as sl

LENGTH = 300
CHAIN = "\n".join(f"  x{number} : int[0, 3] = 1 when x{number - 1} > 0" for number in range(1, LENGTH))
SPACE = f"space chain\nabstract A\nstage s = A {{\n  x0 : int[0, 3] = 1\n{CHAIN}\n}}\n"


@pytest.fixture(scope="module")
def space() -> sl.Space:
    return sl.parse(SPACE)


@pytest.mark.parametrize(
    "target", ["admm", "boasf", "configspace", "hyperopt", "irace", "mosaic", "optuna", "random", "ray", "sklearn"]
)
def test_chains_of_conditions_compile(space: sl.Space, target: str) -> None:
    compiled = space.compile(target)
    for configuration in (space.default(), *space.sample(3)):
        assert compiled.decode(compiled.encode(configuration)) == configuration
    if target in ("hyperopt", "optuna", "ray"):
        compile(compiled.form.to_python(), "module", "exec")  # Python reads at most 200 nested brackets


def test_the_last_of_a_chain_is_judged_first(space: sl.Space) -> None:
    given = {**space.default(), f"s.x{LENGTH - 2}": 0}
    (reason,) = space.nearest(given).reasons
    assert reason.key == f"s.x{LENGTH - 1}"


def test_hyperopt_draws_from_a_chain(space: sl.Space) -> None:
    form = space.compile("hyperopt").form
    assert all(form.decode(drawn) in space for drawn in form.sample(2, np.random.default_rng(0)))

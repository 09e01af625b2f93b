"""Priors: their names and numbers, and that nobody forgets one."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

import spacelang
from spacelang.ir.prior import DISTRIBUTIONS, Normal, Prior, Uniform, describe, make_prior, name_and_parameters

PACKAGE = Path(spacelang.__file__).parent
WRITERS = {
    "ir/prior.py": 1,  # its name and its numbers, of which JSON and texts are made
    "targets/_configspace/priors.py": 2,
    "targets/_reduction_chain.py": 1,
    "targets/sklearn.py": 1,
}
"""Who takes a prior apart, and how often."""


@pytest.mark.parametrize("prior", [Normal(0.5, 0.1), Normal(-3, 2), Uniform()])
def test_a_prior_is_its_name_and_its_numbers(prior: Prior) -> None:
    assert make_prior(*name_and_parameters(prior)) == prior
    assert name_and_parameters(prior)[0] in DISTRIBUTIONS


@pytest.mark.parametrize(
    ("name", "numbers"), [("normal", (0, 0)), ("normal", (1,)), ("normal", ()), ("uniform", (1,)), ("beta", (1, 2))]
)
def test_numbers_fit_their_distribution(name: str, numbers: tuple[float, ...]) -> None:
    assert make_prior(name, numbers) is None


def test_a_prior_is_written_as_the_language_has_it() -> None:
    assert [describe(Normal(0.5, 0.25)), describe(Uniform())] == ["@prior(normal, 0.5, 0.25)", "@prior(uniform)"]


def test_a_new_kind_of_prior_is_a_list_of_type_errors(tmp_path: Path) -> None:
    package = tmp_path / "spacelang"
    copytree(PACKAGE, package, ignore=ignore_patterns("__pycache__", "snapshots", "testing", "cli", "api"))
    module = package / "ir" / "prior.py"
    text = module.read_text(encoding="utf-8").replace("Normal | Uniform\n", "Normal | Uniform | Triangular\n")
    new = '@dataclass(frozen=True, slots=True)\nclass Triangular:\n    """Near a peak."""\n\n    peak: float\n\n\n'
    module.write_text(text.replace("Prior: TypeAlias", f"{new}Prior: TypeAlias"), encoding="utf-8")
    options = ["--enable-error-code=exhaustive-match", "--follow-imports=skip", "--ignore-missing-imports"]
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            *options,
            *(str(package / name) for name in ("frozen.py", "ir/space.py", *WRITERS)),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [
        line.removeprefix("spacelang/").split(":")[0]
        for line in ended.stdout.splitlines()
        if "[exhaustive-match]" in line
    ]
    assert {name: found.count(name) for name in found} == WRITERS, ended.stdout

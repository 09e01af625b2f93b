"""Try the files of the target `irace` with irace itself: prints how many of its draws are members of the space.

    python tests/benchmarks/irace_files.py SPACE... [--r=R]

This needs R with the package irace 3.5 (`apt-get install r-cran-irace` on Debian 12). irace reads the file, draws 200
configurations, which are decoded, and reads 40 members as `configurationsFile`. In November 2026, all draws were
members and all members were read, for mosaic, boasf_models, admm_table_a2 and blds_table1_hpo.
"""

import argparse
import csv
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import spacelang as sl
from spacelang.ir.membership import first_exclusion
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures

DRAWS, MEMBERS = 200, 40
SCRIPT = """library(irace)
parameters <- irace:::readParameters("parameters.txt", digits = 15)
forbidden <- if (file.size("forbidden.txt") > 0) irace:::readForbiddenFile("forbidden.txt")
drawn <- irace:::sampleUniform(parameters, {draws}, 15, forbidden)
write.table(format(drawn, digits = 17), "drawn.tsv", sep = "\\t", row.names = FALSE, quote = FALSE)
read <- irace:::readConfigurationsFile("members.txt", parameters)
if (!is.null(forbidden)) read <- irace:::checkForbidden(read, forbidden)
cat(nrow(read), "members read\\n")
"""


def try_space(name: str, command: str) -> str:
    """Return a line about what irace draws from a space, and which members it reads."""
    space = sl.load(name)
    compiled = space.compile("irace")
    text = compiled.form.to_text().partition("\n[global]")[0]
    parameters, _, forbidden = text.partition("\n[forbidden]\n")
    sampler = Sampler(Structures(space.checked))
    members = sampler.batch(MEMBERS, np.random.default_rng(0)).configurations()
    names = [parameter.name for parameter in compiled.form.parameters.values()]
    rows = dict.fromkeys(" ".join(_cell(encoded.get(n)) for n in names) for encoded in map(compiled.encode, members))
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        at.joinpath("parameters.txt").write_text(f"{parameters}\n", encoding="utf-8")
        at.joinpath("forbidden.txt").write_text(forbidden, encoding="utf-8")
        at.joinpath("members.txt").write_text("\n".join([" ".join(names), *rows, ""]), encoding="utf-8")
        at.joinpath("script.R").write_text(SCRIPT.format(draws=DRAWS), encoding="utf-8")
        run = [command, "--no-echo", "--vanilla", "--file=script.R"]
        said = subprocess.run(run, cwd=at, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
        with at.joinpath("drawn.tsv").open(encoding="utf-8") as file:
            drawn = [{key: word.strip() for key, word in row.items()} for row in csv.DictReader(file, delimiter="\t")]
    good = sum(first_exclusion(space.checked, compiled.decode(row)) is None for row in drawn)
    return f"{name}: {good} of {len(drawn)} draws are members, {said} of {len(rows)}"


def _cell(value: object) -> str:
    return "NA" if value is None else f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("spaces", nargs="+")
    parser.add_argument("--r", default="R")
    arguments = parser.parse_args()
    for each in arguments.spaces:
        print(try_space(each, arguments.r))

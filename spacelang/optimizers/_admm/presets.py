"""The ADMM variants that the papers name, as options; options that are not listed have their defaults.

See spacelang/optimizers/README.md, section "ADMM: presets".
"""

from collections.abc import Iterator, Mapping
from typing import Final

Options = Mapping[str, str]

ADMM_SELECTORS: Final = {"ba": "cmab", "bo": "bo"}
"""The selectors of the ADMM paper by their names there: Ba is the bandit CMAB, BO Bayesian optimization."""
BLDS_SELECTORS: Final = {
    "blds1": "blds(disc=1)",
    "blds2": "blds(disc=2)",
    "cmab": "cmab(f_hat=0.3)",
    "daub": "daub",
    "hyperband": "hyperband",
}
"""The selectors of the BLDS paper, with the options that it uses."""


def _preset_items() -> Iterator[tuple[str, Options]]:
    for short, z in ADMM_SELECTORS.items():
        for calls in (16, 32, 64, 128, 256):  # ADMM16(BO,Ba), …: a constant number of calls
            yield f"admm{calls}_bo_{short}", {"theta": "bo", "z": z, "adaptive": "false", "i0": str(calls)}
        for factor in (8, 16):  # AdADMM-F8(BO,Ba), …: more calls in each iteration
            yield f"adadmm_f{factor}_bo_{short}", {"theta": "bo", "z": z, "adaptive": "true", "factor": str(factor)}
    for short, z in BLDS_SELECTORS.items():  # selection first; tuned hyperparameters apply to the pipeline alone
        paper = {"first": "z", "hp_scope": "pipeline", "adaptive": "true", "factor": "16"}
        yield f"admm_bo_{short}", {"theta": "bo", "z": z, **paper}


PRESETS: Final[Mapping[str, Options]] = dict(_preset_items())
"""The options of each preset as strings, by its name, which ends in the minimizer and the selector."""

"""The variants that papers name, as options; what is not said is at its default.

See spacelang/optimizers/README.md, section "ADMM: presets".
"""

from collections.abc import Iterator, Mapping
from typing import Final

Options = Mapping[str, str]

Z: Final = {"ba": "cmab", "bo": "bo"}
"""Who selects, as the ADMM paper writes it: the bandit, or BO."""
PARTS: Final = {
    "blds1": "blds(disc=1)",
    "blds2": "blds(disc=2)",
    "cmab": "cmab(f_hat=0.3)",
    "daub": "daub",
    "hyperband": "hyperband",
}
"""Who selects in the BLDS paper, with its options there."""


def _named() -> Iterator[tuple[str, Options]]:
    for short, z in Z.items():
        for calls in (16, 32, 64, 128, 256):  # ADMM16(BO,Ba), …: as many calls in every iteration
            yield f"admm{calls}_bo_{short}", {"theta": "bo", "z": z, "adaptive": "false", "i0": str(calls)}
        for factor in (8, 16):  # AdADMM-F8(BO,Ba), …: more in each
            yield f"adadmm_f{factor}_bo_{short}", {"theta": "bo", "z": z, "adaptive": "true", "factor": str(factor)}
    for short, z in PARTS.items():  # selection first; what was tuned is that of the pipeline alone
        paper = {"first": "z", "hp_scope": "pipeline", "adaptive": "true", "factor": "16"}
        yield f"admm_bo_{short}", {"theta": "bo", "z": z, **paper}


PRESETS: Final[Mapping[str, Options]] = dict(_named())
"""The options of each, as texts, by its name: who tunes, then who selects."""

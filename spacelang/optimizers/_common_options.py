"""Descriptions and checks shared by the options of several optimizers."""

from typing import Any

from spacelang.plugins import OptionError

HYPERPARAMETERS = "keep hyperparameters at their defaults, or draw them once for each pipeline"
CONFIGURATIONS = (
    "draw whole configurations, several of which may share a pipeline, or keep hyperparameters at their defaults"
)
DISC = "the largest discrepancy: how many decisions a neighbour may change"
B = "the number of rows on which a pipeline is first trained"
STARTUP = "the number of random configurations before the first model; initial configurations count"
GAMMA = "the best ceil(gamma sqrt(n)) of n trials count as good, at most 25"
CANDIDATES = "the number of draws from the density of good trials; the most promising draw is proposed"
BRACKETS = (
    "shrink the brackets so that they end within the time budget, or use the published sizes, which may exceed it"
)
BRACKETS_OF_EARLIER_STORES = {"brackets": "published"}
ETA = "the factor by which the number of rows grows from one training to the next"


def require(holds: bool, message: str, help: str) -> None:  # noqa: A002 - the name that diagnostics use
    """Raise OptionError with `message` and `help` if a condition on an option is false."""
    if not holds:
        raise OptionError(message, help)


def check_option(options: Any, name: str, holds: bool, rule: str) -> None:
    """Raise OptionError for the value of an option unless it `holds`; in the help `rule` follows the name."""
    require(holds, f"`{name}` is {getattr(options, name)}", f"`{name}` {rule}")


def check_disc(disc: int) -> None:
    """Raise OptionError if `disc` is below 1; a value above the number of layers means all of them."""
    require(disc >= 1, f"`disc` is {disc}", "`disc` must be at least 1: a neighbour changes at least 1 decision")


def check_fidelity_grid(b: int, eta: float) -> None:
    """Raise OptionError if `b`, which may exceed the number of rows, is below 1, or `eta` not finite and above 1."""
    require(b >= 1, f"`b` is {b}", "`b` must be at least 1 row")
    require(1 < eta < float("inf"), f"`eta` is {eta}", "`eta` must be a finite factor greater than 1")

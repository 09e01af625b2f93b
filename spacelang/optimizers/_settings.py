"""What the options of several optimizers have in common."""

from spacelang.plugins import OptionError

HYPERPARAMETERS = "keep hyperparameters at their defaults, or draw them once for each pipeline"
CONFIGURATIONS = "draw configurations, many of them of one pipeline, or keep hyperparameters at their defaults"
DISC = "the largest discrepancy: how many decisions a neighbour may change"
B = "training rows of a pipeline's first training"
STARTUP = "configurations that are drawn before there is a model; those given count"
GAMMA = "of n trials the best ceil(gamma sqrt(n)) are good, at most 25"
CANDIDATES = "draws from what is good, of which the most promising is proposed"
ETA = "the factor by which the rows grow from one training to the next"


def check(holds: bool, message: str, help: str) -> None:  # noqa: A002 - the word of the house's diagnostics
    """Raise OptionError where a condition on an option does not hold."""
    if not holds:
        raise OptionError(message, help)


def check_disc(disc: int) -> None:
    """Raise OptionError for a discrepancy without neighbours; one beyond the number of layers means all of them."""
    check(disc >= 1, f"`disc` is {disc}", "a neighbour changes at least 1 decision")


def check_grid(b: int, eta: float) -> None:
    """Raise OptionError for options of the fidelity grid that give none; `b` may be more than there are rows."""
    check(b >= 1, f"`b` is {b}", "a training takes at least 1 row")
    check(1 < eta < float("inf"), f"`eta` is {eta}", "rows grow by a factor greater than 1")

"""The form of the target `admm`, for the optimizers that search it."""

from spacelang.plugins import OptionError
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import Preservation, RefusedError
from spacelang.targets.admm import Admm, AdmmForm


def lower_for_admm(target: Admm, structures: Structures) -> AdmmForm:
    """Compile the space. Raise OptionError, with the lines of the text, if the target refuses it."""
    try:
        return target.lower(structures).form
    except RefusedError as error:
        refused = (each for each in error.report if each.status is Preservation.REFUSED)
        why = "; ".join(f"{each.construct}{each.lines_text}: {each.message}" for each in refused)
        message = f"this optimizer cannot search `{structures.space.name}`: {why}"
        raise OptionError(message, "try another optimizer; `random` can search any space") from error

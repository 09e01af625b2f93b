"""Portfolios: configurations that together did well on other tables, with which a search starts.

See spacelang/optimizers/README.md, section "AUTO: portfolio".
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from spacelang.files import resource_folder
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice, Space
from spacelang.plugins import OptionError
from spacelang.serialization.json_documents import DefinitionError
from spacelang.serialization.portfolio import Portfolio, read_portfolio
from spacelang.solver.adaptation_to_data import adapt_to_data
from spacelang.solver.counting import Structures

BUNDLED: Final = "bundled"  # The portfolio that is shipped with a bundled space, if it has one
NO_PORTFOLIO: Final = "none"


def load_portfolio(name: str, space: Space) -> Portfolio | None:
    """Return the portfolio with the name of an option: that of the space, none, or one in a file.

    Raises OptionError for a file that is no portfolio.
    """
    if name == NO_PORTFOLIO:
        return None
    path = resource_folder("spaces") / f"{space.name}.portfolio.json" if name == BUNDLED else Path(name)
    if name == BUNDLED and not path.exists():
        return None
    try:
        return read_portfolio(path)
    except DefinitionError as error:
        raise OptionError(f"`portfolio` is no portfolio: {error}", error.remedy) from error


def suggested_members(portfolio: Portfolio, structures: Structures) -> list[Configuration]:
    """Return the configurations of a portfolio as members of a space, without repetitions.

    They are those of the first list whose alternatives are all in the space. Decisions and hyperparameters that the
    space does not have are dropped, a number outside of its range becomes the nearest one, and what is missing takes
    its default. A configuration is left out if its alternatives are not in the space, which can be so in a portfolio of
    one list, or only together with another one.
    """
    space = structures.space
    complete = (each for each in portfolio.lists if all(_has_alternatives(space, one) for one in each))
    only = portfolio.lists[0] if len(portfolio.lists) == 1 else ()
    chosen = next(complete, only)
    found = (_adapt(structures, each) for each in chosen if _has_alternatives(space, each))
    return [*dict.fromkeys(each for each in found if each is not None)]


def _has_alternatives(space: Space, configuration: Configuration) -> bool:
    """Return True if every decision of the space that the configuration takes has the alternative that it takes."""
    return all(
        any(configuration[key] in choice.branch_indices for choice in choices)
        for key, choices in _choices_by_key(space.decisions).items()
        if key in configuration
    )


def _choices_by_key(decisions: Iterable[Choice]) -> dict[str, list[Choice]]:
    found: dict[str, list[Choice]] = {}
    for choice in decisions:
        found.setdefault(choice.key, []).append(choice)
    return found


def _adapt(structures: Structures, given: Configuration) -> Configuration | None:
    member = adapt_to_data(structures, given).member
    keys = {choice.key for choice in structures.space.decisions}
    is_kept = all(member[key] == given[key] for key in keys if key in member and key in given)
    return member if is_kept else None

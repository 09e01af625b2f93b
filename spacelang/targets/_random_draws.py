"""Declarations of which libraries draw at random, and why their draws deviate from the distribution of the space.

`_draw_distances` measures the draws.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from spacelang.grouping import group_by_key
from spacelang.ir.domain import SimpleDomain, parts
from spacelang.ir.space import Hyperparameter, Space
from spacelang.reductions.quantile_reduction import QuantileReduction
from spacelang.solver.constraint_network import ConstraintNetwork
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import Preservation, ReportEntry
from spacelang.text import format_names

DISTRIBUTION: Final = "the distribution of the space's random draws"
RANDOM_DRAWS: Final = "random draws"  # The construct of entries about the random draws of a library
MAX_NAMED: Final = 4  # The maximum number of variables that an entry names


@dataclass(frozen=True, slots=True)
class DeviationReason:
    """A reason why random draws deviate from the distribution of the space.

    `keys_in` takes the form and returns the keys of the affected variables. `known_difference`, if given, takes the
    form, too, and returns a text about a difference that is known without draws.
    """

    reason: str
    keys_in: Callable[[Any], Iterable[str]]
    known_difference: Callable[[Any], str] | None = None


@dataclass(frozen=True, slots=True)
class RandomDrawDeclaration:
    """A target's declaration that its library can draw at random, and why the draws may deviate.

    `deviations` is empty if the draws follow the distribution of the space.
    """

    library: str
    deviations: tuple[DeviationReason, ...] = ()

    def deviation_reasons(self, form: Any) -> dict[str, str]:
        """Return the reason why the draws of a variable may deviate, by the key of each affected variable."""
        return {key: each.reason for key, each in self._deviations_in(form).items()}

    def report_entries(self, form: Any) -> tuple[ReportEntry, ...]:
        """Return the entries of a form's report on how its random draws are distributed, made without any draws.

        There is one for each reason why they may deviate, or one that says that they follow the distribution.
        """
        deviations = self._deviations_in(form)
        if not deviations:
            return (ReportEntry(RANDOM_DRAWS, Preservation.EXACT, f"draws of {self.library} follow {DISTRIBUTION}"),)
        keys_by_reason = group_by_key((each.reason, key) for key, each in deviations.items())
        known = {each.reason: each.known_difference(form) for each in deviations.values() if each.known_difference}
        return tuple(
            ReportEntry(
                RANDOM_DRAWS,
                Preservation.REWRITTEN,
                f"draws of {self.library} may not follow {DISTRIBUTION} for {format_names(keys, MAX_NAMED)}: "
                + "; ".join(filter(None, (reason, known.get(reason)))),
            )
            for reason, keys in keys_by_reason.items()
        )

    def _deviations_in(self, form: Any) -> dict[str, DeviationReason]:
        """Return the first reason that concerns each affected variable, by its key."""
        return {key: each for each in reversed(self.deviations) for key in each.keys_in(form)}


def keys_of_connected_hyperparameters(structures: Structures) -> Iterator[str]:
    """Yield the keys of all variables in networks in which constraints connect two or more hyperparameters."""
    for network in _constrained_networks(structures):
        are_several = sum(isinstance(member.node, Hyperparameter) for member in network.members) > 1
        if are_several and any(rule.scope for rule in network.constraints):
            yield from _keys(network)


def keys_of_constrained_variables(structures: Structures) -> Iterator[str]:
    """Yield the keys of all variables in networks with constraints, and in the networks of the decisions above them."""
    for network in _constrained_networks(structures):
        owners = (structures.model.network_by_address[owner] for owner, _ in network.context)
        yield from (key for each in (network, *owners) for key in _keys(each))


def keys_connected_with_decisions(structures: Structures, addresses: Iterable[str]) -> Iterator[str]:
    """Yield the keys of the given decisions and of all variables that conditions or constraints connect with them."""
    for address in addresses:
        yield from _keys(structures.model.network_by_address[address])


def keys_connected_with_quantiles(reduction: QuantileReduction) -> Iterator[str]:
    """Yield the keys of all variables in constrained networks that have both related ranges and other variables."""
    for network in _constrained_networks(reduction.structures):
        if len({member.address in reduction.related_hyperparameters for member in network.members}) > 1:
            yield from _keys(network)


def keys_of_hyperparameters_with(space: Space, is_affected: Callable[[SimpleDomain], bool]) -> Iterator[str]:
    """Yield the keys of the hyperparameters with a part of their domain for which `is_affected` is true."""
    return (node.key for node in space.hyperparameters if any(map(is_affected, parts(node.domain))))


CONNECTED_IN_TURN: Final = DeviationReason(
    "values that constraints connect are drawn one after the other",
    lambda form: keys_of_connected_hyperparameters(form.questions.structures),
)


REPEATED_REASON: Final = "draws that constraints exclude are repeated"
ACTIVITY_FIRST: Final = DeviationReason(
    "what decides which related ranges are active is drawn before their quantiles",
    lambda form: keys_connected_with_quantiles(form.reduction),
)


def _constrained_networks(structures: Structures) -> Iterator[ConstraintNetwork]:
    networks = (network for several in structures.model.by_context.values() for network in several)
    return (network for network in networks if network.constraints)


def _keys(network: ConstraintNetwork) -> Iterator[str]:
    return (member.key for member in network.members)

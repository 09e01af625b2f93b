"""The laws of targets can fail: each of these targets loses something, and a law finds it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain, Real
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Choice, Hyperparameter, Node, Operator, Product, Space
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import Construct, LoweringResult, PreservationTable, exact, make_report
from spacelang.testing.small_spaces import branch, choice, conditional_space, hyperparameter, make_space, plain_space
from spacelang.testing.targets import (
    check_constructs_reported,
    check_log_scale,
    check_members_accepted,
    check_round_trip,
    check_samples,
    lower,
)


class Form:
    """A form that says nothing: only what is drawn from it matters here."""

    def to_json(self) -> dict[str, object]:
        return {}

    def to_text(self) -> str:
        return "nothing"

    def to_dot(self) -> str:
        return "digraph nothing {}"


@dataclass(frozen=True)
class Identity:
    """A target whose form is the space itself, or what is left of it."""

    preserves: ClassVar[PreservationTable] = {construct: (exact("as it stands"),) for construct in Construct}

    def lower(self, structures: Structures) -> LoweringResult[Any, Any]:
        left = self.left_of(structures.space)
        sampler = Sampler(Structures(left))

        def draw(count: int, rng: np.random.Generator) -> Sequence[Configuration]:
            return sampler.batch(count, rng).configurations()

        report = make_report(structures.space, self.preserves)
        return LoweringResult(
            Form(), lambda c: c, lambda c: c, lambda c: first_exclusion(left, c) is None, draw, report
        )

    def left_of(self, space: Space) -> Space:
        return space


class WithoutConstraints(Identity):
    def left_of(self, space: Space) -> Space:
        return replace(space, constraints=())


class WithoutConditions(Identity):
    def left_of(self, space: Space) -> Space:
        return replace(space, root=changed(space.root, lambda node: replace(node, condition=None)))


class WithoutLogarithms(Identity):
    def left_of(self, space: Space) -> Space:
        return replace(space, root=changed(space.root, lambda node: replace(node, domain=linear(node.domain))))


class WithoutAnAlternative(Identity):
    def left_of(self, space: Space) -> Space:
        first, *others = space.stages
        return make_space(space.name, replace(first, branches=first.branches[:-1]), *others)


class Silent(Identity):
    def lower(self, structures: Structures) -> LoweringResult[Any, Any]:
        return replace(super().lower(structures), report=())


class Forgetful(Identity):
    def lower(self, structures: Structures) -> LoweringResult[Any, Any]:
        return replace(super().lower(structures), decode=lambda c: Configuration({**c, "e": "f"}))


def changed(node: Node, change: Any) -> Any:
    match node:
        case Hyperparameter():
            return change(node)
        case Choice():
            return replace(node, branches=tuple(replace(b, node=changed(b.node, change)) for b in node.branches))
        case Operator() | Product():
            return replace(node, children=tuple(changed(child, change) for child in node.children))


def linear(domain: Domain) -> Domain:
    return replace(domain, log=False) if isinstance(domain, Real) else domain


def members(space: Space) -> list[Configuration]:
    return Sampler(Structures(space)).batch(200, np.random.default_rng(0)).configurations()


def test_a_whole_target_keeps_all_laws() -> None:
    form, space = lower(Identity(), conditional_space()), conditional_space()
    check_samples(form, space, seed=0)
    check_members_accepted(form, members(space))
    check_constructs_reported(form, space)


@pytest.mark.parametrize("target", [WithoutConstraints(), WithoutConditions()], ids=lambda t: type(t).__name__)
def test_what_should_not_be_drawn_is_found(target: Identity) -> None:
    form = lower(target, conditional_space())
    with pytest.raises(AssertionError):
        check_samples(form, conditional_space(), seed=0)


def test_a_lost_alternative_is_found() -> None:
    space = plain_space(2, 3)
    with pytest.raises(AssertionError):
        check_members_accepted(lower(WithoutAnAlternative(), space), members(space))


def test_a_lost_log_scale_is_found() -> None:
    space = make_space("log", choice("e", branch("f", hyperparameter("e.f.rate", Real(1e-4, 1e4, log=True), 0.1))))
    check_log_scale(lower(Identity(), space), Identity.preserves, "e.f.rate", 1.0)
    with pytest.raises(AssertionError):
        check_log_scale(lower(WithoutLogarithms(), space), Identity.preserves, "e.f.rate", 1.0)


def test_a_lost_way_back_is_found() -> None:
    with pytest.raises(AssertionError):
        check_round_trip(lower(Forgetful(), conditional_space()), members(conditional_space()))


def test_a_silent_report_is_found() -> None:
    with pytest.raises(AssertionError):
        check_constructs_reported(lower(Silent(), conditional_space()), conditional_space())

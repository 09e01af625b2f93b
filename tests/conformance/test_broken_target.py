"""The laws of targets can fail: each of these targets loses something, and a law finds it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from spacelang.draws.sampling import Sampler
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain, Real
from spacelang.ir.membership import exclusion
from spacelang.ir.space import Choice, Hyperparameter, Node, Operator, Product, Space
from spacelang.solver.counting import Structures
from spacelang.targets._constructs import Construct
from spacelang.targets._lowered import Keeps, Lowered, exact, report_of
from spacelang.testing.small_spaces import branch, choice, made, number, plain, tuned
from spacelang.testing.target_laws import (
    comes_back,
    draws_members,
    is_reached,
    keeps_logarithms,
    lower,
    tells_every_construct,
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

    keeps: ClassVar[Keeps] = {construct: (exact("as it stands"),) for construct in Construct}

    def lower(self, structures: Structures) -> Lowered[Any, Any]:
        left = self.left_of(structures.space)
        sampler = Sampler(Structures(left))

        def draw(count: int, rng: np.random.Generator) -> Sequence[Configuration]:
            return sampler.columns(count, rng).configurations()

        report = report_of(structures.space, self.keeps)
        return Lowered(Form(), lambda c: c, lambda c: c, lambda c: exclusion(left, c) is None, draw, report)

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
        return made(space.name, replace(first, branches=first.branches[:-1]), *others)


class Silent(Identity):
    def lower(self, structures: Structures) -> Lowered[Any, Any]:
        return replace(super().lower(structures), report=())


class Forgetful(Identity):
    def lower(self, structures: Structures) -> Lowered[Any, Any]:
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
    return Sampler(Structures(space)).columns(200, np.random.default_rng(0)).configurations()


def test_a_whole_target_keeps_all_laws() -> None:
    form, space = lower(Identity(), tuned()), tuned()
    draws_members(form, space, seed=0)
    is_reached(form, members(space))
    comes_back(form, members(space))
    tells_every_construct(form, space)


@pytest.mark.parametrize("target", [WithoutConstraints(), WithoutConditions()], ids=lambda t: type(t).__name__)
def test_what_should_not_be_drawn_is_found(target: Identity) -> None:
    form = lower(target, tuned())
    with pytest.raises(AssertionError):
        draws_members(form, tuned(), seed=0)


def test_a_lost_alternative_is_found() -> None:
    space = plain(2, 3)
    with pytest.raises(AssertionError):
        is_reached(lower(WithoutAnAlternative(), space), members(space))


def test_a_lost_log_scale_is_found() -> None:
    space = made("log", choice("e", branch("f", number("e.f.rate", Real(1e-4, 1e4, log=True), 0.1))))
    keeps_logarithms(lower(Identity(), space), Identity.keeps, "e.f.rate", 1.0)
    with pytest.raises(AssertionError):
        keeps_logarithms(lower(WithoutLogarithms(), space), Identity.keeps, "e.f.rate", 1.0)


def test_a_lost_way_back_is_found() -> None:
    with pytest.raises(AssertionError):
        comes_back(lower(Forgetful(), tuned()), members(tuned()))


def test_a_silent_report_is_found() -> None:
    with pytest.raises(AssertionError):
        tells_every_construct(lower(Silent(), tuned()), tuned())

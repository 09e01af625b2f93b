"""Conformance suite for targets."""

import json
from dataclasses import is_dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from spacelang.draws.sampling import Sampler
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Real, Union
from spacelang.ir.space import Space
from spacelang.plugins import Plugins
from spacelang.solver.counting import Structures
from spacelang.targets._constructs import Construct
from spacelang.targets._lowered import GIANT, Lowered, Preservation, RefusedError, WithSource, document
from spacelang.testing.small_spaces import (
    FINITE,
    SMALL,
    all_structures,
    branch,
    choice,
    continuous,
    made,
    members_by_force,
    number,
    shares,
    spaces,
    span_of,
)
from spacelang.testing.suite import Suite
from spacelang.testing.target_laws import (
    comes_back,
    draws_members,
    is_reached,
    keeps_logarithms,
    lower,
    lower_drawn,
    says_what_is_declared,
    tells_every_construct,
)

GIANTS: tuple[Domain, ...] = (
    Grid(0, 2**53),
    Grid(-(2**53), 5),
    Grid(1 - 2**53, 2**53 - 1),
    Grid(10**30, 10**30 + 7),
    Grid(1, 10**400, log=True),
    Union((Categorical((None,)), Grid(0, 2**60, step=2**58))),
)


def named(space: Space) -> str:
    """Return the name of a space, as a test id."""
    return space.name


class TargetConformance(Suite):
    """Conformance suite for targets: set `target` to the class.

    The compiled space samples only members, and encoding and decoding a member returns it. The report says for every
    construct of a space what became of it, with the verdicts that the target declares in `keeps`.
    """

    target: ClassVar[Any]
    """The class of the target; the suite creates it without options."""

    refuses: ClassVar[bool] = True
    """True if the target may refuse small spaces of the suite, as it declares; tests then skip these spaces."""

    def lowered(self, space: Space) -> Lowered[Any, Any]:
        """Compile a space, and skip the test if the target refuses it and may do so."""
        try:
            return lower(self.target(), space)
        except RefusedError as error:
            if not self.refuses:
                raise
            says_what_is_declared(error.report, self.target.keeps)
            pytest.skip(f"the target refuses the space: {error}")

    def drawn(self) -> SearchStrategy[Space]:
        """Return the strategy of finite spaces for the drawn tests."""
        return spaces()

    def members(self, space: Space) -> list[Configuration]:
        """Return the members of a finite space by brute force, without the target."""
        return [member for structure in all_structures(space) for member in members_by_force(space, structure)]

    def test_is_a_dataclass_with_documented_options(self) -> None:
        target = self.target
        assert is_dataclass(target)
        assert self.target.__doc__
        assert all(option.doc for option in Plugins.options(self.target))

    def test_declares_what_it_makes_of_each_construct(self) -> None:
        assert set(self.target.keeps) == set(Construct)
        for verdicts in self.target.keeps.values():
            assert verdicts
            assert all(verdict.message and verdict.message[0] not in " ." for verdict in verdicts)

    @pytest.mark.parametrize("space", [*FINITE, shares()], ids=named)
    def test_every_member_is_reached_and_comes_back(self, space: Space) -> None:
        form = self.lowered(space)
        found = TargetConformance.members(self, space)
        comes_back(form, found)
        is_reached(form, found)

    def test_every_member_of_a_drawn_space_is_reached_and_comes_back(self) -> None:
        def law(space: Space) -> None:
            form = lower_drawn(self.target(), space)
            found = self.members(space)
            comes_back(form, found)
            is_reached(form, found)

        self.holds(law, space=self.drawn())

    @pytest.mark.parametrize("space", [*SMALL, shares()], ids=named)
    def test_what_the_form_draws_is_a_member(self, space: Space) -> None:
        draws_members(self.lowered(space), space, seed=0)

    def test_what_the_form_of_a_drawn_space_draws_is_a_member(self) -> None:
        def law(space: Space, seed: int) -> None:
            draws_members(lower_drawn(self.target(), space), space, seed)

        self.holds(law, space=self.drawn(), seed=st.integers(0, 2**32 - 1))

    def test_members_with_continuous_values_come_back(self) -> None:
        space = continuous()
        drawn = Sampler(Structures(space)).columns(50, np.random.default_rng(0)).configurations()
        form = self.lowered(space)
        comes_back(form, drawn)
        is_reached(form, drawn)

    @pytest.mark.parametrize("domain", [*GIANTS, Grid(0.0, 1.0, step=1e-17)], ids=str)
    def test_integers_that_floats_do_not_tell_apart_are_refused_with_one_reason(self, domain: Domain) -> None:
        span = span_of("space s\n\nx : int[0, 2^60]", "x")
        space = made("giants", choice("e", branch("f", replace(number("e.f.x", domain, domain.middle), span=span))))
        kept = Construct.INTEGERS if domain in GIANTS else Construct.STEPS
        if GIANT not in self.target.keeps[kept]:
            comes_back(self.lowered(space), [Configuration({"e": "f", "e.f.x": domain.middle})])
            return
        with pytest.raises(RefusedError, match=r"up to 2\^53") as caught:
            lower(self.target(), space)
        (entry,) = [entry for entry in caught.value.report if entry.status is Preservation.REFUSED]
        assert (entry.construct, entry.lines) == (kept.value, (3,))

    def test_the_largest_integers_that_floats_tell_apart_come_back(self) -> None:
        several = Union((Grid(0, 2**52), Categorical((2**60, None))))
        domains: tuple[Domain, ...] = (Grid(1, 2**53 - 1), Grid(1 - 2**53, -1), several)
        nodes = [number(f"e.f.{name}", domain, domain.middle) for name, domain in zip("xyz", domains, strict=True)]
        form = lower(self.target(), made("large", choice("e", branch("f", *nodes))))
        for values in ((1, -1, 2**60), (2**53 - 1, 1 - 2**53, 2**52), (2**53 - 2, 2 - 2**53, 2**52 - 1)):
            member = Configuration({"e": "f", **{node.key: value for node, value in zip(nodes, values, strict=True)}})
            comes_back(form, [member])
            is_reached(form, [member])

    def test_a_log_scale_is_kept_or_told(self) -> None:
        rate = number("e.f.rate", Real(1e-4, 1e4, log=True), 0.1)
        space = made("log", choice("e", branch("f", rate)))
        keeps_logarithms(self.lowered(space), self.target.keeps, "e.f.rate", 1.0)

    @pytest.mark.parametrize("space", SMALL, ids=named)
    def test_the_report_tells_each_construct_of_the_space(self, space: Space) -> None:
        form = self.lowered(space)
        tells_every_construct(form, space)
        says_what_is_declared(form.report, self.target.keeps)
        assert all(entry.status is not Preservation.REFUSED for entry in form.report)

    @pytest.mark.parametrize("space", SMALL, ids=named)
    def test_the_document_has_the_keys_that_are_promised(self, space: Space) -> None:
        name = self.target.__name__.lower()
        written = json.loads(json.dumps(document(name, space, self.lowered(space)), allow_nan=False))
        assert written["target"] == name
        assert written["space"] == space.name
        for entry in written["report"]:
            assert set(entry) == {"construct", "status", "line", "lines", "message"}
            assert entry["status"] in {"exact", "rewritten", "approximated", "refused"}
            assert entry["message"]

    @pytest.mark.parametrize("space", SMALL, ids=named)
    def test_the_form_has_a_text_and_a_graph(self, space: Space) -> None:
        form = self.lowered(space).form
        assert form.to_text().strip()
        assert form.to_dot().startswith("digraph ")
        assert form.to_dot().rstrip().endswith("}")

    @pytest.mark.parametrize("space", SMALL, ids=named)
    def test_source_is_python(self, space: Space) -> None:
        form = self.lowered(space).form
        if isinstance(form, WithSource):
            compile(form.to_python(), "<form>", "exec")

    @pytest.mark.parametrize("space", SMALL, ids=named)
    def test_a_form_made_twice_is_the_same(self, space: Space) -> None:
        def written(form: Lowered[Any, Any]) -> str:
            return json.dumps([document("it", space, form), form.form.to_text(), form.form.to_dot()])

        assert written(self.lowered(space)) == written(self.lowered(space))

"""Conformance suite for targets."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from spacelang.deprecation import make_module_getattr, plugin_attribute, warn_renamed
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Real, Union
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.targets import _lowering
from spacelang.targets._lowering import LoweringResult, Preservation, PreservationTable, RefusedError
from spacelang.testing.search_tests import ConformanceSuite, check_plugin_class
from spacelang.testing.small_spaces import (
    FINITE,
    SMALL,
    all_structures,
    branch,
    brute_force_members,
    choice,
    continuous_space,
    decimal_sum_space,
    hyperparameter,
    make_space,
    space_name,
    spaces,
    span_of,
)

OVERSIZED_DOMAINS: tuple[Domain, ...] = (
    Grid(0, 2**53), Grid(-(2**53), 5), Grid(1 - 2**53, 2**53 - 1), Grid(10**30, 10**30 + 7),
    Grid(1, 10**400, log=True), Union((Categorical((None,)), Grid(0, 2**60, step=2**58))),
)  # fmt: skip


class TargetConformance(ConformanceSuite):
    """Conformance suite for targets: set `target` to the class.

    The compiled space samples only members, and encoding and decoding a member returns it. The report says for every
    construct of a space what became of it, with the verdicts that the target declares in `keeps`.
    """

    target: ClassVar[Any]  # The class of the target; the suite creates it without options
    refuses: ClassVar[bool] = True
    """True if the target may refuse small spaces of the suite, as it declares; tests then skip these spaces."""
    is_lossy: ClassVar[bool] = False
    """True if the target cuts ranges to grids or draws logarithms, as it declares: encoding a member may then change it
    to another one, which encoding does not change any more."""

    @property
    def _preserves(self) -> PreservationTable:
        preserves: PreservationTable = plugin_attribute(self.target, "preserves", "keeps")
        return {**_lowering.ALWAYS, **preserves}

    def lower_or_skip(self, space: Space) -> LoweringResult[Any, Any]:
        """Compile a space; skip the test if the target refuses the space, or fail if `refuses` is False."""
        try:
            return lower(self.target(), space)
        except RefusedError as error:
            if not self.refuses:
                raise
            check_declared_verdicts(error.report, self._preserves)
            pytest.skip(f"the target refuses the space: {error}")

    def space_strategy(self) -> SearchStrategy[Space]:
        """Return the Hypothesis strategy that draws the finite spaces of the tests."""
        return spaces()

    def lowered(self, space: Space) -> LoweringResult[Any, Any]:
        """Call `lower_or_skip`: this is its old name."""
        warn_renamed("TargetConformance.lowered", "lower_or_skip")
        return self.lower_or_skip(space)

    def drawn(self) -> SearchStrategy[Space]:
        """Call `space_strategy`: this is its old name."""
        warn_renamed("TargetConformance.drawn", "space_strategy")
        return self.space_strategy()

    def members(self, space: Space) -> list[Configuration]:
        """Return the members of a finite space by brute force, without the target."""
        return [member for structure in all_structures(space) for member in brute_force_members(space, structure)]

    def test_is_a_dataclass_with_documented_options(self) -> None:
        check_plugin_class(self.target)

    def test_it_declares_verdicts_for_every_construct(self) -> None:
        assert set(self._preserves) == set(_lowering.Construct)
        for verdicts in self._preserves.values():
            assert verdicts
            assert all(verdict.message and verdict.message[0] not in " ." for verdict in verdicts)

    @pytest.mark.parametrize("space", [*FINITE, decimal_sum_space()], ids=space_name)
    def test_decoding_an_encoded_member_returns_it(self, space: Space) -> None:
        check_members_accepted(self.lower_or_skip(space), TargetConformance.members(self, space))

    def test_decoding_an_encoded_member_of_a_drawn_space_returns_it(self) -> None:
        def check_case(space: Space) -> None:
            check_members_accepted(lower_drawn_space(self.target(), space), self.members(space))

        self.check_property(check_case, space=plugin_attribute(self, "space_strategy", "drawn")())

    @pytest.mark.parametrize("space", [*SMALL, decimal_sum_space()], ids=space_name)
    def test_samples_are_members(self, space: Space) -> None:
        check_samples(self.lower_or_skip(space), space, seed=0)

    def test_samples_of_a_drawn_space_are_members(self) -> None:
        def check_case(space: Space, seed: int) -> None:
            check_samples(lower_drawn_space(self.target(), space), space, seed)

        self.check_property(
            check_case, space=plugin_attribute(self, "space_strategy", "drawn")(), seed=st.integers(0, 2**32 - 1)
        )

    def test_decoding_an_encoded_continuous_member_returns_it(self) -> None:
        space = continuous_space()
        drawn = Sampler(Structures(space)).batch(50, np.random.default_rng(0)).configurations()
        form = self.lower_or_skip(space)
        if self.is_lossy:
            drawn = [form.decode(form.encode(each)) for each in drawn]
            assert all(first_exclusion(space, each) is None for each in drawn)
            assert any(entry.status is Preservation.APPROXIMATED for entry in form.report)
        check_members_accepted(form, drawn)

    @pytest.mark.parametrize("domain", [*OVERSIZED_DOMAINS, Grid(0.0, 1.0, step=1e-17)], ids=str)
    def test_integers_beyond_float_precision_are_refused_with_one_reason(self, domain: Domain) -> None:
        span = span_of("space s\n\nx : int[0, 2^60]", "x")
        giant = replace(hyperparameter("e.f.x", domain, domain.representative), span=span)
        space = make_space("giants", choice("e", branch("f", giant)))
        kept = _lowering.Construct.INTEGERS if domain in OVERSIZED_DOMAINS else _lowering.Construct.STEPS
        if _lowering.OVERSIZED not in self._preserves[kept]:
            check_round_trip(self.lower_or_skip(space), [Configuration({"e": "f", "e.f.x": domain.representative})])
            return
        with pytest.raises(RefusedError, match=r"up to 2\^53") as caught:
            lower(self.target(), space)
        (entry,) = [entry for entry in caught.value.report if entry.status is Preservation.REFUSED]
        assert (entry.construct, entry.lines) == (kept.value, (3,))

    def test_the_largest_integers_within_float_precision_are_decoded_exactly(self) -> None:
        several = Union((Grid(0, 2**52), Categorical((2**60, None))))
        domains: tuple[Domain, ...] = (Grid(1, 2**53 - 1), Grid(1 - 2**53, -1), several)
        named = zip("xyz", domains, strict=True)
        nodes = [hyperparameter(f"e.f.{name}", domain, domain.representative) for name, domain in named]
        form = lower(self.target(), make_space("large", choice("e", branch("f", *nodes))))
        for values in ((1, -1, 2**60), (2**53 - 1, 1 - 2**53, 2**52), (2**53 - 2, 2 - 2**53, 2**52 - 1)):
            member = Configuration({"e": "f", **{node.key: value for node, value in zip(nodes, values, strict=True)}})
            check_members_accepted(form, [member])

    def test_a_log_scale_is_preserved_or_reported(self) -> None:
        rate = hyperparameter("e.f.rate", Real(1e-4, 1e4, log=True), 0.1)
        space = make_space("log", choice("e", branch("f", rate)))
        check_log_scale(self.lower_or_skip(space), self._preserves, "e.f.rate", 1.0)

    @pytest.mark.parametrize("space", SMALL, ids=space_name)
    def test_the_report_lists_every_construct_of_the_space(self, space: Space) -> None:
        form = self.lower_or_skip(space)
        check_constructs_reported(form, space)
        check_declared_verdicts(form.report, self._preserves)
        assert all(entry.status is not Preservation.REFUSED for entry in form.report)

    @pytest.mark.parametrize("space", SMALL, ids=space_name)
    def test_the_document_has_the_documented_keys(self, space: Space) -> None:
        name = self.target.__name__.lower()
        written = json.loads(
            json.dumps(_lowering.compiled_document(name, space, self.lower_or_skip(space)), allow_nan=False)
        )
        assert written["target"] == name
        assert written["space"] == space.name
        for entry in written["report"]:
            assert set(entry) == {"construct", "status", "line", "lines", "message"}
            assert entry["status"] in {"exact", "rewritten", "approximated", "refused"}
            assert entry["message"]

    @pytest.mark.parametrize("space", SMALL, ids=space_name)
    def test_the_compiled_space_has_a_text_and_a_graph(self, space: Space) -> None:
        form = self.lower_or_skip(space).form
        assert form.to_text().strip()
        assert form.to_dot().startswith("digraph ")
        assert form.to_dot().rstrip().endswith("}")

    @pytest.mark.parametrize("space", SMALL, ids=space_name)
    def test_the_generated_source_is_valid_python(self, space: Space) -> None:
        form = self.lower_or_skip(space).form
        if isinstance(form, _lowering.SourceForm):
            compile(form.to_python(), "<form>", "exec")

    @pytest.mark.parametrize("space", SMALL, ids=space_name)
    def test_compiling_twice_gives_the_same_result(self, space: Space) -> None:
        def written(form: LoweringResult[Any, Any]) -> str:
            return json.dumps([_lowering.compiled_document("it", space, form), form.form.to_text(), form.form.to_dot()])

        assert written(self.lower_or_skip(space)) == written(self.lower_or_skip(space))


SAMPLES = 20


def lower(target: _lowering.Target, space: Space) -> LoweringResult[Any, Any]:
    """Compile a space that the target must not refuse."""
    found = target.lower(Structures(space))
    assert isinstance(found, LoweringResult)
    return found


def lower_drawn_space(target: _lowering.Target, space: Space) -> LoweringResult[Any, Any]:
    """Compile a drawn space; discard the example if the space is empty or the target refuses it as declared."""
    structures = Structures(space)
    if not structures.count:
        reject()
    try:
        return target.lower(structures)
    except RefusedError as error:
        report = error.report
    assert any(entry.status is Preservation.REFUSED for entry in report)
    check_declared_verdicts(report, target.preserves)
    return reject()


def check_declared_verdicts(report: Iterable[_lowering.ReportEntry], keeps: PreservationTable) -> None:
    """Check that each report entry on a construct has a verdict declared by the target, and positions in the text."""
    for entry in (each for each in report if not each.is_about_form):
        assert _lowering.Verdict(entry.status, entry.message) in keeps[_lowering.Construct(entry.construct)]
        assert entry.spans


def check_constructs_reported(form: LoweringResult[Any, Any], space: Space) -> None:
    """Check that the report covers every construct of the space at all its places."""
    report_counts: Counter[str] = Counter()
    for entry in (each for each in form.report if not each.is_about_form):
        report_counts[entry.construct] += len(entry.spans)
    there = {construct.value: len(spans) for construct, spans in _lowering.constructs_of(space).items()}
    assert report_counts.keys() == there.keys()
    assert all(report_counts[construct] >= places for construct, places in there.items())


def check_round_trip(form: LoweringResult[Any, Any], members: Iterable[Configuration]) -> None:
    """Check that decoding an encoded configuration returns it."""
    for configuration in members:
        assert form.decode(form.encode(configuration)) == configuration


def check_members_accepted(form: LoweringResult[Any, Any], members: Sequence[Configuration]) -> None:
    """Check that the compiled space accepts the encoding of every given member, and decodes it."""
    check_round_trip(form, members)
    for configuration in members:
        assert form.accepts(form.encode(configuration)), configuration


def check_samples(form: LoweringResult[Any, Any], space: Space, seed: int) -> None:
    """Check that samples of the compiled space are accepted by it and decode to members of the space."""
    drawn = form.sample(SAMPLES, np.random.default_rng(seed))
    assert len(drawn) == SAMPLES
    for encoding in drawn:
        assert form.accepts(encoding)
        found = first_exclusion(space, form.decode(encoding))
        assert found is None, found


def check_log_scale(form: LoweringResult[Any, Any], keeps: PreservationTable, key: str, middle: float) -> None:
    """Check that about half of the samples have a value of `key` below `middle`, the geometric mean of its bounds.

    Does nothing if the target does not declare that it preserves log scales.
    """
    if keeps[_lowering.Construct.LOG][0].status not in (Preservation.EXACT, Preservation.REWRITTEN):
        return
    drawn = [form.decode(encoding) for encoding in form.sample(200, np.random.default_rng(0))]
    values = [float(str(configuration[key])) for configuration in drawn if key in configuration]
    below = sum(value < middle for value in values) / len(values)
    assert 0.25 < below < 0.75, f"{below} of the draws are below {middle}"


__getattr__ = make_module_getattr(
    __name__, {"check_members": "check_members_accepted", "lower_drawn": "lower_drawn_space"}
)

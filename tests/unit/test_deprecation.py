"""Old names of the public Python interface work for one version, each with a warning that names the new one."""

import pickle
import warnings
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import spacelang as sl
from spacelang import contracts
from spacelang.deprecation import plugin_attribute
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Real
from spacelang.ir.search_protocol import Ask, SearchEvent
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.black_box import BlackBoxObjective
from spacelang.runtime.budget import Budget
from spacelang.runtime.listeners import SilentListener, accept_old_methods
from spacelang.runtime.objective import identifying_settings, prefix_key_function, recorded_columns
from spacelang.runtime.storage.run_header import DataFacts
from spacelang.targets.random import Random
from spacelang.testing import TargetConformance, driving, faults

REQUEST = Request(Configuration({"a": 1}))


@pytest.mark.parametrize(
    ("old", "new"),
    [("Told", "SearchEvent"), ("Lowered", "LoweringResult"), ("together", "ask_all"), ("Aim", "ObjectiveInfo")],
)
def test_contracts_serve_old_names(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"renamed to `{new}`"):
        assert getattr(contracts, old) is getattr(contracts, new)


def test_every_old_name_of_the_contracts_leads_somewhere() -> None:
    old = (
        "Allowance",
        "Asking",
        "BlackBox",
        "Configurations",
        "Keeps",
        "Later",
        "Part",
        "Scale",
        "Seen",
        "Selection",
        "Value",
    )
    for name in (*old, "Workers", "exclusion", "keeps_of", "minimised", "order_of", "part", "questions", "reported"):
        with pytest.warns(DeprecationWarning, match="was renamed"):
            assert getattr(contracts, name) is not None


def test_unknown_names_stay_unknown() -> None:
    with pytest.raises(AttributeError, match="has no attribute `Nonsense`"):
        _ = contracts.Nonsense


def test_the_package_serves_its_old_name() -> None:
    with pytest.warns(DeprecationWarning, match="Suggestion"):
        assert sl.Asked is sl.Suggestion


def test_old_fields_are_read_and_accepted() -> None:
    with pytest.warns(DeprecationWarning, match="`requests`"):
        ask = Ask(begin=(REQUEST,))  # type: ignore[call-arg]
    assert ask == Ask(requests=(REQUEST,))
    with pytest.warns(DeprecationWarning, match="`requests`"):
        assert ask.begin == (REQUEST,)  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(ask)) == ask
    with pytest.warns(DeprecationWarning, match="`idle_workers`"):
        assert SearchEvent(None, 3).room == 3  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="`representative`"):
        assert Real(0.0, 1.0).middle == 0.5  # type: ignore[attr-defined]


def test_old_methods_are_called() -> None:
    with pytest.warns(DeprecationWarning, match="`is_answer_to`"):
        assert Trial(REQUEST, 0.5).answers(REQUEST)  # type: ignore[attr-defined]


def test_old_attributes_of_observations_are_read() -> None:
    seen = contracts.Observations(np.array([[0.5], [0.25]]), np.array([2.0, 1.0]), np.empty((1, 1)))
    with pytest.warns(DeprecationWarning, match="`best_point`"):
        assert seen.best == [0.25]  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="`count_with_pending`"):
        assert seen.count == 3  # type: ignore[attr-defined]


def test_old_modules_and_functions_of_the_suites_are_found() -> None:
    with pytest.warns(DeprecationWarning, match="simulated_workers"):
        from spacelang.testing.crews import Shuffled
    assert Shuffled.__name__ == "ShuffledWorkers"
    with pytest.warns(DeprecationWarning, match="`hash_loss`"):
        assert driving.arbitrary is driving.hash_loss
    with pytest.warns(DeprecationWarning, match="`exit_with_status`"):
        assert faults.leave is faults.exit_with_status


@dataclass(frozen=True)
class OldTarget:
    keeps = "as before"


@pytest.mark.parametrize("plugin", [OldTarget, OldTarget()])
def test_attributes_of_plug_ins_are_found_under_both_names(plugin: Any) -> None:
    with pytest.warns(DeprecationWarning, match=r"`OldTarget\.keeps` was renamed to `preserves`"):
        assert plugin_attribute(plugin, "preserves", "keeps") == "as before"
    with pytest.raises(AttributeError):
        plugin_attribute(plugin, "create", "hired")


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("spacelang.runtime.ensembles.hard_vote", "HardVote", "OneHotProbabilityClassifier"),
        ("spacelang.runtime.pipelines.columns", "Strings", "StringColumnSelector"),
        ("spacelang.runtime.pipelines.configured", "Configured", "ConfigurationEstimator"),
        ("spacelang.ir.task", "Goal", "ScorerGoal"),
        ("spacelang.text", "Origin", "SourceFileLocation"),
        ("spacelang.analysis.diagnostic_collector", "CheckContext", "CheckSettings"),
        ("spacelang.testing.optimizers", "quantized_loss_function", "stepped_loss_with_failures"),
        ("spacelang.testing.draw_functions", "draw_one", "draw_one"),
        ("spacelang.testing", "BoundingConformance", "ExecutorLimitsConformance"),
        ("spacelang.testing.driving", "drive", "drive_search"),
    ],
)
def test_pickled_objects_find_their_classes_and_functions_by_old_names(module: str, old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match="was renamed"):
        found = pickle.loads(f"c{module}\n{old}\n.".encode())
    assert found.__name__ == new


def test_a_listener_may_have_its_methods_under_their_old_names() -> None:
    class OldListener(SilentListener):
        def trial(self, record: Any, best: Any) -> None:
            heard.append((record, best))

    heard: list[Any] = []
    with pytest.warns(DeprecationWarning, match=r"`OldListener\.trial` was renamed to `on_trial`"):
        listener = accept_old_methods(OldListener())
    listener.on_start(Budget())
    listener.on_trial("record", "best")  # type: ignore[arg-type]
    assert heard == [("record", "best")]
    new = SilentListener()
    assert accept_old_methods(new) is new


def test_a_plug_in_may_override_an_attribute_under_its_old_name() -> None:
    class OldObjective(BlackBoxObjective):
        further = MappingProxyType({"version": "2"})

    class NewObjective(OldObjective):
        identifying_settings = MappingProxyType({"version": "3"})

    facts = DataFacts("box", 0, 0, "1")
    with pytest.warns(DeprecationWarning, match="`identifying_settings`"):
        assert identifying_settings(OldObjective(facts)) == {"version": "2"}
    assert identifying_settings(NewObjective(facts)) == {"version": "3"}
    assert identifying_settings(BlackBoxObjective(facts)) == {}


def test_an_objective_may_name_its_columns_and_prefix_keys_as_before() -> None:
    class OldObjective(BlackBoxObjective):
        recorded = ("metric.f1",)

        def route(self, request: Request) -> tuple[object, ...]:
            return (request.fidelity,)

    old = OldObjective(DataFacts("box", 0, 0, "1"))
    with pytest.warns(DeprecationWarning, match="`recorded_columns`"):
        assert recorded_columns(old) == ("metric.f1",)
    with pytest.warns(DeprecationWarning, match="`prefix_key`"):
        found = prefix_key_function(old)
    assert found is not None
    assert found(REQUEST) == (None,)


def test_build_questions_accepts_its_old_keyword() -> None:
    space = sl.parse(
        "space s\nabstract F { lo : int[1, 4], hi : int[1, 4] }\nstage f = F\nrequire f.lo <= f.hi\n"
    ).checked
    preserves = contracts.preserved_by_reductions(accepts_numbers)
    arguments = (contracts.Structures(space), accepts_numbers, preserves)
    with pytest.warns(DeprecationWarning, match=r'renamed to `sharing="ranges"`'):
        old = contracts.build_questions(*arguments, varying_bounds=True)
    new = contracts.build_questions(*arguments, sharing="ranges")
    assert list(old.by_name) == list(new.by_name) != list(contracts.build_questions(*arguments).by_name)


def accepts_numbers(domain: contracts.SimpleDomain) -> bool:
    """Return True for all domains but floats."""
    return not isinstance(domain, Real)


def test_old_methods_of_the_suites_are_called() -> None:
    class Suite(TargetConformance):
        target = Random

    space, suite = sl.parse("space s\nstage model = GaussianNB | LinearSVC\n").checked, Suite()
    with pytest.warns(DeprecationWarning, match="`lower_or_skip`"):
        assert suite.lowered(space).form.to_json() == suite.lower_or_skip(space).form.to_json()
    with pytest.warns(DeprecationWarning, match="`space_strategy`"):
        assert suite.drawn() is not None
    numbers: set[int] = set()

    def check_case(number: int) -> None:
        numbers.add(number)

    with pytest.warns(DeprecationWarning, match="`check_property`"):
        suite.check_law(check_case, number=st.just(3))
    assert numbers == {3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # pytest reads every attribute of a class that it collects
        assert all(getattr(Suite, name) is not None for name in dir(Suite) if not name.startswith("_"))

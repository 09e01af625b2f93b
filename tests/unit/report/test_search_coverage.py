"""What a search leaves as it is, in words."""

import io
from dataclasses import replace

import pytest
from cheap import NAMES
from rich.console import Console

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid, Real
from spacelang.ir.expr import Compare, Constant, Reference
from spacelang.ir.search_protocol import ask_all
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.report.run_document import run_json_document
from spacelang.report.run_facts import RunFacts, make_search_coverage
from spacelang.report.summary import print_summary
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import EndReason, Outcome
from spacelang.runtime.scoring.metric import named_metric
from spacelang.runtime.search_loop import run
from spacelang.testing.small_spaces import branch, choice, forbid, hyperparameter, make_space, plain_space

FACTS = RunFacts("blds", 0, named_metric("accuracy"), training_size=100)
SELECTING = ("blds", "lds", "mlds", "cmab", "daub")


def ranges() -> Space:
    """Two alternatives with hyperparameters of their own; a constraint forbids one of the defaults."""
    first = branch("f", hyperparameter("e.f.x", Real(0.0, 1.0), 0.5), hyperparameter("e.f.n", Grid(1, 9), 5))
    return make_space(
        "ranges", choice("e", first, "g"), constraints=(forbid(Compare("==", Reference("e.f.n"), Constant(5))),)
    )


BEST = Configuration({"e": "f", "e.f.x": 0.5, "e.f.n": 6})


def outcome(configuration: Configuration = BEST) -> Outcome:
    def search():  # type: ignore[no-untyped-def]
        yield from ask_all([Request(configuration)])

    return run(search(), InProcess(lambda request: Trial(request, 0.25)), Budget(), clock=lambda: 0.0)


def printed(found: Outcome, facts: RunFacts) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_summary(found, facts, console)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("name", SELECTING)
def test_defaults_are_marked_and_the_ending_is_of_them(name: str) -> None:
    searched = make_search_coverage(OPTIMIZERS.load(name)(), ranges())
    facts = replace(FACTS, optimizer=name, searched=searched)
    text = printed(outcome(), facts)
    assert "\n  e  f  f.n=6, f.x=0.5  (adjusted default, default)\n" in text
    assert "Not searched: the 2 hyperparameters of `ranges` are kept at their defaults; `--optimizer auto`" in text
    assert "every pipeline was tried, but only with its default hyperparameters." in text
    assert "nothing left to try" not in text
    found = run_json_document(outcome(), facts)
    assert (found["hyperparameters"], found["at_defaults"]) == ("default", ["e.f.x"])


@pytest.mark.parametrize("name", SELECTING)
def test_what_is_drawn_once_is_marked_as_such(name: str) -> None:
    searched = make_search_coverage(OPTIMIZERS.load(name)(hyperparameters="sample"), ranges())
    facts = replace(FACTS, searched=searched)
    text = printed(outcome(), facts)
    assert "\n  e  f  f.n=6, f.x=0.5  (drawn once)\n" in text
    assert "are drawn once for each pipeline; `--optimizer auto` searches the hyperparameters." in text
    assert "every pipeline was tried, but only with the hyperparameters that were drawn for it." in text
    found = run_json_document(outcome(), facts)
    assert (found["hyperparameters"], found["at_defaults"]) == ("once", [])


@pytest.mark.parametrize("name", ["random", "hyperband", "successive_halving"])
def test_what_is_searched_is_not_marked(name: str) -> None:
    searched = make_search_coverage(OPTIMIZERS.load(name)(), ranges())
    facts = replace(FACTS, searched=searched)
    text = printed(outcome(), facts)
    assert searched.unsearched_hyperparameters_sentence == searched.remedy == ""
    assert "\n  e  f  f.n=6, f.x=0.5\n" in text
    assert "the optimizer has nothing left to try" in text
    assert run_json_document(outcome(), facts)["hyperparameters"] == "searched"
    kept = make_search_coverage(OPTIMIZERS.load(name)(hyperparameters="default"), ranges())
    assert kept.remedy == "`--set hyperparameters=sample` searches the hyperparameters"


@pytest.mark.parametrize("name", NAMES)
def test_a_space_without_hyperparameters_has_nothing_to_be_said(name: str) -> None:
    searched = make_search_coverage(OPTIMIZERS.load(name)(), plain_space(2, 2))
    assert searched.unsearched_hyperparameters_sentence == ""
    assert searched.end_reason_text(EndReason.EXHAUSTED) == "the optimizer has nothing left to try"


def test_other_endings_are_what_they_are() -> None:
    searched = make_search_coverage(OPTIMIZERS.load("blds")(), ranges())
    assert searched.end_reason_text(EndReason.BUDGET) == "the budget is used up"
    assert searched.end_reason_text(EndReason.INTERRUPTED) == "interrupted"


def test_a_single_hyperparameter_and_a_table_of_defaults() -> None:
    space = make_space("one", hyperparameter("x", Real(0.0, 1.0), 0.5))
    searched = make_search_coverage(OPTIMIZERS.load("blds")(), space, has_defaults_only=True)
    assert searched.unsearched_hyperparameters_sentence == "the only hyperparameter of `one` is kept at its default"
    assert searched.remedy == "", "nothing else is known"

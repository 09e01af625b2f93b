"""The page of stored runs: what it says, that nothing of a file is markup, and that it needs nothing beside itself."""

import json
import re
import sqlite3
from base64 import b64encode
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import HOSTILE, Page, full, hostile, odd, written
from storing import header, space, trial
from trying import few

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import LossName, Status
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.report.page.axes import (
    ScoreAxis,
    evenly_spaced_items,
    format_seconds,
    largest_loss_without_outliers,
    make_axis_for_values,
    make_time_axis,
)
from spacelang.report.page.importance import MIN_TRIALS, compute_importances
from spacelang.report.page.incumbent_curves import (
    make_curve_comparison_plot,
    make_curve_plot,
    scores_at_common_times,
)
from spacelang.report.page.rendering import _environment, render_page
from spacelang.report.page.run_data import read_run_data
from spacelang.report.stored_run_output import stored_run_document
from spacelang.report.trial_results import HeldOutSummary, summarize_held_out_rows
from spacelang.runtime.storage.run_header import DataFacts
from spacelang.runtime.storage.store import Store
from spacelang.syntax.parser_tables import highlight

SECTIONS = {"time", "best", "mattered", "parallel", "tree", "bounds", "cost", "failed", "space", "run"}


def read(*stores: Path) -> Page:
    """The page of some stores, after all that holds for every page."""
    runs = [Store.read(each) for each in stores]
    try:
        text = render_page(runs)
    finally:
        for each in runs:
            each.close()
    found = Page(text)
    assert not found.open
    must_stand_alone(text, found)
    return found


def must_stand_alone(text: str, found: Page) -> None:
    assert text.encode()
    tags = {tag for tag, _ in found.elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "form", "base"}
    for tag, attributes in found.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset")]
        assert attributes.get("href", "#").startswith("#") or attributes == {"rel": "icon", "href": "data:,"}, tag
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    said = [attributes[name] for _, attributes in found.elements for name in REFERENCES if name in attributes]
    assert {each for names in said for each in names.split()} <= set(ids)
    (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    mark = b64encode(sha256(style.encode()).digest()).decode()
    policies = [each["content"] for tag, each in found.elements if each.get("http-equiv") == "Content-Security-Policy"]
    assert policies == [
        f"default-src 'none'; style-src 'sha256-{mark}'; img-src data:; base-uri 'none'; form-action 'none'"
    ]


REFERENCES = ("aria-labelledby", "aria-describedby")


def test_a_run_is_told_in_all_its_sections(tmp_path: Path) -> None:
    path = full(tmp_path / "run.db")
    found = read(path)
    assert found.heads == SECTIONS
    with Store.read(path) as run:
        known = stored_run_document(run)
    said = found.said
    best = known["best"][0]
    assert f"{known['loss']:.6g}" in said
    assert "roc_auc on the test set 0.8 95 % interval: 0.7 to 0.85" in said
    assert "leaves <= 4 on the test set: 3.5 [3, 4.5]; this may be chance" in said
    assert "66 trials" in said or "trials 66" in said
    assert "3 errors, 2 timeouts" in said
    assert "that score is optimistic. The score on the test set, which no trial saw, is not." in said
    assert best["trial"] == known["tested"]
    pictures = [each for tag, each in found.elements if tag == "svg" and each.get("role") == "img"]
    assert len(pictures) == 3  # the curve, the lines side by side, the bound
    assert all("aria-labelledby" in each for each in pictures)


def test_counts_of_the_tree_failures_and_bounds_are_those_of_the_trials(tmp_path: Path) -> None:
    from spacelang.report.page.constraints_costs_failures import alternative_costs, constraint_charts, failure_reasons
    from spacelang.report.page.tree_tables import decisions_and_alternatives_table

    with Store.read(full(tmp_path / "run.db")) as run:
        told = read_run_data(run)
        tree, reasons, kept, cost = (
            decisions_and_alternatives_table(told),
            failure_reasons(told),
            constraint_charts(told),
            alternative_costs(told),
        )
    assert tree is not None
    assert cost is not None
    taken = [record.trial.request.configuration["estimator"] for record in told.records]
    losses = [record.trial.loss for record in told.records]
    rows = {each.label.removesuffix(" (default)"): each for each in tree.rows}
    for name in ("LogisticRegression", "DecisionTreeClassifier"):
        assert rows[name].visits == taken.count(name)
        assert rows[name].failed == sum(loss is None for loss, each in zip(losses, taken, strict=True) if each == name)
    assert sum(each.trials for each in reasons[0]) == losses.count(None)
    assert reasons[1] == 0
    (bound,) = kept
    values = [each.value for record in told.successful_trials for each in record.trial.constraints]
    assert (bound.holding, bound.measured) == (values.count(3.0), len(values))
    assert bound.unknown == sum(not np.isfinite(each) for each in values)
    assert (
        (bound.satisfying_svg_path + bound.violating_svg_path).count("M") == bound.drawn == len(values) - bound.unknown
    )
    spent = sum(each.share for each in cost.rows if each.decision == "estimator")
    assert spent == pytest.approx(100)


@pytest.mark.parametrize("where", ["text", "definition"])
def test_nothing_of_a_strangers_file_is_markup(where: str, tmp_path: Path) -> None:
    path = hostile(tmp_path / "run.db")
    if where == "definition":
        path = written(tmp_path / "other.db", {})
        named = {"definition": json.dumps(json.dumps({"name": HOSTILE})), "space": json.dumps(HOSTILE)}
        _rewrite(path, named)
    found = read(path)  # no script, no picture, no attribute that acts, each element closed
    assert "\u202e" not in found.said
    assert "\x1b" not in found.said
    assert "<script>pwned=1</script>" in found.said
    assert where == "definition" or "{{7*7}}" in found.said


def _rewrite(path: Path, facts: dict[str, str]) -> None:
    from spacelang.runtime.storage.store_file import HEADER_DIGEST_NAME, _header_digest

    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.executemany("UPDATE header SET value=? WHERE name=?", [(value, name) for name, value in facts.items()])
    rows = dict(connection.execute("SELECT name, value FROM header WHERE name != ?", (HEADER_DIGEST_NAME,)))
    connection.execute("UPDATE header SET value=? WHERE name=?", (_header_digest(rows).hex(), HEADER_DIGEST_NAME))
    connection.commit()
    connection.close()


def test_a_template_writes_no_text_as_it_is() -> None:
    template = _environment().from_string('<p title="{{ text }}">{{ text }}</p>')
    (element,) = Page(template.render(text=HOSTILE)).elements
    assert "&lt;script&gt;" in template.render(text=HOSTILE)
    assert element[1]["title"].startswith("<script>")
    assert len(template.render(text="x" * 10_000)) < 1_000
    with pytest.raises(ValueError, match="invalid characters"):
        _environment().from_string("{{ path|drawn }}").render(path="M0 0<script>")


def test_odd_runs_have_pages(tmp_path: Path) -> None:
    pages = {path.stem: read(path) for path in odd(tmp_path)}
    assert "There are no trials yet." in pages["empty"].said
    assert pages["empty"].heads == {"time", "space", "run"}
    assert "No trial has succeeded." in pages["failed"].said
    assert "unknown reason" in pages["failed"].said
    assert "killed" in pages["killed"].said
    assert "At least 50 are needed" in pages["single"].said or "mattered" not in pages["single"].heads
    assert "no importances can be given" in pages["same"].said
    assert "parallel" not in pages["few_rows"].heads


def test_what_has_no_data_is_judged_on_no_rows(tmp_path: Path) -> None:
    nothing = DataFacts("f", 0, 0, "0" * 64)
    said = read(written(tmp_path / "run.db", {1: {}, 2: {"fidelity": 3}}, data=nothing, validation=None)).said
    assert "best roc_auc 0 1 - roc_auc 1" in said
    assert "held-out" not in said
    assert "fidelity" in said


def test_several_runs_are_compared_where_they_can_be(tmp_path: Path) -> None:
    full(tmp_path / "a.db", count=20)
    full(tmp_path / "b.db", count=30)
    written(tmp_path / "c.db", {1: {}}, metric="1 - accuracy")
    found = read(*sorted(tmp_path.glob("*.db")))
    assert "3 runs compared" in found.said
    titles = [each for tag, each in found.elements if tag == "h3" and each.get("id", "").startswith("group")]
    assert len(titles) == 1
    assert [each["id"] for tag, each in found.elements if tag == "article"] == ["r1", "r2", "r3"]


# ---- parts

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=few(30))
@given(st.lists(FINITE, max_size=5))
def test_an_axis_has_room_for_its_numbers_and_a_few_ticks(values: list[float]) -> None:
    axis = make_axis_for_values(values)
    assert axis.low < axis.high
    places = [axis.position(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    ticks = axis.ticks
    assert 0 < len(ticks) <= 25
    assert [each.at for each in ticks] == sorted({each.at for each in ticks})
    assert all(0 <= each.at <= 100 and each.label for each in ticks)


@given(st.integers(0, 300), st.integers(2, 40))
def test_what_is_thinned_keeps_its_ends(count: int, most: int) -> None:
    items = [*range(count)]
    found = [*evenly_spaced_items(items, most)]
    assert found == sorted(set(found))
    assert len(found) == min(count, most)
    assert found[:1] == items[:1]
    assert found[-1:] == items[-1:]


def test_times_have_their_units() -> None:
    assert [format_seconds(each) for each in (0.0, 1.5, 300.0, 9000.0)] == ["0 s", "1.5 s", "5 min", "2.5 h"]
    assert make_time_axis(7200.0).position(3600.0) == pytest.approx(50.0)
    assert make_time_axis(0.0).position(0.0) == 0.0


@given(st.text(st.sampled_from(' \n"`#@ab1.{}[]=log stagenone'), max_size=60))
def test_the_pieces_of_a_text_are_the_text(text: str) -> None:
    assert "".join(piece for _, piece in highlight(text)) == text


def test_pieces_have_kinds() -> None:
    text = 'stage last = SVC { C : float[1e-3, 2] log @prior "a" } # no\n'
    kinds = [(kind, piece) for kind, piece in highlight(text) if kind]
    assert kinds == [
        ("keyword", "stage"),
        ("keyword", "float"),
        ("number", "1e-3"),
        ("number", "2"),
        ("keyword", "log"),
        ("annotation", "@prior"),
        ("string", '"a"'),
        ("comment", "# no"),
    ]


# ---- what mattered


def mattered(path: Path, losses: "dict[int, float | None]") -> "object":
    rng = np.random.default_rng(0)
    over = space()
    store = Store.create(path, header(over), durable=False)
    for index, loss in losses.items():
        at = rng.integers(2)
        values = (
            {"estimator.C": float(10 ** rng.uniform(-2, 2))}
            if at
            else {"estimator.max_depth": int(rng.integers(1, 21))}
        )
        estimator = "LogisticRegression" if at else "DecisionTreeClassifier"
        scaler = "StandardScaler" if rng.integers(2) else "none"
        configuration = Configuration({"scaler": scaler, "estimator": estimator, **values})
        told = loss if loss is not None else float(np.log10(values.get("estimator.C", 1.0)))
        store.append(trial(index, configuration=configuration, loss=told))
    store.end_session("budget", 1.0)
    with Store.read(path) as run:
        return compute_importances(read_run_data(run))


def test_what_the_loss_depends_on_matters_and_nothing_else(tmp_path: Path) -> None:
    found = mattered(tmp_path / "run.db", dict.fromkeys(range(1, 161)))
    by_name = {each.address: each for each in found.rows}  # type: ignore[attr-defined]
    number = by_name["estimator.LogisticRegression.C"]
    assert found.explained > 0.8  # type: ignore[attr-defined]
    assert number.low > 0.5
    assert number.low <= number.mean <= number.high
    for name in ("scaler", "estimator.DecisionTreeClassifier.max_depth"):
        assert by_name[name].high < 0.1
    assert by_name["estimator"].mean >= number.mean - 0.2  # it takes the number along
    assert number.active == pytest.approx(80, abs=25)


def test_few_trials_and_trials_that_are_alike_say_nothing(tmp_path: Path) -> None:
    few = mattered(tmp_path / "few.db", dict.fromkeys(range(1, MIN_TRIALS), None))
    assert few.has_too_few_trials  # type: ignore[attr-defined]
    alike = mattered(tmp_path / "alike.db", dict.fromkeys(range(1, MIN_TRIALS + 1), 0.5))
    assert not alike.has_too_few_trials  # type: ignore[attr-defined]
    assert not alike.rows  # type: ignore[attr-defined]


# ---- intervals of a loss alone


def test_the_interval_of_an_accuracy_is_wilsons() -> None:
    found = HeldOutSummary("1 - accuracy", 10).loss_interval(0.5)
    assert found == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert HeldOutSummary("1 - accuracy", 10).loss_interval(0.0) == pytest.approx((0.0, 0.2775), abs=1e-4)


@pytest.mark.parametrize(("fewer", "more", "apart"), [(20, 40, 1.0), (40, 60, 3.0)])
def test_the_interval_of_an_area_holds_what_it_is_of(fewer: int, more: int, apart: float) -> None:
    rng, truth = np.random.default_rng(0), 1 - NormalDist().cdf(apart / 2**0.5)
    judges, held = HeldOutSummary("1 - roc_auc", fewer + more, 2, fewer), 0
    for _ in range(300):
        high, low = rng.normal(apart, 1, fewer), rng.normal(0, 1, more)
        found = judges.loss_interval(1 - float((high[:, None] > low).mean()))
        assert found is not None
        held += found[0] <= truth <= found[1]
    assert 0.93 <= held / 300 <= 1.0


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 200)), min_size=2, max_size=6))
@settings(max_examples=few(30))
def test_no_recalls_of_classes_vary_more_than_the_interval_of_their_mean_supposes(
    classes: list[tuple[float, int]],
) -> None:
    """The variance of the mean is at most that of an accuracy over as many rows as the smallest class has, for each."""
    number, fewest = len(classes), min(rows for _, rows in classes)
    mean = sum(recall for recall, _ in classes) / number
    variance = sum(recall * (1 - recall) / rows for recall, rows in classes) / number**2
    assert variance <= mean * (1 - mean) / (number * fewest) + 1e-12
    all_rows = sum(rows for _, rows in classes)
    found = HeldOutSummary("1 - balanced_accuracy", all_rows, number, fewest).loss_interval(1 - mean)
    assert found == HeldOutSummary("1 - accuracy", number * fewest).loss_interval(1 - mean)


@given(st.floats(0, 1), st.integers(2, 500), st.floats(0.01, 0.5))
@settings(max_examples=few(30))
def test_an_interval_holds_its_loss_and_narrows_with_rows(loss: float, rows: int, share: float) -> None:
    for metric in ("1 - accuracy", "1 - balanced_accuracy", "1 - roc_auc"):
        few, many = (HeldOutSummary(metric, count, 2, share * count).loss_interval(loss) for count in (rows, 4 * rows))
        assert few is not None
        assert many is not None
        assert 0 <= few[0] <= loss + 1e-12
        assert loss - 1e-12 <= few[1] <= 1
        assert many[1] - many[0] <= few[1] - few[0] + 1e-3


def test_where_a_loss_alone_says_too_little_there_is_no_interval(tmp_path: Path) -> None:
    assert HeldOutSummary("1 - r2", 100).loss_interval(0.5) is None
    assert HeldOutSummary("1 - roc_auc", 100).loss_interval(0.5) is None
    assert HeldOutSummary("1 - roc_auc", 100, 3, 30).loss_interval(0.5) is None
    assert HeldOutSummary("1 - balanced_accuracy", 100).loss_interval(0.5) is None
    assert HeldOutSummary("1 - accuracy", 100).loss_interval(-0.5) is None
    classes = {"NumberOfClasses": 2.0, "ClassProbabilityMin": 0.25}
    given = header(validation=Holdout(0.3), meta_features=classes)
    assert summarize_held_out_rows(given) == HeldOutSummary("1 - roc_auc", 178 - 124, 2, 13.5)
    assert summarize_held_out_rows(header(validation=CrossValidation(5))) == HeldOutSummary("1 - roc_auc", 178)
    assert summarize_held_out_rows(header(validation=None)).rows == 0
    for validation in (Holdout(0.3, group="who"), CrossValidation(5, "who")):
        assert summarize_held_out_rows(header(validation=validation)).rows == 0
    path = written(tmp_path / "run.db", {1: {"loss": 0.1}}, meta_features=classes)
    with Store.read(path) as run:
        text = render_page([run])
        assert text == render_page([run]), "the same store gives the same page"
    found = summarize_held_out_rows(given).loss_interval(0.1)
    assert found is not None
    assert f"0.9 [{1 - found[1]:.4g}, {1 - found[0]:.4g}] loss 0.1" in Page(text).said
    assert "They ignore selection bias" in Page(text).said


LOSSES = st.lists(st.floats(1e-9, 1e9) | st.floats(-1e3, 1e3), min_size=1, max_size=30)


@settings(max_examples=few(30))
@given(LOSSES)
def test_the_scale_keeps_three_quarters_of_the_losses(losses: list[float]) -> None:
    largest = largest_loss_without_outliers(losses)
    assert largest in losses
    assert sum(loss <= largest for loss in losses) >= 3 * len(losses) / 4


@settings(max_examples=few(30))
@given(LOSSES, st.sampled_from(("1 - roc_auc", "-profit", "log_loss")))
def test_a_better_score_is_higher_unless_it_is_a_loss(losses: list[float], formula: str) -> None:
    axis = ScoreAxis(LossName.of_formula(formula), make_axis_for_values(losses))
    heights = [axis.position(loss) for loss in sorted(losses)]
    assert heights == sorted(heights, reverse=axis.is_flipped)
    assert axis.is_flipped == (formula != "log_loss")
    ticks = [(tick.at, float(tick.label)) for tick in axis.ticks]
    labels = [label for _, label in sorted(ticks)]
    assert labels == sorted(labels)
    assert all(-1e-9 <= at <= 100 + 1e-9 for at, _ in ticks)


def test_every_trial_is_in_the_plot(tmp_path: Path) -> None:
    failed = {"loss": None, "status": Status.ERROR, "reason": "no"}
    facts = {index: {"loss": 0.2 + index / 100, "finished": index} for index in range(1, 41)}
    facts |= {index: {"loss": 10.0**index, "finished": index} for index in (1, 20, 21)}
    facts |= {30: {"finished": 30, **failed}}
    with Store.read(written(tmp_path / "run.db", facts)) as run:
        drawn = make_curve_plot(read_run_data(run))
    assert drawn is not None
    assert drawn.y.losses.high < 1
    marks = drawn.marks
    assert marks.dots.count("M") == 36
    assert marks.failed.count("M") == 1
    assert [each.count for each in marks.outliers] == [1, 2]
    assert marks.notes == ("3 trials below the scale: scores down to -1e21.",)
    assert marks.below
    assert drawn.lines[0].path.startswith("M")


def test_the_axis_of_several_runs_is_that_of_their_curves(tmp_path: Path) -> None:
    facts = {at: {"loss": loss, "finished": at} for at, loss in enumerate((0.2, 0.9, 0.19, 0.8, 0.5), start=1)}
    for name in "ab":
        written(tmp_path / f"{name}.db", facts)
    with ExitStack() as stack:
        runs = [read_run_data(stack.enter_context(Store.read(tmp_path / f"{name}.db"))) for name in "ab"]
        alone, both = make_curve_plot(runs[0]), make_curve_comparison_plot([*enumerate(runs, start=1)])
    assert alone is not None
    assert both is not None
    assert alone.y.losses.high >= 0.9
    assert both.y.losses.high < 0.3


def test_runs_are_compared_at_the_same_times(tmp_path: Path) -> None:
    losses = {"a": [0.5, 0.4, 0.3, 0.2], "b": [0.6, 0.1]}
    for name, found in losses.items():
        written(tmp_path / f"{name}.db", {at: {"loss": loss, "finished": at} for at, loss in enumerate(found, start=1)})
    with ExitStack() as stack:
        runs = [read_run_data(stack.enter_context(Store.read(tmp_path / f"{name}.db"))) for name in losses]
        found = scores_at_common_times([*enumerate(runs, start=1)])
    assert found is not None
    assert found.headings == ("after 0.5 s", "after 1 s", "after 2 s", "at its end")
    assert [each.scores for each in found.rows] == [("", "0.5", "0.6", "0.8"), ("", "0.4", "0.9", "0.9")]
    assert all("estimator=" in each.pipeline for each in found.rows)

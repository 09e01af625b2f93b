"""What a space, a configuration and a result show at a prompt and in a notebook."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import spacelang as sl
from spacelang.ir.trial import LossName
from spacelang.report.reprs import incumbent_curve_svg
from spacelang.runtime.history import Improvement

EVIL = "<script>alert(1)</script>"

CREDIT = """\
space credit "Credit"
stage scaler = none | StandardScaler @default | QuantileTransformer { n_quantiles : int[10, 1000] log = 100 }
stage estimator = GaussianNB | SVC { kernel : {rbf, poly} = rbf, degree : int[2, 5] = 3 when kernel == poly }
forbid scaler is none and estimator is SVC
"""

SHOWN = """\
Space credit "Credit"
  scaler     none | StandardScaler* | QuantileTransformer (1)
  estimator  GaussianNB* | SVC (2)
  5 structures, 5,953 configurations, 3 hyperparameters, 1 condition, 1 constraint"""


class Tags(HTMLParser):
    """Every tag that is opened, and that all of them are closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as it is called
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_space_in_a_few_lines() -> None:
    assert repr(sl.parse(CREDIT)) == SHOWN


@pytest.mark.parametrize("name", ["mosaic", "admm_table_a2", "boasf_models", "blds_table1_hpo"])
def test_no_space_takes_more_than_a_few_lines(name: str) -> None:
    space = sl.load(name)
    lines = repr(space).splitlines()
    assert len(lines) <= 14
    assert all(len(line) <= 120 for line in lines)
    assert all(choice.name in repr(space) for choice in space.checked.stages)
    assert Tags(space._repr_html_()).seen == {"div", "b", "br", "ul", "li", "details", "summary", "code"}


def test_a_configuration_has_a_line_a_key_where_one_is_too_long() -> None:
    space = sl.load("mosaic")
    default = space.default()
    assert repr(sl.parse(CREDIT).default()) == 'Configuration({"estimator": "GaussianNB", "scaler": "StandardScaler"})'
    assert len(repr(default).splitlines()) == len(default) + 2
    assert sl.Configuration.from_json(repr(default).removeprefix("Configuration(").removesuffix(")")) == default


def test_nothing_of_a_space_is_markup() -> None:
    text = f'space evil "{EVIL}"\nstage e = a | b\nabstract a {{ `{EVIL}` : {{"{EVIL}", x}} = "{EVIL}" }}\nabstract b\n'
    html = sl.parse(text)._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 3


def test_a_result_in_a_few_lines() -> None:
    rows = [[float(row % 5), float(row % 3)] for row in range(40)]
    labels = [row % 2 for row in range(40)]
    found = sl.search(sl.parse(CREDIT), rows, labels, optimizer="random", trials=3, workers=0)
    first, *lines = repr(found).splitlines()
    assert first.startswith(f"Result: roc_auc {found.score:.5g} (trial ")
    assert first.endswith(f", 1 - roc_auc {found.loss:.5g})")
    assert (found.score_name, found.score, found.test_score) == ("roc_auc", 1 - found.loss, None)
    assert found.best_configuration is not None
    assert lines[-1].startswith("  trials: 3 in ")
    assert len(lines) == len(found.best_configuration) + 1
    assert Tags(found._repr_html_()).seen >= {"div", "table", "tr", "th", "td"}


def test_of_which_class_a_result_is_stands_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    """And before the search where somebody looks on; of a metric of both classes there is nothing to say."""
    features, labels = np.arange(40.0).reshape(-1, 1), ["no", "yes"] * 20
    space, asked = sl.parse("stage e = GaussianNB"), {"trials": 1, "workers": 0, "progress": True}
    found = sl.search(space, features, labels, metric="f1", metrics=["recall"], **asked)
    assert found.positive_class == "yes"
    assert "\n  positive class: yes (for f1, recall)\n" in f"{found!r}\n"
    assert "<th style='text-align:left'>positive class</th><td>yes (for f1, recall)</td>" in found._repr_html_()
    sentence = "the positive class of `f1`, `recall` is `yes`, the second class in sorted order\n"
    assert sentence in capsys.readouterr().err
    both = sl.search(space, features, labels, metric="f1_macro", **asked)
    assert both.positive_class is None
    assert "class" not in repr(both) + capsys.readouterr().err


def test_what_was_not_searched_stands_in_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    """And before the search where somebody looks on, with what searches it, as Python has it."""
    features, labels = np.arange(40.0).reshape(-1, 1), [0, 1] * 20
    space, asked = (
        sl.parse("space s\nstage e = GaussianNB { var_smoothing : float[1e-9, 1] log = 0.1 }"),
        {"workers": 0},
    )
    found = sl.search(space, features, labels, optimizer="blds", trials=1, progress=True, **asked)
    left = "the only hyperparameter of `s` is kept at its default"
    assert f"\n  not searched: {left}\n" in f"{found!r}\n"
    sampled = '`optimizer_options={"hyperparameters": "sample"}`'
    remedy = f'`optimizer="auto"` searches the hyperparameters, {sampled} draws them once for each pipeline'
    assert f"{left}: {remedy}\n" in capsys.readouterr().err
    everything = sl.search(space, features, labels, optimizer="random", trials=1, progress=True, **asked)
    assert "not searched" not in repr(everything)
    assert "the only hyperparameter" not in capsys.readouterr().err


def test_what_the_form_of_an_optimizer_has_not_stands_in_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    features, labels = np.arange(40.0).reshape(-1, 1), [0, 1] * 20
    space = sl.parse("stage e = GaussianNB { var_smoothing : float[1e-9, 1] = 0.1 @prior(normal, 0.5, 0.1) }")
    found = sl.search(space, features, labels, optimizer="optuna", trials=1, workers=0, progress=True)
    assert "\n  approximated: `@prior` (line 1): priors are ignored: values are drawn without them" in repr(found)
    assert "`@prior` (line 1): priors are ignored: values are drawn without them\n" in capsys.readouterr().err


def test_the_curve_of_an_incumbent_goes_down_in_steps() -> None:
    curve = [Improvement(1.0, 0, 0.5), Improvement(2.0, 3, 0.25)]
    svg = incumbent_curve_svg(curve, 4.0, LossName.of_formula("error"), (110, 130))
    assert 'points="30.0,15.0 55.0,15.0 55.0,115.0 105.0,115.0"' in svg
    assert 'aria-label="the error of the incumbent goes from 0.5 to 0.25 in 4 s"' in svg
    up = incumbent_curve_svg(curve, 4.0, LossName.of_formula("1 - roc_auc"), (110, 130))
    assert 'points="30.0,115.0 55.0,115.0 55.0,15.0 105.0,15.0"' in up
    assert 'aria-label="the roc_auc of the incumbent goes from 0.5 to 0.75 in 4 s"' in up
    assert incumbent_curve_svg(curve[:1], 4.0, LossName.of_formula("error")) == ""


def test_a_compiled_space_shows_what_it_preserves_in_html() -> None:
    text = f"stage e = a | b\nabstract a {{ `{EVIL}` : float[0, 1] = 0.5 @prior(normal, 0.5, 0.1) }}\nabstract b\n"
    html = sl.parse(text).compile("optuna")._repr_html_()
    assert Tags(html).seen == {"div", "code", "table", "tr", "th", "td"}
    assert "<td>approximated</td>" in html
    assert "<script" not in html


def test_a_result_without_a_success_says_so(tmp_path: Path) -> None:
    with pytest.raises(sl.NoSuccessError) as caught:
        sl.search(
            sl.parse("stage estimator = KNeighborsClassifier { n_neighbors = 500 }\n"),
            [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]],
            [0, 1] * 3,
            optimizer="random",
            trials=1,
            workers=0,
            store=tmp_path / "a.db",
        )
    assert repr(caught.value.result).startswith("Result: no trial succeeded\n  trials: 1 in ")

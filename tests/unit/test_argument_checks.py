"""What is of another kind than an option takes is refused by the name of that option."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold

import spacelang as sl
from spacelang.api.option_checks_and_signatures import ARGUMENT_CHECKS, run_options_by_name
from spacelang.api.run_options import AskOptions, CompareOptions, SearchOptions
from spacelang.bench.comparison_data import ComparisonDataError

SPACE = "stage scaler = none | StandardScaler\nstage e = GaussianNB\n"
FEATURES, LABELS = np.arange(40.0).reshape(-1, 1), [0, 1] * 20
USUAL: dict[str, dict[str, Any]] = {
    "search": {"space": SPACE, "features": FEATURES, "target": LABELS, "trials": 1, "workers": 0},
    "compare": {"space": SPACE, "data": {"a": (FEATURES, LABELS)}, "optimizers": ["blds"], "trials": 1, "workers": 0},
    "ask_and_tell": {"space": SPACE},
    "load": {"reference": SPACE},
    "parse": {"text": SPACE},
}
GROUPS = {"search": SearchOptions, "compare": CompareOptions, "ask_and_tell": AskOptions}
CHECKS = {
    (call, name): (ARGUMENT_CHECKS[name][1], name != "bind")
    if name in ARGUMENT_CHECKS
    else (check[1], value.default is not None)
    for call in USUAL
    for name, value in signature(getattr(sl, call)).parameters.items()
    for check in [
        run_options_by_name(GROUPS[call])[name].check
        if call in GROUPS and name in run_options_by_name(GROUPS[call])
        else None
    ]
    if check is not None or name in ARGUMENT_CHECKS
}
"""What each function wants of its arguments, and whether they must not be None."""


def called(call: str, **said: Any) -> Any:
    return getattr(sl, call)(**{**USUAL[call], **said})


@pytest.mark.parametrize(("call", "name"), CHECKS)
def test_what_is_of_another_kind_is_refused_by_its_name(call: str, name: str) -> None:
    wanted, is_needed = CHECKS[call, name]
    is_needed = is_needed and (call, name) != ("search", "space")
    for value in [object(), *[None] * is_needed, *["text"] * ("names of" in wanted)]:
        with pytest.raises(TypeError, match=f"^`{name}` takes .*, not "):
            called(call, **{name: value})


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"metric": 5}, "scorers, such as `roc_auc`, or a scorer, not `5`"),
        ({"metrics": [accuracy_score]}, "not a `list`"),
        ({"validate": 5}, "takes a text such as `cv(5)`, or a splitter of scikit-learn, not `5`"),
        ({"validate": KFold}, "not a `ABCMeta`"),
        ({"seed": np.arange(2)}, "not a `ndarray`"),
        ({"seed": None}, "takes a whole number, from which all random draws derive, not `None`"),
        ({"allow": "xgboost"}, """takes names of packages, such as `["xgboost"]`, not `'xgboost'`"""),
        ({"ensemble": True}, "takes the number of votes, such as 32, not `True`"),
        ({"space": FEATURES}, "give features and labels after it, not a `ndarray`"),
        (
            {"constraints": sl.Constraint("x", lambda *_: 1.0, 1.0)},
            "takes a list of constraints, such as `.sl.Constraint",
        ),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_what_others_take_is_told_as_it_is_said_here(option: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError) as raised:
        called("search", **option)
    assert said.replace("`.sl", "`[sl") in str(raised.value)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    """As those over which a program counts: a seed of them ended all trials."""
    counted = {"seed": np.int64(3), "trials": np.int32(2), "workers": np.uint8(0)}
    found = [called("search", **each) for each in (counted, {name: int(value) for name, value in counted.items()})]
    assert found[0].loss == found[1].loss
    assert len(found[0].trials) == 2


REFUSED: list[tuple[Callable[[sl.Space], object], type[Exception], str]] = [
    (lambda space: space.build("e"), TypeError, "a configuration must be a mapping of keys to values, not `'e'`"),  # type: ignore[arg-type]
    (lambda space: "e" in space, TypeError, "a configuration must be a mapping of keys to values, not `'e'`"),
    (lambda space: space.nearest(None), TypeError, "a configuration must be a mapping of keys to values, not `None`"),  # type: ignore[arg-type]
    (lambda space: space.sample(2.0), TypeError, "`count` takes a whole number, not `2.0`"),  # type: ignore[arg-type]
    (lambda space: space.configuration(0.5), TypeError, "`number` takes a whole number, not `0.5`"),  # type: ignore[arg-type]
    (lambda space: space.sample(seed=-1), ValueError, "`seed` takes a whole number of at least 0, not `-1`"),
    (lambda space: space.sample(seed="a"), TypeError, "`seed` takes a whole number of at least 0, not `'a'`"),  # type: ignore[arg-type]
    (
        lambda space: space.neighbours(space.default(), seed=-1),
        ValueError,
        "`seed` takes a whole number of at least 0, not `-1`",
    ),
    (
        lambda space: space.verify("random", seed=-1),
        ValueError,
        "`seed` takes a whole number of at least 0, not `-1`",
    ),
    (lambda space: sl.ask_and_tell(space, seed=-1), ValueError, "`seed` takes a whole number of at least 0, not `-1`"),
    (
        lambda space: sl.search(space, FEATURES),
        ValueError,
        "the labels are missing: give them after the features",
    ),
    (
        lambda space: sl.search(space, target=LABELS),
        ValueError,
        "the features are missing: give them before the labels",
    ),
    (
        lambda space: sl.search(space, FEATURES, LABELS, resume=True),
        ValueError,
        "nothing to resume: give the `store` of the run",
    ),
    (lambda space: space.sample(-1), ValueError, "cannot draw -1 configurations: give 0 or more"),
    (
        lambda _: sl.parse("a.space"),
        ValueError,
        "`a.space` is the path of a file, not the text of a space: use `load`",
    ),
]


@pytest.mark.parametrize(("asked", "kind", "said"), REFUSED)
def test_what_a_space_is_asked_is_of_its_kind(
    asked: Callable[[sl.Space], object], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind) as raised:
        asked(sl.parse(SPACE))
    assert str(raised.value) == said


@pytest.mark.parametrize("data", [5, (FEATURES, LABELS, LABELS), {"X": FEATURES, "y": LABELS, "z": 1}])
def test_data_of_a_comparison_are_texts_or_pairs(data: Any) -> None:
    with pytest.raises(ComparisonDataError, match="the data `a` is neither a string nor a pair of features and labels"):
        called("compare", data={"a": data})


def test_data_of_a_comparison_may_be_a_path(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,target\n" + "".join(f"{row},{row % 2}\n" for row in range(40)), encoding="utf-8")
    assert len(called("compare", data={"a": path}, repeats=1).runs) == 1


def test_counts_of_numpy_are_counts() -> None:
    assert sl.parse(SPACE).sample(np.int64(2)) == sl.parse(SPACE).sample(2)  # type: ignore[arg-type]


def test_a_search_as_an_estimator_refuses_them_too() -> None:
    for name in ("optimizer", "optimizer_options", "trials", "time"):
        search: BaseEstimator = sl.SpaceSearchCV(SPACE, **{"trials": 1, name: object()})
        with pytest.raises(TypeError, match=f"^`{name}` takes .*, not a `object`"):
            search.fit(FEATURES, LABELS)

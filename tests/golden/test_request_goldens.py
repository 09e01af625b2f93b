"""The first 300 requests of each optimizer on artificial objectives: `tests/golden/requests/SPACE/OPTIMIZER….txt`.

An optimizer that asks for anything else than before cannot go on with an older store. Most search two spaces at four
fidelities: that of ADMM's evidence, and a small one in which some trials fail; those that take long only one of them.

The first 50 requests are short lines (`short_requests.py`). Each run of requests is followed by a hash of their JSON,
in which also types of values and names that lines leave out are kept. Later requests have hashes alone: a failing test
writes the lines of all requests to a folder, to be compared with those of another commit.

What models propose hangs on the libraries that compute them, and some of it on the machine: on the last bits of what
linear algebra makes. Such a file says in its first lines on what. Where that is otherwise the requests before the first
model are compared, and then the test is skipped, with the difference as its reason. A file may have another section for
another machine, of hashes alone if that was before there were lines.

The reduced form looks at the first requests alone, of each optimizer in one of the spaces.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from goldens import FOLDER, IS_FULL, UPDATE, digest, machine, must_equal, path_of, rounded
from short_requests import short_lines

import spacelang as sl
from spacelang.ir.trial import Request
from spacelang.runtime.black_box.artificial_objective import ArtificialObjective, make_artificial_objective

KEPT = FOLDER / "requests"
SPACES = ("artificial", "small")
FIDELITIES = (100, 200, 400, 800)
REQUESTS = 300
RUN, LATER_RUN = 25, 10
"""So many requests have a hash: of those that are the same everywhere, and of the others."""
SHOWN = 50
"""So many requests are kept as text; most changes show in these."""
COMPUTED, HASH = "computed with ", "-- "
"""How lines begin that say on what requests hang, and those that have a hash."""
BOUNDED = "other"
"""The loss of another objective, where that is bounded."""
MACHINE = "machine"
"""What linear algebra, exponentials and logarithms have their last bits from."""

SAMPLE = {"hyperparameters": "sample"}


@dataclass(frozen=True)
class Case:
    """An optimizer with options, and so many workers.

    Of its `whole` requests the first `sure` ones are the same everywhere, the others where all that it `hangs_on` is as
    it was. The reduced form looks at `few` of them, as many as end a run that has a hash, or at none.
    """

    optimizer: str
    options: Mapping[str, str] = field(default_factory=dict)
    whole: int = REQUESTS
    few: int = 25
    sure: int = REQUESTS
    hangs_on: tuple[str, ...] = ()
    workers: int = 1
    bound: float | None = None
    spaces: tuple[str, ...] = SPACES

    @property
    def name(self) -> str:
        """What the case is called, in the names of tests and of files."""
        told = [*self.options.items(), *([] if self.workers == 1 else [("workers", self.workers)])]
        return "-".join([self.optimizer, *(f"{key}={value}" for key, value in told)])


def cases(optimizer: str, *variants: Mapping[str, str], **facts: Any) -> Iterator[Case]:
    """An optimizer with its defaults, and with some other options."""
    return (Case(optimizer, options, **facts) for options in ({}, *variants))


def admm(*variants: str, **facts: Any) -> Iterator[Case]:
    """ADMM with one other option, and tuned without a model unless that says by what."""
    return (Case("admm", {"theta": "random", **dict([each.split("=", 1)])}, **facts) for each in variants)


SLOW: Mapping[str, Any] = {"whole": 100, "spaces": ("small",)}
"""Fewer requests are kept where they take long: of TPE, of SMAC, and of what differs little from another one."""
HYPEROPT: Mapping[str, Any] = {"few": 30, "sure": 20, "hangs_on": ("scipy", "hyperopt", MACHINE), "spaces": ("small",)}
OPTUNA: Mapping[str, Any] = {"few": 20, "sure": 0, "hangs_on": ("scipy", "optuna", MACHINE)}
SMAC: Mapping[str, Any] = {
    "whole": 100,
    "few": 0,
    "spaces": ("artificial",),
    "sure": 0,
    "hangs_on": ("scikit-learn", "smac", "ConfigSpace", MACHINE),
}
"""Its forest takes no normal prior of what may be inactive, as the small space has one."""
FOREST: Mapping[str, Any] = {"few": 20, "sure": 10, "hangs_on": ("scikit-learn", MACHINE)}
GAUSSIAN: Mapping[str, Any] = {"few": 20, "sure": 10, "hangs_on": ("scipy", MACHINE)}

PRESETS = (
    *("admm16_bo_ba", "admm16_bo_bo", "adadmm_f8_bo_ba", "adadmm_f16_bo_ba", "adadmm_f16_bo_bo"),
    *("admm_bo_blds1", "admm_bo_blds2", "admm_bo_cmab", "admm_bo_daub", "admm_bo_hyperband"),
)
"""Those of `admm` that differ in more than in how many calls there are."""

CASES = (
    *cases("random", {"hyperparameters": "default"}),
    *cases("enumerate", SAMPLE),
    *cases("select_best"),
    *cases("lds", {"disc": "2"}, SAMPLE),
    *cases("mlds", {"disc": "2"}, {"match_fidelity": "true"}, SAMPLE),
    *cases("blds", {"disc": "2"}, {"log_rule": "theory"}, {"width": "simple"}, {"collapse_at_full": "true"}),
    *(Case("blds", each) for each in ({"examine_init": "true"}, {"until_rule": "local_optimum"}, SAMPLE)),
    *cases("cmab", {"f_hat": "0.3"}, SAMPLE),
    *cases("daub", SAMPLE),
    *cases("hyperband", {"rung_rule": "exact"}, {"bracket_rule": "floor"}),
    *cases("successive_halving", {"hyperparameters": "default"}),
    *cases("bohb"),
    *(Case(each, workers=4) for each in ("random", "lds", "blds", "daub", "hyperband", "bohb")),
    *cases("boasf", **HYPEROPT),
    Case("boasf", {"denom": "log2", "tie": "reference"}, **HYPEROPT | SLOW),
    Case("boasf", {"arms": "subspaces", "k": "1"}, **HYPEROPT | SLOW),
    *cases("random_forest_tpe", **HYPEROPT | SLOW),
    *cases("tpe", **HYPEROPT | SLOW | {"few": 20}),
    Case("tpe", {"library": "optuna"}, **OPTUNA | SLOW),
    *cases("optuna", **OPTUNA | SLOW),
    *(Case("optuna", {"sampler": f"{each}Sampler"}, **OPTUNA) for each in ("Random", "QMC", "NSGAII")),
    *cases("smac", {"facade": "BlackBoxFacade"}, **SMAC),
    *cases("mosaic", **FOREST | {"few": 10}),
    Case("mosaic", {"trees": "10", "n_r": "50", "n_s": "20"}, **FOREST),
    *cases("bo", SAMPLE, **GAUSSIAN),
    *cases("jopt", **GAUSSIAN),
    *(Case("jopt", {"inactive": each}, **GAUSSIAN | SLOW | {"few": 10}) for each in ("default", "incumbent")),
    *(Case("admm", {"preset": each}, **GAUSSIAN | {"sure": 8, "few": 8}) for each in PRESETS),
    *admm("theta=rbf", "z=bo", **GAUSSIAN | {"sure": 8, "few": 18}),
    *admm("theta=random", "theta=tpe", "theta=direct", "theta=direct(method=evolution)"),
    *admm("z=lds", "z=random", "z=enumerate(all=true)", "z=cmab(persistent=true)", "first=z", "adaptive=false"),
    *admm("penalty=raw", "hp_scope=pipeline", "conditions=flatten", "reuse_history=false"),
    *admm("margin=0.1", "residuals=raw", "slack=bo", bound=2.0),
    Case("admm", {"theta": "random"}, workers=4),
)


EVERY = tuple((space, case) for case in CASES for space in case.spaces)
TURNS = ((case.spaces[place % len(case.spaces)], case) for place, case in enumerate(CASES) if case.few)
TAKEN = EVERY if IS_FULL else tuple(TURNS)


@pytest.mark.parametrize(("space", "case"), TAKEN, ids=lambda given: getattr(given, "name", given))
def test_are_what_they_were(space: str, case: Case, tmp_path: Path) -> None:
    kept = KEPT / space / f"{case.name}.txt"
    here = COMPUTED + (", ".join(map(found_here, case.hangs_on)) or "anything")
    assert UPDATE or kept.is_file(), f"{kept.relative_to(FOLDER)} is missing: UPDATE_GOLDEN=1 writes it"
    known = sections(kept) if kept.is_file() else []
    of_here = next((each for each in known if here in each.machines), Section([here]) if UPDATE else None)
    section = of_here or known[0]  # its first requests are the same everywhere
    count = case.whole if IS_FULL else case.few
    asked = [*requests(case, space, count if of_here else min(count, case.sure))]
    end = [f"{len(asked)} requests"] if IS_FULL and of_here else []
    whole, found = ([*lines(asked, case.sure, shown), *end] for shown in (len(asked), SHOWN))
    if section.lines and section.lines[0].startswith(HASH):
        found = [line for line in found if line.startswith(HASH) or line == found[-1]]
    if UPDATE:
        if section.lines != found:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(joined((here, *found)), encoding="utf-8")
        return
    before = section.lines if IS_FULL and of_here else section.lines[: len(found)]

    def note(first: int) -> str:
        number = sum(not line.startswith(HASH) for line in found[: first + 1])
        is_request = first < len(found) and not found[first].startswith(HASH) and number <= len(asked)
        return f"request {number} is now {json.dumps(asked[number - 1])}\n" if is_request else ""

    must_equal(*map(joined, (before, found)), kept, tmp_path, whole=joined(whole), note=note)
    if not of_here:
        pytest.skip(f"{section.machines[0]}, here it would be {here}")


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class Section:
    """What is kept of a case on some machines."""

    machines: list[str]
    lines: list[str] = field(default_factory=list)


def sections(kept: Path) -> list[Section]:
    """The sections of a file, each of which begins with the lines that say on what it hangs."""
    found = [Section([])]
    for line in kept.read_text(encoding="utf-8").splitlines():
        if line.startswith(COMPUTED):
            if found[-1].lines:
                found.append(Section([]))
            found[-1].machines.append(line)
        else:
            found[-1].lines.append(line)
    return found


def lines(asked: Sequence[tuple[int, Mapping[str, Any]]], sure: int, shown: int) -> Iterator[str]:
    """A line for each of the first requests that are to be shown, and one with a hash after each run of requests."""
    run: list[str] = []
    for number, (line, request) in enumerate(zip(short_lines(asked), asked, strict=True), 1):
        run.append(json.dumps(request))
        if number <= shown:
            yield line
        if number == len(asked) or (number % RUN if number < sure else (number - sure) % LATER_RUN) == 0:
            yield f"{HASH}{number}: {digest(run)}"
            run = []


def test_a_line_has_what_differs_from_those_above_it() -> None:
    asked = [
        (800, {"e": "LogisticRegression", "e.C": 1.0, "e.penalty": "l2", "s": "StandardScaler", "f": "none"}),
        (800, {"e": "LogisticRegression", "e.C": 0.25, "e.penalty": "l1", "s": "StandardScaler", "f": "none"}),
        (200, {"e": "LinearSVC", "s": "MinMaxScaler", "s.range": [0.5, None, True], "f": "none"}),
        (800, {"e": "LogisticRegression", "e.C": 1.0, "e.penalty": "l2", "s": "StandardScaler", "f": "none"}),
        (800, {"e": "LinearSVC", "s": "MinMaxScaler", "s.range": [0.5, None, False], "f": "none"}),
        (800, {"e": "LinearRegression", "s": "StandardScaler", "f": "PCA", "f.k": 3}),
        (800, {"e": "LinearSVC", "s": "StandardScaler", "f": "PCA", "f.n": 3}),
        (800, {"e": "LogisticRegression", "e.C": 0.25, "e.penalty": "l1", "s": "StandardScaler", "f": "PCA", "f.n": 4}),
        (800, {"e": "LogisticRegression", "e.C": 0.5, "e.penalty": "l1", "s": "StandardScaler", "f": "PCA"}),
    ]
    assert [*short_lines(asked)] == [
        "800 LogisticRegression(C=1.0 penalty=l2) StandardScaler none",
        "(.25 l1) - -",
        "200 LinearSVC MinMaxScaler(range=[.5,null,true]) -",
        "800 =1",
        "- ([.5,null,false]) -",
        "LinearRegression Stan PCA(k=3)",
        "LinearS - (n=3)",
        "Logi - (4)",
        "(.5 l1) - ()",
    ]


def test_no_file_is_left_over() -> None:
    assert {*KEPT.rglob("*.txt")} == {KEPT / space / f"{case.name}.txt" for space, case in EVERY}


# ---- what is asked for


def requests(case: Case, space: str, count: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """So many requests, or all that there are, of `REQUESTS` in all: the fidelity and the values of each.

    As many are asked for at a time as there are workers, who end as they have begun.
    """
    if not count:
        return
    loaded = space_of(space)
    with sl.ask_and_tell(
        loaded,
        optimizer=case.optimizer,
        optimizer_options=case.options,
        trials=REQUESTS,
        fidelities=FIDELITIES,
        constraints=None if case.bound is None else {BOUNDED: case.bound},
        batch=case.workers,
    ) as run:
        out = deque(run.ask())
        for _ in range(count):
            if not out:
                return
            asked = out.popleft()
            yield asked.fidelity, rounded(asked.configuration.to_dict())
            loss, other = answer(space, Request(asked.configuration, asked.fidelity))
            asked.tell(loss, cost=1.0, constraints=None if case.bound is None else {BOUNDED: other})
            out.extend(run.ask())


def answer(space: str, request: Request) -> tuple[float | None, float]:
    """The loss of an objective, the closer to that of another one the fewer rows there are, and that of the other one.

    In the small space what asks for neighbours fails unless it is scaled.
    """
    one, other = (box.evaluate(request).loss for box in boxes(space))
    configuration, share = request.configuration, (1 - request.fidelity / FIDELITIES[-1]) / 2
    fails = configuration["estimator"] == "KNeighborsClassifier" and configuration["scaler"] == "none"
    return None if space == "small" and fails else one + share * (other - one), other


@cache
def space_of(name: str) -> sl.Space:
    return sl.load(path_of(name))


@cache
def boxes(name: str) -> tuple[ArtificialObjective, ...]:
    return tuple(make_artificial_objective(space_of(name).checked, seed) for seed in (0, 1))


# ---- on what that hangs


def found_here(name: str) -> str:
    """What there is here of a library, or of the machine."""
    if name == MACHINE:
        return machine()
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"no {name}"

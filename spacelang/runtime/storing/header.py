"""What makes two runs the same: their space, data, objective, seed and optimizer. The budget does not."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from itertools import zip_longest
from math import isfinite
from typing import Any, Final, TypeVar

from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import NO_TERMS, Allowance, Terms
from spacelang.ir.scale import UNIT, Scale, describe_scale
from spacelang.ir.space import Space
from spacelang.ir.task import AnyBound, Validation, describe_bound, describe_validation
from spacelang.text import NOWHERE

T = TypeVar("T")

SHOWN: Final = 12
"""So many digits of a fingerprint are shown."""

MOST_TOLD: Final = 8
"""So many differences between two spaces are told."""

PACKAGES: Final = ("spacelang", "scikit-learn", "numpy", "scipy", "pandas")
"""Those whose versions are kept, beside Python's."""


MISSING: Final = "missing values"
"""Among the settings, which of them the space handles that versions imputed which say nothing of it."""
IMPUTED: Final = "imputed by an earlier version"

UNNAMED: Final = "unnamed"
"""Among what was asked for: that no space was, so that the usual one for the data was taken."""

SAID_AGAIN: Final = ("set", "allow", "bind")
"""Options of `spacelang run` that belong to a run, which its other facts do not say."""

FORMERLY: Final = {
    "scale": json.dumps(describe_scale(UNIT)),
    "initial": "null",
    "budget": "{}",
    "meta_features": "{}",
    "data_options": "{}",
    "asked": "null",
}
"""What is so where a header does not say it."""


@dataclass(frozen=True, slots=True)
class DataFacts:
    """A data set as a store knows it: what the user calls it, its shape, and the fingerprint of its content.

    What has no rows is no data: a formula, or a function, by the fingerprint of its text.
    """

    name: str
    rows: int
    columns: int
    fingerprint: str

    def __str__(self) -> str:
        size = f"{self.rows} rows, {self.columns} columns, " if self.rows else ""
        return f"`{self.name}` ({size}content {self.fingerprint[:SHOWN]})"


@dataclass(frozen=True, slots=True)
class Header:
    """What a run is of. Two runs are the same where `differences` finds nothing.

    `definition` is the canonical JSON of the space with its places and its task, `identity` the hash of what a search
    sees of it: the tree and the constraints. `options` are all of the optimizer's, `settings` whatever else must be
    the same (limits of trials, sharing), both as texts by name. `scale` is what standings are reckoned by; headers that
    do not say it are of runs that took losses as they were. `meta_features` are those of the training rows that are
    finite, where there are any, `data_options` how the data was given (`runtime/data/options.py`). `asked` has what
    else a command has to say for the same run, by `SAID_AGAIN`; None where an earlier version has not kept it. These,
    names of spaces and data, and `versions`, do not count. `at_defaults` names the options that have their defaults, in
    parts as `z.disc`: stores, which say all options, do not have it.
    """

    space: str
    definition: str
    identity: str
    data: DataFacts
    metric: str
    validation: str
    bounds: tuple[str, ...]
    training_size: int
    seed: int
    optimizer: str
    scale: str = describe_scale(UNIT)
    options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    initial: tuple[str, ...] | None = None
    budget: Allowance = field(default=Allowance(), compare=False)
    meta_features: Mapping[str, float] = field(default_factory=dict, compare=False)
    data_options: Mapping[str, str] = field(default_factory=dict, compare=False)
    asked: Mapping[str, tuple[str, ...]] | None = field(default=None, compare=False)
    versions: Mapping[str, str] = field(default_factory=dict, compare=False)
    at_defaults: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def terms(self) -> Terms:
        """With what the run began."""
        return Terms(tuple(map(Configuration.from_json, self.initial or ())), self.budget)

    def over(self, space: Space, initial: Iterable[Configuration]) -> "Header":
        """That of the same run over another space, which begins with these configurations."""
        facts: dict[str, Any] = _facts_of(space)
        asked = None if self.asked is None else {name: said for name, said in self.asked.items() if name != UNNAMED}
        return replace(self, **facts, asked=asked, initial=tuple(each.identity for each in initial))

    def differences(self, other: "Header") -> list[str]:
        """A line for people for each fact in which another run is not this one; none where it may go on with it.

        What this one says nothing of is an option that is newer: it was what is its default now.
        """
        return list(_differences(self, other))


def make_header(  # noqa: PLR0913 - each is one fact of a run
    space: Space,
    data: DataFacts,
    *,
    metric: str,
    validation: Validation | None,
    training_size: int,
    seed: int,
    optimizer: str,
    bounds: Iterable[AnyBound] = (),
    scale: Scale | None = UNIT,
    options: Mapping[str, object] | None = None,
    at_defaults: Iterable[str] = (),
    settings: Mapping[str, str] | None = None,
    terms: Terms = NO_TERMS,
    meta_features: Mapping[str, float] | None = None,
    data_options: Mapping[str, str] | None = None,
    asked: Mapping[str, tuple[str, ...]] | None = None,
) -> Header:
    """The header of a run, by the versions of this process; `metric` is the formula of the loss."""
    return Header(
        **_facts_of(space),
        data=data,
        metric=metric,
        validation="none" if validation is None else describe_validation(validation),
        bounds=tuple(map(describe_bound, bounds)),
        training_size=training_size,
        seed=seed,
        optimizer=optimizer,
        scale=describe_scale(scale),
        options={name: _canonical(value) for name, value in (options or {}).items()},
        settings=dict(settings or {}),
        initial=None if terms.initial is None else tuple(each.identity for each in terms.initial),
        budget=terms.budget,
        meta_features=dict(meta_features or {}),
        data_options=dict(data_options or {}),
        asked=None if asked is None else dict(asked),
        versions=versions(),
        at_defaults=frozenset(at_defaults),
    )


def _facts_of(space: Space) -> dict[str, str]:
    from spacelang.forms.definition import to_json  # as below: who only reads a store makes no space

    return {"space": space.name, "definition": _canonical(to_json(space)), "identity": identity(space)}


def identity(space: Space) -> str:
    """64 hexadecimal digits that two spaces share where a search sees no difference between them.

    Where a thing stands in a text, what the space is called, and its task are left out: what a run takes from the task
    is in its header beside the space, the rest of it is the budget.
    """
    from spacelang.forms.definition import to_json

    bare = _unplaced(replace(space, name="space", title="", task=None))
    return hashlib.sha256(_canonical(to_json(bare)).encode()).hexdigest()


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that results depend on."""
    from platform import python_version  # as below: only who searches needs it

    found = ((name, _version(name)) for name in PACKAGES)
    return {"python": python_version(), **{name: its for name, its in found if its is not None}}


@cache
def _version(name: str) -> str | None:
    """Read once: it takes a millisecond, and a comparison has many runs."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:  # run from a folder that was never installed
        return None


def version_changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """A line for each version that has changed: trials may then differ from what they would have been."""
    names = dict.fromkeys((*before, *now))
    return [
        f"{name} {before.get(name, 'absent')} before, {now.get(name, 'absent')} now"
        for name in names
        if before.get(name) != now.get(name)
    ]


# ---- as text, for the store


STORED: Final = tuple(entry.name for entry in fields(Header) if entry.name != "at_defaults")


def to_texts(header: Header) -> dict[str, str]:
    """Every fact as JSON by its name."""
    facts = {name: getattr(header, name) for name in STORED}
    records = {"data": asdict(header.data), "budget": asdict(header.budget)}
    return {name: _canonical(value) for name, value in (facts | records).items()}


def from_texts(texts: Mapping[str, str]) -> Header:
    """The header of what `to_texts` made of it; raises ValueError, TypeError or KeyError for anything else."""
    said = {**FORMERLY, **texts}
    facts: dict[str, Any] = {name: json.loads(said[name]) for name in STORED}
    initial = facts["initial"]
    read = {
        "data": DataFacts(**facts["data"]),
        "bounds": tuple(facts["bounds"]),
        "initial": None if initial is None else tuple(initial),
        "budget": Allowance(**facts["budget"]),
        "asked": None if facts["asked"] is None else _lists(facts["asked"]),
    }
    return _checked(Header(**facts | read))


def _lists(named: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(named, dict) or not all(isinstance(each, list) for each in named.values()):
        raise TypeError("a fact that has lists with names has none")
    return {name: tuple(each) for name, each in named.items()}


def _checked(header: Header) -> Header:
    """The header; raises TypeError where a fact is not of its kind, as one of a stranger's file need not be."""
    data, budget = header.data, header.budget
    mappings = (header.options, header.settings, header.versions, header.data_options, header.meta_features)
    if not all(isinstance(each, dict) for each in mappings):
        raise TypeError("a fact that has names has none")
    said = (header.space, header.definition, header.identity, header.metric, header.validation, header.optimizer)
    named = (text for each in mappings[:4] for text in each.values())
    again = (text for texts in (header.asked or {}).values() for text in texts)
    texts = (*said, *again, header.scale, data.name, data.fingerprint, *header.bounds, *(header.initial or ()), *named)
    if not all(type(each) is str for each in texts):
        raise TypeError("a fact that is a text is none")
    counts = (header.training_size, header.seed, data.rows, data.columns, *_there(budget.trials))
    amounts = (*_there(budget.seconds), *header.meta_features.values())
    if not all(type(each) is int for each in counts) or not all(map(_is_finite, amounts)):
        raise TypeError("a fact that is a number is none")
    return header


def _there(value: T | None) -> tuple[T, ...]:
    return () if value is None else (value,)


def _is_finite(value: object) -> bool:
    return type(value) in (int, float) and isfinite(value)  # type: ignore[arg-type]


def _canonical(value: object) -> str:
    # In ASCII, as not every string is text that files can hold.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)


# ---- differences


def _differences(stored: Header, new: Header) -> Iterator[str]:
    if stored.identity != new.identity:
        yield from _of_spaces(stored, new)
    if stored.data.fingerprint != new.data.fingerprint:
        yield f"data: {stored.data} in the store, {new.data} now"
    for name in ("metric", "scale", "validation", "bounds", "training_size", "seed", "optimizer"):
        yield from _told(name.replace("_", " "), _shown(getattr(stored, name)), _shown(getattr(new, name)))
    if stored.optimizer == new.optimizer:  # another optimizer has other options
        yield from _of_options(stored.options, new.options, new.at_defaults)
    for name in dict.fromkeys((*stored.settings, *new.settings)):
        unsaid = IMPUTED if name == MISSING else "nothing"
        yield from _told(f"`{name}`", stored.settings.get(name, unsaid), new.settings.get(name, unsaid))
    yield from _of_initial(stored, new)


def _of_initial(stored: Header, new: Header) -> Iterator[str]:
    """The first initial configuration that is another one; those of the store where none are given now."""
    before, now = stored.initial or (), stored.initial if new.initial is None else new.initial
    for place, pair in enumerate(zip_longest(before, now or ()), start=1):
        if pair[0] != pair[1]:
            yield from _told(f"initial configuration {place}", *map(_or_nothing, pair))
            return


def _of_options(
    stored: Mapping[str, str], new: Mapping[str, str], at_defaults: frozenset[str], within: str = ""
) -> Iterator[str]:
    """Options that differ; of a part that is the same plug-in those of its own that do: `z.disc`."""
    for name in dict.fromkeys((*stored, *new)):
        (before, own), (now, others) = _taken_apart(stored.get(name)), _taken_apart(new.get(name))
        if name in stored or f"{within}{name}" not in at_defaults:
            yield from _told(f"option `{within}{name}`", before, now)
        if before == now:
            yield from _of_options(own, others, at_defaults, f"{within}{name}.")


def _taken_apart(text: str | None) -> tuple[str, Mapping[str, str]]:
    """An option as it is shown, and where it is a part the options of that."""
    match None if text is None else json.loads(text):
        case {"name": str(name), "options": dict(own)}:
            return _canonical(name), {each: _canonical(value) for each, value in own.items()}
        case _:
            return text or "nothing", {}


def _told(what: str, stored: str, new: str) -> Iterator[str]:
    if stored != new:
        yield f"{what}: {stored} in the store, {new} now"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"`{each}`" for each in value) or "none"
    return f"`{value}`" if isinstance(value, str) else f"{value}"


def _of_spaces(stored: Header, new: Header) -> Iterator[str]:
    # With the solver, which who only reads a store does not need.
    from spacelang.forms.definition import from_json
    from spacelang.forms.difference import differences
    from spacelang.forms.json_fields import DefinitionError

    try:
        spaces = [replace(from_json(json.loads(each.definition)), task=None) for each in (stored, new)]
    except (DefinitionError, ValueError):
        spaces = []  # written by a version that had other definitions
    found = differences(*spaces) if spaces else ()
    for each in found[:MOST_TOLD]:
        what = f"{each.aspect.value} of `{each.address}`" if each.address else each.aspect.value
        yield f"space: {what}: {_or_nothing(each.first)} in the store, {_or_nothing(each.second)} now"
    if len(found) > MOST_TOLD:
        yield f"space: {len(found) - MOST_TOLD} more differences"
    if not found:
        yield _first_line(stored, new)


def _or_nothing(text: str | None) -> str:
    return "nothing" if text is None else f"`{text}`"


def _first_line(stored: Header, new: Header) -> str:
    """The first line in which the definitions differ, where nothing else tells them apart: orders, for example."""
    lines = [json.dumps(json.loads(each.definition), indent=0).splitlines() for each in (stored, new)]
    for first, second in zip_longest(*lines, fillvalue="its end"):
        if first != second:
            return f"space: `{first}` in the store, `{second}` now, in its definition"
    return "space: its definition is written as another version does"


def _unplaced(value: T) -> T:
    """The same tree without places."""
    if isinstance(value, tuple):
        return tuple(map(_unplaced, value))  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        inner = ((entry.name, getattr(value, entry.name)) for entry in fields(value))
        return type(value)(**{name: NOWHERE if name == "span" else _unplaced(each) for name, each in inner})
    return value

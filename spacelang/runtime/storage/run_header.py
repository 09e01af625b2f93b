"""The header of a run, which identifies it: space, data, objective, seed and optimizer, but not the budget."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from itertools import zip_longest
from math import isfinite
from typing import Any, Final, TypeVar

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import DEFAULT_START, StartConditions, TotalBudget
from spacelang.ir.space import Space
from spacelang.ir.task import AnyBound, describe_bound
from spacelang.ir.trial import UNIT_SCALE, LossName, LossScale, describe_scale
from spacelang.ir.validation import Validation, describe_validation
from spacelang.text import NO_SPAN

T = TypeVar("T")
SHOWN_DIGITS: Final = 12  # The number of digits of a fingerprint that are shown
SCORER_SETTING: Final = "scorer"
WEIGHTS_SETTING: Final = "sample_weight"
"""Names of settings, which identify a scorer and weights of a program, and of the data options that hold both."""
SPLITS: Final = "splits"
RELATIONS: Final = "relations"
GROUP_NAME: Final = "group name"
"""Names of data options: the splits of a splitter, and the groups or times that the program gave, with their name."""
MAX_SHOWN_DIFFERENCES: Final = 8  # The maximum number of differences between two spaces that are listed
PACKAGES: Final = ("spacelang", "scikit-learn", "numpy", "scipy", "pandas")
"""The packages whose versions are stored, besides that of Python."""
MISSING_VALUES_SETTING: Final = "missing values"
"""The name of a setting: the missing values that the space handles and that earlier versions imputed."""
OBJECTIVES_SETTING: Final = "objectives"  # The name of a setting: the formulas of several objectives, as JSON
MISSING_VALUES_IMPUTED_EARLIER: Final = (
    "imputed by an earlier version"  # The value of this setting for headers without it
)
UNNAMED_SPACE: Final = "unnamed"
"""A name in `RunHeader.asked`: the user named no space, so the default one for the data was used."""
PLAIN_LAW: Final = "plain"
ADVISED_LAW: Final = "advised"
"""The laws of random draws (REFERENCE.md, "Random draws"): stores of spacelang 0.2 were drawn by the plain one."""
DEFAULT_TEXTS: Final = {
    "law": json.dumps(PLAIN_LAW),
    "scale": json.dumps(describe_scale(UNIT_SCALE)),
    "equal_seeds": json.dumps(""),
    **dict.fromkeys(("initial", "asked"), "null"),
    **dict.fromkeys(("budget", "meta_features", "data_options"), "{}"),
}
"""The values, as JSON, of fields that a stored header lacks."""


@dataclass(frozen=True, slots=True)
class DataFacts:
    """The name, shape and fingerprint of data.

    A formula or a function has 0 rows, and its fingerprint is that of its text.
    """

    name: str
    rows: int
    columns: int
    fingerprint: str

    def __str__(self) -> str:
        size = f"{self.rows} rows, {self.columns} columns, " if self.rows else ""
        return f"`{self.name}` ({size}content {self.fingerprint[:SHOWN_DIGITS]})"


@dataclass(frozen=True, slots=True)
class RunHeader:
    """The description of a run; two runs are the same if `differences` is empty.

    Compared are, among others:

    - `definition` is the canonical JSON of the space, with source positions and its task. It is used only to
      list differences.
    - `identity` is the hash of what a search sees of the space: the tree and the constraints.
    - `options` are all options of the optimizer, and `settings` all else that must agree, such as trial limits.
      Both map names to texts.
    - `scale` describes how losses are normalized. Headers without it are of runs that used plain losses.

    Not compared are the names of space and data, and:

    - `meta_features` are the finite meta-features of the training rows, if there are any.
    - `data_options` say how the data was given (`runtime/data/read_options.py`), and hold what a program gave with it.
    - `asked` has the other command-line options that belong to the run (`is_stored`). It is None in stores of
      earlier versions.
    - `versions` are the versions of packages.
    - `equal_seeds` says what runs with the same seed have in common; empty in stores of earlier versions.
    - `law` names the probability law of random draws (`plain`, `advised`); a resumed run keeps that of its store.
    - `at_defaults` names the options that have their default values, nested ones as `z.disc`. It is not stored.
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
    scale: str = describe_scale(UNIT_SCALE)
    options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    initial: tuple[str, ...] | None = None
    budget: TotalBudget = field(default=TotalBudget(), compare=False)
    meta_features: Mapping[str, float] = field(default_factory=dict, compare=False)
    data_options: Mapping[str, str] = field(default_factory=dict, compare=False)
    asked: Mapping[str, tuple[str, ...]] | None = field(default=None, compare=False)
    versions: Mapping[str, str] = field(default_factory=dict, compare=False)
    at_defaults: frozenset[str] = field(default=frozenset(), compare=False)
    law: str = field(default=ADVISED_LAW, compare=False)
    equal_seeds: str = field(default="", compare=False)

    @property
    def start_conditions(self) -> StartConditions:
        """The initial configurations and the budget of the run."""
        return StartConditions(tuple(map(Configuration.from_json, self.initial or ())), self.budget)

    def for_space(self, space: Space, initial: Iterable[Configuration]) -> "RunHeader":
        """Return the header of a new run like this one, over another space and with these initial configurations.

        Its random draws follow the advised law, whatever law this run has.
        """
        facts: dict[str, Any] = _space_fields(space)
        named = {name: texts for name, texts in (self.asked or {}).items() if name != UNNAMED_SPACE}
        asked = None if self.asked is None else named
        kept = tuple(each.identity for each in initial)
        return replace(self, **facts, asked=asked, initial=kept, law=ADVISED_LAW)  # its trials are drawn anew

    def differences(self, other: "RunHeader") -> list[str]:
        """Return a line for each difference between this stored header and the header `other` of a run to resume it.

        An option that is newer than the store does not differ if it has its default in `other`.
        """
        return list(_differences(self, other))


def make_run_header(  # noqa: PLR0913 - each is one fact of a run
    space: Space,
    data: DataFacts,
    *,
    metric: str,
    validation: Validation | None,
    training_size: int,
    seed: int,
    optimizer: str,
    bounds: Iterable[AnyBound] = (),
    scale: LossScale | None = UNIT_SCALE,
    options: Mapping[str, object] | None = None,
    at_defaults: Iterable[str] = (),
    settings: Mapping[str, str] | None = None,
    terms: StartConditions = DEFAULT_START,
    meta_features: Mapping[str, float] | None = None,
    data_options: Mapping[str, str] | None = None,
    asked: Mapping[str, tuple[str, ...]] | None = None,
    equal_seeds: str = "",
) -> RunHeader:
    """Create the header of a run with the package versions of this process; `metric` is the formula of the loss."""
    return RunHeader(
        **_space_fields(space),
        data=data,
        metric=metric,
        validation="none" if validation is None else describe_validation(validation),
        bounds=tuple(map(describe_bound, bounds)),
        training_size=training_size,
        seed=seed,
        optimizer=optimizer,
        scale=describe_scale(scale),
        options={name: _canonical_json(value) for name, value in (options or {}).items()},
        settings=dict(settings or {}),
        initial=None if terms.initial is None else tuple(each.identity for each in terms.initial),
        budget=terms.budget,
        meta_features=dict(meta_features or {}),
        data_options=dict(data_options or {}),
        asked=None if asked is None else dict(asked),
        equal_seeds=equal_seeds,
        versions=current_versions(),
        at_defaults=frozenset(at_defaults),
    )


def _space_fields(space: Space) -> dict[str, str]:
    from spacelang.serialization.definition import space_to_json  # imported here, as reading a store does not need it

    return {"space": space.name, "definition": _canonical_json(space_to_json(space)), "identity": space_hash(space)}


def space_hash(space: Space) -> str:
    """Return a hash (64 digits) of what a search sees of a space.

    Source positions, names, titles, the task, and what the space lost by binding do not count.
    """
    from spacelang.serialization.definition import space_to_json

    bare = _without_spans(replace(space, name="space", title="", task=None, dropped=()))
    return hashlib.sha256(_canonical_json(space_to_json(bare)).encode()).hexdigest()


def current_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect results."""
    from platform import python_version  # imported here, as only a search needs it

    found = ((name, _version(name)) for name in PACKAGES)
    return {"python": python_version(), **{name: number for name, number in found if number is not None}}


@cache
def _version(name: str) -> str | None:
    """Return the version of a package, or None; a lookup takes a millisecond, and a comparison has many runs."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:  # run from a folder that is not installed
        return None


def version_changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return one line for each version that has changed; such a change may alter trials."""
    changed = [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]
    return [f"{name} {before.get(name, 'absent')} before, {now.get(name, 'absent')} now" for name in changed]


STORED_FIELDS: Final = tuple(entry.name for entry in fields(RunHeader) if entry.name != "at_defaults")


def header_to_texts(header: RunHeader) -> dict[str, str]:
    """Return every stored field of a header as JSON text, by the name of the field."""
    facts = {name: getattr(header, name) for name in STORED_FIELDS}
    records = {"data": asdict(header.data), "budget": asdict(header.budget)}
    return {name: _canonical_json(value) for name, value in (facts | records).items()}


def header_from_texts(texts: Mapping[str, str]) -> RunHeader:
    """Return the header from the texts that `header_to_texts` returned.

    Raises ValueError, TypeError or KeyError for any other texts.
    """
    complete = {**DEFAULT_TEXTS, **texts}
    facts: dict[str, Any] = {name: json.loads(complete[name]) for name in STORED_FIELDS}
    initial = None if facts["initial"] is None else tuple(facts["initial"])
    read: dict[str, Any] = {"data": DataFacts(**facts["data"]), "bounds": tuple(facts["bounds"])}
    read |= {"initial": initial, "budget": TotalBudget(**facts["budget"])}
    if (asked := facts["asked"]) is not None:
        if not isinstance(asked, dict) or not all(isinstance(each, list) for each in asked.values()):
            raise TypeError("the requested options must be a JSON object of lists")
        read["asked"] = {name: tuple(each) for name, each in asked.items()}
    return _check_types(RunHeader(**facts | read))


def _check_types(header: RunHeader) -> RunHeader:
    """Return the header; raise TypeError if a field has a wrong type, as in a file from another source."""
    data, budget = header.data, header.budget
    mappings = (header.options, header.settings, header.versions, header.data_options, header.meta_features)
    if not all(isinstance(each, dict) for each in mappings):
        raise TypeError("options, settings, versions and meta-features must be JSON objects")
    required = (header.space, header.definition, header.identity, header.metric, header.validation)
    named = (text for each in mappings[:4] for text in each.values())
    asked = (text for texts in (header.asked or {}).values() for text in texts)
    texts = (header.optimizer, header.law, header.scale, header.equal_seeds, data.name, data.fingerprint)
    further = (*header.bounds, *(header.initial or ()), *asked, *named)
    if not all(type(each) is str for each in (*required, *texts, *further)):
        raise TypeError("a field that must be a text has another type")
    trials, seconds = ([] if each is None else [each] for each in (budget.trials, budget.seconds))
    counts = (header.training_size, header.seed, data.rows, data.columns, *trials)
    amounts = (*seconds, *header.meta_features.values())
    if not all(type(each) is int for each in counts) or not all(
        type(each) in (int, float) and isfinite(each) for each in amounts
    ):
        raise TypeError("a field that must be a number has another type")
    return header


def _canonical_json(value: object) -> str:
    # ASCII, because some strings, with lone surrogates, cannot be encoded.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)


def _differences(stored: RunHeader, new: RunHeader) -> Iterator[str]:
    if stored.identity != new.identity:
        yield from _space_differences(stored, new)
    if stored.data.fingerprint != new.data.fingerprint:
        yield f"data: {stored.data} in the store, {new.data} now"
    for name in ("metric", "scale", "validation", "bounds", "training_size", "seed", "optimizer"):
        before, now = (_format_value(getattr(each, name)) for each in (stored, new))
        yield from _difference_lines(name.replace("_", " "), before, now)
    if stored.optimizer == new.optimizer:  # another optimizer has other options
        yield from _option_differences(stored.options, new.options, new.at_defaults)
    for name in dict.fromkeys((*stored.settings, *new.settings)):
        default = MISSING_VALUES_IMPUTED_EARLIER if name == MISSING_VALUES_SETTING else "nothing"
        yield from _difference_lines(f"`{name}`", stored.settings.get(name, default), new.settings.get(name, default))
    yield from _initial_differences(stored, new)


def _initial_differences(stored: RunHeader, new: RunHeader) -> Iterator[str]:
    """Yield the first initial configuration that differs; if the new run gives none, those of the store count."""
    before, now = stored.initial or (), stored.initial if new.initial is None else new.initial
    for place, pair in enumerate(zip_longest(before, now or ()), start=1):
        if pair[0] != pair[1]:
            yield from _difference_lines(f"initial configuration {place}", *map(_quote_or_nothing, pair))
            return


def _option_differences(
    stored: Mapping[str, str], new: Mapping[str, str], at_defaults: frozenset[str], within: str = ""
) -> Iterator[str]:
    """Yield a line for each option that differs; one that the store lacks differs if it is not in `at_defaults`.

    If both runs have the same plug-in as an option, its own options are compared, with names such as `z.disc`.
    """
    for name in dict.fromkeys((*stored, *new)):
        (before, own), (now, others) = _split_option(stored.get(name)), _split_option(new.get(name))
        if name in stored or f"{within}{name}" not in at_defaults:
            yield from _difference_lines(f"option `{within}{name}`", before, now)
        if before == now:
            yield from _option_differences(own, others, at_defaults, f"{within}{name}.")


def _split_option(text: str | None) -> tuple[str, Mapping[str, str]]:
    """Return the shown text of an option, and its nested options if it is a plug-in."""
    match None if text is None else json.loads(text):
        case {"name": str(name), "options": dict(own)}:
            return _canonical_json(name), {each: _canonical_json(value) for each, value in own.items()}
        case _:
            return text or "nothing", {}


def _difference_lines(setting: str, stored: str, new: str) -> Iterator[str]:
    if stored != new:
        yield f"{setting}: {stored} in the store, {new} now"


def _format_value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"`{each}`" for each in value) or "none"
    return f"`{value}`" if isinstance(value, str) else f"{value}"


def _space_differences(stored: RunHeader, new: RunHeader) -> Iterator[str]:
    # Imported here with the solver, as reading a store does not need it.
    from spacelang.serialization.definition import space_from_json
    from spacelang.serialization.difference import list_differing_facts
    from spacelang.serialization.json_documents import DefinitionError

    try:
        spaces = [replace(space_from_json(json.loads(each.definition)), task=None) for each in (stored, new)]
    except (DefinitionError, ValueError):
        spaces = []  # written by a version with another format of definitions
    found = list_differing_facts(*spaces) if spaces else ()
    for each in found[:MAX_SHOWN_DIFFERENCES]:
        part = f"{each.aspect.value} of `{each.address}`" if each.address else each.aspect.value
        yield f"space: {part}: {_quote_or_nothing(each.first)} in the store, {_quote_or_nothing(each.second)} now"
    if len(found) > MAX_SHOWN_DIFFERENCES:
        yield f"space: {len(found) - MAX_SHOWN_DIFFERENCES} more differences"
    if not found:
        yield _first_different_line(stored, new)


def _quote_or_nothing(text: str | None) -> str:
    return "nothing" if text is None else f"`{text}`"


def _first_different_line(stored: RunHeader, new: RunHeader) -> str:
    """Return the first line in which two definitions differ, for differences that nothing else shows, such as order."""
    lines = [json.dumps(json.loads(each.definition), indent=0).splitlines() for each in (stored, new)]
    for first, second in zip_longest(*lines, fillvalue="end of the definition"):
        if first != second:
            return f"space: definition: `{first}` in the store, `{second}` now"
    return "space: the definitions have the formats of different versions"


def _without_spans(value: T) -> T:
    if isinstance(value, tuple):
        return tuple(map(_without_spans, value))  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        inner = ((entry.name, getattr(value, entry.name)) for entry in fields(value))
        return type(value)(**{name: NO_SPAN if name == "span" else _without_spans(each) for name, each in inner})
    return value


def objectives_text(names: Iterable[LossName]) -> str:
    """Return the formulas of several objectives as JSON, for the settings of a header."""
    return json.dumps([each.formula for each in names])


def stored_objective_names(header: RunHeader) -> tuple[LossName, ...]:
    """Return the names of the objectives of a stored run; empty if it has one, or if the text is invalid."""
    try:
        found = json.loads(header.settings.get(OBJECTIVES_SETTING, "[]"))
    except (ValueError, RecursionError):
        return ()  # the store may be a foreign file with any text in it
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        return ()
    return tuple(map(LossName.of_formula, found))

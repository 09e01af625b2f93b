"""The plan of a comparison, stored in its folder so that only the same comparison is resumed there."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, TypeAlias

NamedValues: TypeAlias = Mapping[str, object]
"""JSON values by name."""

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """Everything that decides the runs of a comparison.

    Two comparisons may share a folder if `differences` finds nothing. `data` has, by label, what identifies each data
    set and how runs on it are judged. `optimizers` has their names and options by label. `identity` is that of the
    space. Sequences and mappings are as in JSON.
    """

    space: str
    identity: str
    seconds: float | None
    trials: int | None
    workers: int
    limits: str
    seeds: tuple[int, ...]
    data: Mapping[str, NamedValues]
    optimizers: Mapping[str, NamedValues]

    def to_json(self) -> str:
        """Return the plan as JSON, indented, with one value per line."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1) + "\n"

    @staticmethod
    def from_json(text: str) -> "ComparisonPlan":
        """Parse a plan; raises ValueError, TypeError or KeyError for any other text."""
        found: dict[str, Any] = json.loads(text)
        if found["version"] != VERSION:
            raise ValueError(f"unknown version {found['version']} of a comparison")
        facts = {each.name: found[each.name] for each in fields(ComparisonPlan)}
        return ComparisonPlan(**facts | {"seeds": tuple(facts["seeds"])})

    def differences(self, later: "ComparisonPlan") -> list[str]:
        """Return one line for the user for each difference that prevents `later` from continuing this comparison.

        A later comparison may add data, optimizers and seeds, but must not leave any out.
        """
        return list(_differences(self, ComparisonPlan.from_json(later.to_json())))


def _differences(plan: ComparisonPlan, later: ComparisonPlan) -> Iterator[str]:
    if plan.identity != later.identity:
        yield (
            f"space: `{plan.space}` in the folder and `{later.space}` now have different definitions"
            " (see `spacelang diff`)"
        )
    names = {"seconds": "seconds per run", "trials": "trials per run", "workers": "workers", "limits": "limits"}
    for name, label in names.items():
        before, now = getattr(plan, name), getattr(later, name)
        if before != now:
            yield f"{label}: {_format_value(before)} in the folder, {_format_value(now)} now"
    left_out = [seed for seed in plan.seeds if seed not in later.seeds]
    if left_out:
        yield f"seeds: {_format_seeds(plan.seeds)} in the folder, {_format_seeds(later.seeds)} now"
    yield from _mapping_differences("data", plan.data, later.data)
    yield from _mapping_differences("optimizer", plan.optimizers, later.optimizers)


def _mapping_differences(kind: str, there: Mapping[str, NamedValues], now: Mapping[str, NamedValues]) -> Iterator[str]:
    for label, facts in there.items():
        if label not in now:
            yield f"{kind} `{label}`: in the folder, but not given now"
            continue
        for name in dict.fromkeys((*facts, *now[label])):
            before, later = facts.get(name), now[label].get(name)
            if before != later:
                yield f"{kind} `{label}`, {name}: {_format_value(before)} in the folder, {_format_value(later)} now"


def _format_value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={each}" for name, each in value.items()) or "none"
    return "none" if value is None or value == "" else f"{value}"


def _format_seeds(seeds: tuple[int, ...]) -> str:
    whole = seeds == tuple(range(seeds[0], seeds[0] + len(seeds))) and len(seeds) > 1
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))

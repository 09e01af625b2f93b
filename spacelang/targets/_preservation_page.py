"""The tables in the README of the targets, which `python -m spacelang.targets._preservation_page` renews."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from spacelang.grouping import group_by_key
from spacelang.plugins import PluginRegistry
from spacelang.targets import TARGETS
from spacelang.targets._lowering import ALWAYS, Construct, Preservation, Verdict
from spacelang.targets._random_draws import DISTRIBUTION

PAGE: Final = Path(__file__).with_name("README.md")
STATUS_MARKDOWN: Final = {
    Preservation.EXACT: "exact",
    Preservation.REWRITTEN: "rewritten",
    Preservation.APPROXIMATED: "*approximated*",
    Preservation.REFUSED: "**refused**",
}
SUMMARY_HEAD: Final = "| target | compiled space |\n| --- | --- |\n"
DETAILS_HEAD: Final = "The tables below are generated from the declarations of the targets "
"""The texts of the README behind which generated parts begin: after the line, and after the paragraph."""
SHARED_HEAD: Final = (
    "## Verdicts of several targets\n\nThe sections after this one have the verdicts of single targets.\n"
)
MIN_SHARING_TARGETS: Final = 4  # A verdict that at least so many targets have is listed once, in a section of its own


def render_page() -> str:
    """Return the whole README in Markdown: the present one, with the generated parts renewed."""
    targets = {name: TARGETS.load(name) for name in TARGETS.names()}
    start, head, rest = PAGE.read_text(encoding="utf-8").partition(SUMMARY_HEAD)
    prose, begin, tail = rest[rest.index("\n\n") :].partition(DETAILS_HEAD)
    paragraph = begin + tail[: tail.index("\n\n")]
    rows = "\n".join(f"| `{name}` | {_summary(target)} |" for name, target in targets.items())
    table = ["| construct | " + " | ".join(f"`{name}`" for name in targets) + " |", "| --- " * (len(targets) + 1) + "|"]
    for construct in Construct:
        statuses_by_target = (
            dict.fromkeys(STATUS_MARKDOWN[v.status] for v in _verdicts(t, construct)) for t in targets.values()
        )
        table.append(
            "| ".join([f"| {construct.value} ", *(f"{', '.join(statuses)} " for statuses in statuses_by_target)]) + "|"
        )
    details = "\n".join([*table, "", *_details(targets)]).rstrip("\n")
    return f"{start}{head}{rows}{prose}{paragraph}\n\n{details}\n"


def _verdicts(target: type[Any], construct: Construct) -> tuple[Verdict, ...]:
    found: tuple[Verdict, ...] = {**ALWAYS, **target.preserves}[construct]
    return found


def _summary(target: type[Any]) -> str:
    return (target.__doc__ or "").strip().splitlines()[0]


def _details(targets: dict[str, Any]) -> Iterator[str]:
    verdicts = {name: [*_verdict_lines(target)] for name, target in targets.items()}
    names_by_line = group_by_key((line, name) for name, lines in verdicts.items() for line in lines)
    shared = {line: names for line, names in names_by_line.items() if len(names) >= MIN_SHARING_TARGETS}
    yield SHARED_HEAD
    for line, names in sorted(shared.items(), key=lambda item: -len(item[1])):
        yield f"- {line} ({_listed(names, [*targets])})"
    yield ""
    for name, target in targets.items():
        yield from (f"## `{name}`", "", _summary(target), "")
        for option in PluginRegistry.options(target):
            default = str(option.default).lower() if isinstance(option.default, bool) else option.default
            yield f"- `--set {option.name}={default}` ({option.type}): {option.doc}"
        if PluginRegistry.options(target):
            yield ""
        yield from (f"- {line}" for line in verdicts[name] if line not in shared)
        if (draws := getattr(target, "random_draws", None)) is not None:
            reasons = "; ".join(each.reason for each in draws.deviations)
            follow = "may not follow" if reasons else "follow"
            because = f": {reasons}" if reasons else ""
            yield f"- draws of {draws.library} {follow} {DISTRIBUTION}{because}"
        yield ""


def _verdict_lines(target: type[Any]) -> Iterator[str]:
    verdicts = ((verdict, construct.value) for construct in Construct for verdict in _verdicts(target, construct))
    for verdict, constructs in group_by_key(verdicts).items():
        yield f"{', '.join(constructs)}: {STATUS_MARKDOWN[verdict.status]}: {verdict.message}"


def _listed(names: Sequence[str], every: Sequence[str]) -> str:
    """Return the names in Markdown, or those that are missing if they are fewer."""
    others = [name for name in every if name not in names]
    if not others:
        return "all targets"
    shown, word = (others, "all but ") if len(others) < len(names) else (names, "")
    return word + ", ".join(f"`{name}`" for name in shown)


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")

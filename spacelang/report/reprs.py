"""Short representations of a space or a result: text for a prompt, and HTML for a notebook."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.ir.domain import describe, literal, spell_parameter_name
from spacelang.ir.range_bounds import describe_with_bounds, range_bounds
from spacelang.ir.repeated_stages import (
    keep_uses_only_in_longest_alternative,
    merge_constraints_across_uses,
    spell_decision_name,
)
from spacelang.ir.space import (
    Branch,
    Choice,
    Hyperparameter,
    Node,
    Operator,
    Product,
    Space,
    children_of,
    fixed_operators,
    subtree,
)
from spacelang.ir.trial import LossName
from spacelang.ir.tuple_parameters import TupleDescription, children_with_grouped_tuples
from spacelang.report.pipeline_lines import pareto_front_lines, pareto_front_rows
from spacelang.serialization.syntax_nodes import expression_speller, format_expression, with_spelled_names
from spacelang.text import pad_table_columns, shorten

if TYPE_CHECKING:
    from spacelang.report.run_facts import SearchCoverage
    from spacelang.runtime.history import Improvement, Outcome, TrialRecord
    from spacelang.runtime.objective import PositiveClass

WIDTH: Final = 100  # The maximum length of a line; longer lines are cut
MAX_LINES: Final = 12  # The maximum number of lines of one kind
INFINITE: Final = "infinitely many configurations"
UNCOUNTED: Final = "finitely many configurations (not counted exactly)"
Row = tuple[str, str]  # A label and its text


# ---- as text


def space_text(space: Space, structures: int, configurations: int | None) -> str:
    """Return the decisions with alternatives (numbers of hyperparameters in brackets, default starred) and counts."""
    title = f' "{replace_unprintable(space.title)}"' if space.title else ""
    decisions = [*_outer_decisions(space.root)]
    width = max((len(replace_unprintable(each.address)) for each in decisions), default=0)
    rows = [(replace_unprintable(each.address), _alternatives(each, WIDTH - width - 4)) for each in decisions]
    counts = f"  {_counts(space, structures, configurations)}"
    return "\n".join((_cut(f"Space {replace_unprintable(space.name)}{title}"), *_table(rows), counts))


def result_text(outcome: "Outcome", metric: LossName, rows: Sequence[Row]) -> str:
    """Return the lines about a result: the best score, the best configuration, and the `rows` about the search."""
    best = outcome.best
    head = "no trial succeeded"
    if best is not None and best.trial.loss is not None:
        facts = filter(None, (f"trial {best.index}", metric.describe_loss(best.trial.loss, ".5g")))
        head = f"{metric.describe(best.trial.loss, digits='.5g')} ({', '.join(facts)})"
    values = [] if best is None else sorted(best.trial.request.configuration.items())
    table = [(replace_unprintable(key), replace_unprintable(literal(value))) for key, value in values]
    return "\n".join(
        (f"Result: {head}", *_table(table, most=len(table)), *(_cut(f"  {name}: {value}") for name, value in rows))
    )


def pareto_front_text(
    front: "Sequence[TrialRecord]", names: Sequence[LossName], order: Sequence[str], rows: Sequence[Row]
) -> str:
    """Return the lines about the result of several objectives: the front, and the `rows` about the search."""
    lines = (line for line in pareto_front_lines(front, names, order) if line)
    shown = [_cut(replace_unprintable(line)) for line in lines]
    return "\n".join((f"Result: {shown[0].strip()}", *shown[1:], *(_cut(f"  {name}: {value}") for name, value in rows)))


def result_rows(
    outcome: "Outcome",
    searched: "SearchCoverage",
    store: object,
    chosen: str = "",
    positive: "PositiveClass | None" = None,
) -> list[Row]:
    """Return rows of a label and a text about a result.

    They are the trials, what was not searched, approximations, the `positive` class, the reason why the space was
    `chosen`, and the store; those that do not apply are left out.
    """
    failed = f", {outcome.failed:,} of them failed" if outcome.failed else ""
    kept = [] if store is None else [("stored in", replace_unprintable(str(store)))]
    why = [("space", replace_unprintable(chosen))] if chosen else []
    named = "" if positive is None else replace_unprintable(f"{positive.label} (for {', '.join(positive.scorers)})")
    of_one = [("positive class", named)] if named else []
    left = (
        [("not searched", replace_unprintable(searched.unsearched_hyperparameters_sentence))]
        if searched.unsearched_hyperparameters_sentence
        else []
    )
    lost = [("approximated", replace_unprintable(each)) for each in searched.lost]
    trials = f"{len(outcome.records):,} in {outcome.seconds:.1f} s{failed}"
    return [("trials", trials), *left, *lost, *of_one, *why, *kept]


def _outer_decisions(root: Node) -> Iterator[Choice]:
    """Yield the outermost decisions below a node: those that are not inside an alternative of another decision."""
    if isinstance(root, Choice):
        yield root
    elif isinstance(root, Product):
        for child in root.children:
            yield from _outer_decisions(child)


def _alternatives(choice: Choice, width: int) -> str:
    named = [_branch_text(branch, is_default=at == choice.default) for at, branch in enumerate(choice.branches)]
    line = " | ".join(named)
    while len(line) > width and len(named) > 1:
        named.pop()
        line = f"{' | '.join(named)} | … ({len(choice.branches)})"
    return line


def _branch_text(branch: Branch, *, is_default: bool) -> str:
    count = sum(isinstance(each, Hyperparameter) for each in subtree(branch.node))
    return f"{replace_unprintable(branch.name)}{f' ({count})' if count else ''}{'*' if is_default else ''}"


def _counts(space: Space, structures: int, configurations: int | None) -> str:
    members = _members(space, configurations)
    space = replace(
        space, root=keep_uses_only_in_longest_alternative(space.root), constraints=merge_constraints_across_uses(space)
    )
    others = {"hyperparameter": space.hyperparameters, "condition": space.conditions, "constraint": space.constraints}
    counts = [_count(structures, "structure"), members]
    return ", ".join([*counts, *(_count(len(parts), noun) for noun, parts in others.items())])


def _members(space: Space, configurations: int | None) -> str:
    if configurations is not None:
        return _count(configurations, "configuration")
    return INFINITE if any(each.domain.size is None for each in space.hyperparameters) else UNCOUNTED


def _count(number: int, what: str) -> str:
    return f"{_number(number)} {what}{'' if number == 1 else 's'}"


def _number(number: int) -> str:
    # An integer may have thousands of digits, which Python does not even print.
    bits = number.bit_length()
    return f"{number:,}" if bits < 64 else f"about 10^{round(bits * 0.30103)}"


def _table(rows: Sequence[Row], most: int = MAX_LINES) -> Iterator[str]:
    yield from (_cut(f"  {name}  {value}") for name, value in pad_table_columns(rows[:most]))
    if len(rows) > most:
        yield f"  and {len(rows) - most} more"


def _cut(line: str) -> str:
    return shorten(line, WIDTH)


# ---- as HTML


def space_html(space: Space, structures: int, configurations: int | None) -> str:
    """Return a space as a collapsible tree in HTML. All texts are escaped."""
    title = f" — {_safe(space.title)}" if space.title else ""
    space = replace(space, constraints=merge_constraints_across_uses(space))
    shown, bounds = with_spelled_names(space), range_bounds(space)
    in_ranges = {id(rule) for several in bounds.values() for bound in several for rule in bound.constraints}
    constraints = [
        f"<code>{'forbid' if each.forbidden else 'require'} {_safe(format_expression(each.expression))}</code>"
        for own, each in zip(space.constraints, shown.constraints, strict=True)
        if id(own) not in in_ranges
    ]
    spell = expression_speller(space)
    domains = {
        address: describe_with_bounds(
            space.variables[address].hyperparameter.domain, several, lambda limit: format_expression(spell(limit))
        )
        for address, several in bounds.items()
    }
    return (
        f"<div><b>{_safe(space.name)}</b>{title}<br>{_safe(_counts(space, structures, configurations))}"
        f"{_list(_node_html(shown.root, domains))}{_list(constraints)}</div>"
    )


def result_html(outcome: "Outcome", metric: LossName, rows: Sequence[Row]) -> str:
    """Return a result in HTML: the best score, the curve of the incumbent, and the best configuration."""
    best = outcome.best
    values = [] if best is None else sorted(best.trial.request.configuration.items())
    head = "no trial succeeded"
    if best is not None and (loss := best.trial.loss) is not None:
        beside = metric.describe_loss(loss, ".5g")
        head = f"{_safe(metric.score_name)} <b>{metric.score(loss):.5g}</b>{_safe(f' ({beside})' if beside else '')}"
    cells = [*rows, *((key, literal(value)) for key, value in values)]
    body = "".join(f"<tr><th style='text-align:left'>{_safe(k)}</th><td>{_safe(v)}</td></tr>" for k, v in cells)
    return f"<div>{head}{incumbent_curve_svg(outcome.curve, outcome.seconds, metric)}<table>{body}</table></div>"


def pareto_front_html(
    front: "Sequence[TrialRecord]", names: Sequence[LossName], order: Sequence[str], rows: Sequence[Row]
) -> str:
    """Return the result of several objectives in HTML: the front, and the `rows` about the search."""
    headline, (head, *trials), more = pareto_front_rows(front, names, order)
    cells = "".join(_table_row(each) for each in trials)
    heading = "".join(f"<th>{_safe(each)}</th>" for each in head)
    table = f"<table><tr>{heading}</tr>{cells}</table>" if trials else ""
    facts = "".join(f"<br>{_safe(f'{name}: {value}')}" for name, value in rows)
    return f"<div>{_safe(headline)}{table}{_safe(more)}{facts}</div>"


def _table_row(cells: Sequence[str]) -> str:
    *numbers, last = map(_safe, cells)
    shown = "".join(f"<td>{each}</td>" for each in numbers)
    return f"<tr>{shown}<td style='text-align:left'>{last}</td></tr>"


def incumbent_curve_svg(
    curve: "Sequence[Improvement]", seconds: float, metric: LossName, size: tuple[int, int] = (480, 120)
) -> str:
    """Return the score of the incumbent over time as an SVG step curve; empty with fewer than two points."""
    if len(curve) < 2:
        return ""
    width, height = size
    scores = [metric.score(point.loss) for point in curve]
    low, high, end = min(scores), max(scores), max(seconds, curve[-1].seconds) or 1.0

    def place(point: float, score: float) -> tuple[float, float]:
        return 5 + point / end * (width - 10), height - 15 - (score - low) / ((high - low) or 1.0) * (height - 30)

    steps = [place(curve[0].seconds, scores[0])]
    for after, (before, score) in zip(curve[1:], pairwise(scores), strict=True):
        steps.extend((place(after.seconds, before), place(after.seconds, score)))
    steps.append(place(end, scores[-1]))
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in steps)
    first, last = scores[0], scores[-1]
    description = _safe(f"the {metric.score_name} of the incumbent goes from {first:.5g} to {last:.5g} in {end:.3g} s")
    start_height, end_height = (12, height - 2) if first > last else (height - 2, 12)
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="{description}" style="display:block">'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        f'<text x="5" y="{start_height}" font-size="11" fill="currentColor">{first:.4g}</text>'
        f'<text x="{width - 5}" y="{end_height}" font-size="11" fill="currentColor" text-anchor="end">'
        f"{last:.4g} after {end:.3g} s</text></svg>"
    )


def _node_html(node: Node | TupleDescription, domains: Mapping[str, str]) -> list[str]:
    """Return the lines of HTML for a node and all below it; `domains` maps addresses to texts with named bounds."""
    match node:
        case Operator() if node.tuples:
            parts = (*children_with_grouped_tuples(node), *fixed_operators(node))
            return [line for part in parts for line in _node_html(part, domains)]
        case TupleDescription():
            return [_leaf_html(node.parameter.name, node.domain, node)]
        case Hyperparameter():
            return [_leaf_html(node.name, domains.get(node.address) or describe(node.domain), node)]
        case Choice():
            several = [
                _branch_html(each, domains, is_default=at == node.default) for at, each in enumerate(node.branches)
            ]
            if node.repeats:
                # Each number of uses has the first ones of the largest number.
                several = _node_html(node.branches[-1].node, domains)
            head = f"{spell_decision_name(node)}: {_alternatives(node, WIDTH)}"
            return [f"<details><summary>{_safe(head)}</summary>{_list(several)}</details>"]
        case _:
            return [line for child in children_of(node) for line in _node_html(child, domains)]


def _leaf_html(name: str, domain: str, node: Hyperparameter | TupleDescription) -> str:
    active = "" if node.condition is None else f" when {format_expression(node.condition)}"
    text = f"{domain} = {literal(node.default)}{active}"
    return f"{_safe(spell_parameter_name(name))} : <code>{_safe(text)}</code>"


def _branch_html(branch: Branch, domains: Mapping[str, str], *, is_default: bool) -> str:
    name = f"<b>{_safe(branch.name)}</b> (default)" if is_default else _safe(branch.name)
    inside = _node_html(branch.node, domains)
    return f"<details><summary>{name}</summary>{_list(inside)}</details>" if inside else name


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>" if items else ""


def _safe(text: object) -> str:
    return escape(replace_unprintable(str(text)))

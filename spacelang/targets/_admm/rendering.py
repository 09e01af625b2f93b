"""The ADMM variables of a space with their constraints, and their rendering as JSON, as text and as a DOT graph."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from functools import cached_property
from typing import Final

from spacelang.grouping import group_by_key
from spacelang.ir.expr import mentioned_addresses
from spacelang.ir.space import Constraint
from spacelang.ir.task import Bound, BoundedMeasure, describe_bound
from spacelang.serialization.syntax_nodes import expression_speller, format_expression
from spacelang.solver.counting import Structures
from spacelang.targets._admm.configuration_converter import ConfigurationConverter
from spacelang.targets._admm.layout import VariableLayout
from spacelang.targets._admm.linear_constraints import LinearConstraint, derive_linear_constraints
from spacelang.targets._admm.points import ThetaCoordinate, describe_piece_values
from spacelang.targets._text_and_dot import quote_dot, wrap_words
from spacelang.text import NO_SPAN, count_with_noun

MAX_CONSTRAINT_LINES: Final = 40  # The maximum number of constraints in the text; the JSON document has all of them
UNITS: Final = {BoundedMeasure.LATENCY: "seconds", BoundedMeasure.SIZE: "bytes", BoundedMeasure.DISPARITY: "score"}


@dataclass(frozen=True, slots=True)
class FlatteningCounts:
    """The numbers of alternatives and hyperparameters that flattening adds, and what it replaces.

    It replaces `conditions` and nested `decisions`.
    """

    alternatives: int
    hyperparameters: int
    conditions: int
    decisions: int


class AdmmVariables(ConfigurationConverter):
    """The variables of ADMM for a space, and their constraints."""

    def __init__(self, structures: Structures, layout: VariableLayout, added: FlatteningCounts | None) -> None:
        """Create the form; `added` is None if conditions are evaluated as masks."""
        super().__init__(structures.space, layout)
        self.structures, self.added = structures, added
        self.bounds: tuple[Bound, ...] = self.space.task.bounds if self.space.task else ()

    @property
    def linear_constraints(self) -> tuple[LinearConstraint, ...]:
        """The linear constraints over z and orders, which exclude combinations that no member has."""
        return self._linear_constraints[0]

    @cached_property
    def _linear_constraints(self) -> tuple[tuple[LinearConstraint, ...], tuple[Constraint, ...]]:
        return derive_linear_constraints(self.structures, self.layout)

    @cached_property
    def value_constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the space that are not decided by z and the orders; `project` enforces them."""
        settled = {block.address for block in self.blocks} | {o.address for o in self.orders if o.owner is None}
        for block in self.blocks:
            for branch in block.alternatives_by_branch.values():
                settled |= block.alternatives[branch[0]].case.branches.keys()
            coded = {slot.address for way in block.alternatives for slot in way.columns}
            settled |= {address for way in block.alternatives for address in way.case.domains} - coded  # single values
        left, rules = set(map(id, self._linear_constraints[1])), self.space.constraints
        return tuple(
            rule for rule in rules if id(rule) in left or not settled.issuperset(mentioned_addresses(rule.expression))
        )


def form_to_json(form: AdmmVariables) -> dict[str, object]:
    """Return the variables and constraints as a dictionary that the `json` module can write."""
    spans = (rule.span for rule in form.value_constraints)
    lines = (None if span.source is NO_SPAN.source else span.line for span in spans)
    written = zip(_constraint_texts(form), lines, strict=True)
    document: dict[str, object] = {
        "conditions": "mask" if form.added is None else "flatten",
        "z": [{"stage": b.stage, "alternatives": [way.name for way in b.alternatives]} for b in form.blocks],
        "theta_c": [each.to_json(integral=False) for each in form.theta_c.coordinates],
        "theta_d": [each.to_json(integral=True) for each in form.theta_d.coordinates],
        "order": [
            {"name": o.stage, "owner": o.owner and list(o.owner), "steps": list(o.labels), "size": o.size}
            for o in form.orders
        ],
        "constraints": [
            *({"kind": "order", **each} for each in _excluded_orders(form)),
            *({"kind": "decisions", **_linear_constraint_to_json(form, rule)} for rule in form.linear_constraints),
            *({"kind": "hyperparameters", "text": text, "line": line} for text, line in written),
            *(
                {"kind": "trial", "measure": b.name, "epsilon": b.limit, "strict": b.strict, "unit": UNITS[b.measure]}
                | {"text": describe_bound(b)}
                for b in form.bounds
            ),
        ],
    }
    if form.added is not None:
        document["flattened"] = asdict(form.added)
    return document


def _excluded_orders(form: AdmmVariables) -> Iterator[dict[str, object]]:
    for order, labels in ((o, labels) for o in form.orders for labels in o.missing_orders):
        terms = [{"order": order.stage, "step": label, "position": k} for k, label in enumerate(labels)]
        text = f"{' + '.join(f'o[{label}, {k}]' for k, label in enumerate(labels))} <= {order.size - 1}"
        yield {"terms": terms, "most": order.size - 1, "text": text}


def _linear_constraint_to_json(form: AdmmVariables, rule: LinearConstraint) -> dict[str, object]:
    names = _decision_names(form)
    terms: list[dict[str, object]] = []
    for address, places in rule.terms:
        stage, alternatives, is_order = names[address]
        key = "orders" if is_order else "alternatives"
        terms.append({"stage": stage, key: [alternatives[place] for place in places]})
    return {"terms": terms, "most": rule.upper_bound, "text": _linear_constraint_text(form, rule)}


def _linear_constraint_text(form: AdmmVariables, rule: LinearConstraint) -> str:
    names = _decision_names(form)
    words = [
        f"{'o' if is_order else 'z'}[{stage}: {alternatives[place]}]"
        for address, places in rule.terms
        for stage, alternatives, is_order in (names[address],)
        for place in places
    ]
    return f"{' + '.join(words)} <= {rule.upper_bound}"


def _decision_names(form: AdmmVariables) -> dict[str, tuple[str, tuple[str, ...], bool]]:
    found = {b.address: (b.stage, tuple(way.name for way in b.alternatives), False) for b in form.blocks}
    return found | {order.address: (order.stage, order.branches, True) for order in form.orders}


def _constraint_texts(form: AdmmVariables) -> list[str]:
    said = expression_speller(form.space)
    words = ((("require", "forbid")[each.forbidden], said(each.expression)) for each in form.value_constraints)
    return [f"{word} {format_expression(expression)}" for word, expression in words]


def text_listing(form: AdmmVariables) -> str:
    """Return a text with the blocks, the orders, the variables of each owner, and the constraints."""
    return "\n".join([*_title(form), "", *_decision_lines(form), "", *_theta_lines(form), *_constraint_lines(form)])


def _title(form: AdmmVariables) -> Iterator[str]:
    sizes = " x ".join(str(len(block.alternatives)) for block in form.blocks)
    yield (
        f"{form.space.name}: z in {{0, 1}}^{form.layout.width} ({sizes or 'no stage'}), "
        f"{len(form.theta_c)} continuous (theta_c) and {len(form.theta_d)} discrete (theta_d)"
    )
    if form.added is not None:
        alternatives, hyperparameters, conditions, decisions = astuple(form.added)
        causes = f"{count_with_noun(conditions, 'condition')} and {count_with_noun(decisions, 'nested decision')}"
        added = count_with_noun(alternatives, "alternative"), count_with_noun(hyperparameters, "hyperparameter")
        yield f"flattened: {causes} add {' and '.join(added)}"


def _decision_lines(form: AdmmVariables) -> Iterator[str]:
    yield "z: exactly one alternative of each block is 1"
    wide = max((len(block.stage) for block in form.blocks), default=0)
    for number, block in enumerate(form.blocks, start=1):
        start = f"  z{number}  {block.stage:<{wide}}  {len(block.alternatives):>3}  "
        yield from wrap_words((way.name for way in block.alternatives), start, " " * len(start))

    for order in form.orders:
        owner = "" if order.owner is None else f" (with {order.owner[1]})"
        yield ""
        yield f"o: {order.stage}{owner}, {order.size} x {order.size}, each row and each column sums to 1"
        yield f"  steps: {', '.join(order.labels)}"


def _theta_lines(form: AdmmVariables) -> Iterator[str]:
    """Yield a line for each owner with its numbers of variables, followed by a line for each of its variables."""
    boxes = (("c", form.theta_c), ("d", form.theta_d))
    by_owner = group_by_key((each.owner, (mark, each)) for mark, box in boxes for each in box.coordinates)
    yield "theta: the hyperparameters of all alternatives; c: continuous, d: discrete"
    stage = None
    owners = [None, *((block.stage, way.name) for block in form.blocks for way in block.alternatives)]
    for owner in owners:
        mine = by_owner.get(owner, [])
        if owner is not None and owner[0] != stage:
            stage = owner[0]
            yield f"  {stage}"
        if owner is None and not mine:
            continue
        called = "in every pipeline" if owner is None else f"  {owner[1]}"
        continuous = sum(mark == "c" for mark, _ in mine)
        counts = f"{continuous}c {len(mine) - continuous}d" if mine else "-"
        yield f"  {called:<44}{counts:>8}"
        prefix = "" if owner is None else f"{owner[0]}."
        for mark, each in mine:
            condition = f"  when {each.condition}" if each.condition else ""
            yield f"      {mark}  {each.name.removeprefix(prefix):<34} {_range_text(mark, each)}{condition}"


def _range_text(mark: str, each: ThetaCoordinate) -> str:
    pieces = " | ".join(map(describe_piece_values, each.pieces))
    excluded = f"  without {', '.join(map(str, sorted(each.excluded)))}" if each.excluded else ""
    lower, upper = each.pieces[0].first, each.pieces[-1].last_integer
    alone = len(each.pieces) == 1
    if mark == "c" or (alone and each.pieces[0].first_value_and_step()[1] == 1 and pieces.startswith(f"[{lower},")):
        return f"{pieces}{excluded}"
    return f"{lower}..{upper} = {pieces}{excluded}"


def _constraint_lines(form: AdmmVariables) -> Iterator[str]:
    lines = [
        *(str(each["text"]) for each in _excluded_orders(form)),
        *(_linear_constraint_text(form, rule) for rule in form.linear_constraints),
        *_constraint_texts(form),
        *(f"subject to {describe_bound(bound)}" for bound in form.bounds),
    ]
    if lines:
        yield ""
        yield "constraints"
        yield from (f"  {line}" for line in lines[:MAX_CONSTRAINT_LINES])
    if len(lines) > MAX_CONSTRAINT_LINES:
        yield f"  and {count_with_noun(len(lines) - MAX_CONSTRAINT_LINES, 'more', 'more')}"


def dot_graph(form: AdmmVariables) -> str:
    """Return a graph with a cluster for each order and for each block, with its alternatives and their variables."""
    lines = [f"digraph {quote_dot(form.space.name)} {{", "  rankdir=LR; node [shape=record];"]
    lines += [f"  label={quote_dot(next(_title(form)))};"]
    always = [each for box in (form.theta_c, form.theta_d) for each in box.coordinates if each.owner is None]
    if always:
        lines.append(f"  always [label={_record_label('in every pipeline', always, '')}];")
    previous: list[str] = []
    for number, block in enumerate(form.blocks):
        lines.append(f"  subgraph cluster_{number} {{ label={quote_dot(f'{block.stage}: exactly one')};")
        for place, way in enumerate(block.alternatives):
            owner = (block.stage, way.name)
            mine = [each for box in (form.theta_c, form.theta_d) for each in box.coordinates if each.owner == owner]
            lines.append(f"    z{number}_{place} [label={_record_label(way.name, mine, f'{block.stage}.')}];")
        lines.append("  }")
        names = [f"z{number}_{place}" for place in range(len(block.alternatives))]
        if previous:
            lines.append(f"  {previous[0]} -> {names[0]} [style=invis];")
        previous = names
    for number, order in enumerate(form.orders):
        label = quote_dot(f"{order.stage}: {order.size} x {order.size}")
        steps = "; ".join(f"o{number}_{k} [label={quote_dot(step)}]" for k, step in enumerate(order.labels))
        lines.append(f"  subgraph cluster_order_{number} {{ label={label}; {steps} }}")
    return "\n".join([*lines, "}"])


def _record_label(name: str, coordinates: Sequence[ThetaCoordinate], prefix: str) -> str:
    inner = "\\l".join(_escape_record(each.name.removeprefix(prefix)) for each in coordinates)
    return f'"{{{_escape_record(name)}{"|" + inner + chr(92) + "l" if inner else ""}}}"'


def _escape_record(text: str) -> str:
    return "".join("\\" + character if character in '\\"{}|<> ' else character for character in text).replace("\n", " ")

"""Random texts of small finite spaces, each with its meaning worked out here, apart from the compiler.

The operators and parameters are real ones of scikit-learn; domains, conditions, constraints, defaults and annotations
are drawn. What a text means is listed configuration by configuration, from the drawing alone.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from spacelang.testing.small_spaces import BOOLEAN_STRATEGY, draw_integer, draw_one

LARGEST = 2_000
"""The most raw combinations of a text."""

ABSENT = object()
Look = Callable[[str], Any]

BOOL = ("bool", "bool", (True, False))
STAGES: dict[str, dict[str, dict[str, tuple[tuple[str, str, tuple[Any, ...]], ...]]]] = {
    "scaler": {
        "StandardScaler": {"with_mean": (BOOL,), "with_std": (BOOL,)},
        "MinMaxScaler": {"clip": (BOOL, ("set", "{true}", (True,)))},
    },
    "transformer": {
        "PCA": {
            "n_components": (
                ("number", "int[1, 3]", (1, 2, 3)),
                ("number", "float(0, 0.75] step 0.25", (0.25, 0.5, 0.75)),
            ),
            "whiten": (BOOL,),
            "svd_solver": (("set", '{auto, "full"}', ("auto", "full")),),
        },
        "PolynomialFeatures": {"degree": (("number", "int[1, 5) step 2", (1, 3)),), "include_bias": (BOOL,)},
    },
    "estimator": {
        "SVC": {
            "kernel": (
                ("set", "{linear, rbf, poly}", ("linear", "rbf", "poly")),
                ("ordered", "ordered {linear, rbf, poly}", ("linear", "rbf", "poly")),
            ),
            "degree": (("number", "int[2, 4]", (2, 3, 4)), ("number", "int(1, 4) log", (2, 3))),
            "C": (("number", "float[0.5, 1.5] step 0.5", (0.5, 1.0, 1.5)), ("number", "{1, 10}", (1, 10))),
            "gamma": (("number", "{scale, auto} | float[0.5, 1] step 0.5", ("scale", "auto", 0.5, 1.0)),),
        },
        "RandomForestClassifier": {
            "bootstrap": (BOOL,),
            "max_depth": (("number", "{none} | int[2, 3]", (None, 2, 3)), ("number", "int[2, 2 * 2]", (2, 3, 4))),
            "criterion": (("ordered", "ordered {gini, entropy, log_loss}", ("gini", "entropy", "log_loss")),),
        },
        "KNeighborsClassifier": {
            "n_neighbors": (("number", "int[1, 3]", (1, 2, 3)),),
            "weights": (("set", "{uniform, distance}", ("uniform", "distance")),),
        },
        "AdaBoostClassifier": {"n_estimators": (("number", "int[10, 30] step 10", (10, 20, 30)),)},
    },
}  # fmt: skip
"""By stage and operator the parameters, each with some domains: kind, text, values."""

MIXTURE = {"size": (("number", "int[1, 2]", (1, 2)),), "ripe": (BOOL,)}
"""The parameters of an abstract operator, beside one that is a choice of operators, values and a range."""

LIKE_OTHERS = ("true", "0.5", '"true"', '"0.5"', '"range"', '"none"')
"""Plain values beside operators, and strings that read like these, like the range or like `none`."""

TREES = {"max_depth": (("number", "int[1, 2]", (1, 2)),), "splitter": (("set", "{best, random}", ("best", "random")),)}


@dataclass(frozen=True)
class Expression:
    """A condition: its text, its truth, and the hyperparameters that it names."""

    text: str
    holds: Callable[[Look], bool]
    names: frozenset[str]


@dataclass
class Leaf:
    address: str
    key: str
    kind: str
    values: tuple[Any, ...]
    condition: Expression | None = None


@dataclass
class Decision:
    address: str
    key: str
    alternatives: list["Alternative"] = field(default_factory=list)
    condition: Expression | None = None
    """Where it does not hold, `none` is taken, which is among the alternatives."""
    may_be_none: bool = True
    """Whether `none` may be taken where the condition holds."""


@dataclass
class Alternative:
    name: str
    operator: str
    members: list[Leaf | Decision] = field(default_factory=list)


@dataclass
class Rule:
    """A constraint; one in a body applies only where the branch is taken that the body stands in."""

    forbidden: bool
    expression: Expression
    branch: tuple[str, str] | None = None


@dataclass
class Drawn:
    """A text with what it means."""

    text: str
    stages: list[Decision]
    rules: list[Rule]

    @property
    def without_annotations(self) -> str:
        return re.sub(r" @\w+(\([^)]*\))?", "", self.text)

    def configurations(self) -> set[str]:
        """Every configuration as canonical JSON."""
        return {json.dumps(document, sort_keys=True) for document, _ in self.members()}

    def structures(self) -> set[frozenset[tuple[str, str]]]:
        """The decisions, by address, of every configuration."""
        return {frozenset(taken.items()) for _, taken in self.members()}

    def members(self) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
        conditional = [decision for decision in nested_in(self.stages) if decision.condition is not None]
        for taken, keys, leaves in ways(self.stages):
            for values in product(*(leaf.values for leaf in leaves)):
                worth: dict[str, Any] = dict(taken)
                for leaf, value in zip(leaves, values, strict=True):
                    # What a condition names comes before it in the text.
                    active = leaf.condition is None or leaf.condition.holds(lambda a, w=worth: w.get(a, ABSENT))
                    if active:
                        worth[leaf.address] = value
                if all(agrees(each, worth) for each in conditional) and all(keeps(rule, worth) for rule in self.rules):
                    yield keys | {leaf.key: worth[leaf.address] for leaf in leaves if leaf.address in worth}, taken


def nested_in(decisions: list[Decision]) -> Iterator[Decision]:
    inner = [m for d in decisions for a in d.alternatives for m in a.members if isinstance(m, Decision)]
    yield from [*decisions, *(nested_in(inner) if inner else ())]


def agrees(decision: Decision, worth: dict[str, Any]) -> bool:
    """Whether what a decision with a condition takes, where it is reached, is what the condition says."""
    assert decision.condition is not None
    taken = worth.get(decision.address, ABSENT)
    if not decision.condition.holds(lambda address: worth.get(address, ABSENT)):
        return taken in (ABSENT, "none")
    return taken != "none" or decision.may_be_none


def keeps(rule: Rule, worth: dict[str, Any]) -> bool:
    if rule.branch is not None and worth.get(rule.branch[0]) != rule.branch[1]:
        return True
    if any(name not in worth for name in rule.expression.names):
        return True
    return rule.expression.holds(lambda address: worth.get(address, ABSENT)) is not rule.forbidden


def ways(decisions: list[Decision]) -> Iterator[tuple[dict[str, str], dict[str, str], list[Leaf]]]:
    """The branches taken, by address and by key, with the hyperparameters below them, in the order of the text."""
    for chosen in product(*(decision.alternatives for decision in decisions)):
        taken = {d.address: a.name for d, a in zip(decisions, chosen, strict=True)}
        keys = {d.key: a.name for d, a in zip(decisions, chosen, strict=True)}
        inner = [member for alternative in chosen for member in alternative.members]
        leaves = [member for member in inner if isinstance(member, Leaf)]
        nested = [member for member in inner if isinstance(member, Decision)]
        if not nested:
            yield taken, keys, leaves
        else:
            for more, more_keys, more_leaves in ways(nested):
                yield taken | more, keys | more_keys, leaves + more_leaves


# ---- drawing


@dataclass
class Scope:
    """What may be named so far, by the name to call it by."""

    leaves: dict[str, Leaf] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    hides_estimator: bool = False
    branch: tuple[str, str] | None = None


@st.composite
def texts(draw: st.DrawFn, conditional: bool = False) -> Drawn:
    """A text with its meaning; the constraints may exclude its default, or everything.

    If `conditional`, there is a choice of operators as a value that has a condition, perhaps with plain values.
    """
    known = Scope()
    lines, stages, rules = ["space drawn"], [], []
    lines += ["abstract Mixture"] if conditional else []
    names = [name for name in STAGES if name == "estimator" or draw(BOOLEAN_STRATEGY)]
    for name in names:
        decision = Decision(name, name)
        known.decisions[name] = decision
        lines.append(f"stage {name}{draw(annotation('@first')) if name == names[0] else ''} =")
        writer = Writer(draw, known, rules, conditional=conditional and name == "estimator")
        lines.extend(writer.alternatives(decision, STAGES[name], optional=name != "estimator"))
        stages.append(decision)
    for _ in range(draw_integer(draw, 0, 2)):
        lines.append(Writer(draw, known, rules).rule(Scope()))
    drawn = Drawn("\n".join(lines) + "\n", stages, rules)
    assume(raw_size(stages) <= LARGEST)
    return drawn


def raw_size(decisions: list[Decision]) -> int:
    return prod(
        sum(
            prod(len(m.values) if isinstance(m, Leaf) else raw_size([m]) for m in alternative.members)
            for alternative in decision.alternatives
        )
        for decision in decisions
    )


def annotation(*choices: str) -> st.SearchStrategy[str]:
    return st.sampled_from(["", "", *[f" {choice}" for choice in choices]])


@dataclass
class Writer:
    draw: st.DrawFn
    known: Scope
    rules: list[Rule]
    conditional: bool = False
    """Whether the first alternative has a choice of operators with a condition."""

    def alternatives(self, decision: Decision, table: Any, *, optional: bool) -> Iterator[str]:
        """The lines of the alternatives of a stage, which are added to the decision as well."""
        default = False
        classes = self.draw(st.lists(st.sampled_from(sorted(table)), min_size=1, max_size=3))
        if self.conditional:
            classes[:1] = [draw_one(self.draw, ("AdaBoostClassifier", "Mixture"))]
            table = {**table, "Mixture": MIXTURE}
        for place, operator in enumerate(classes):
            twice = classes.count(operator) > 1
            name = f"use{place}" if twice or draw_integer(self.draw, 0, 3) == 0 else operator
            alternative = Alternative(name, operator)
            decision.alternatives.append(alternative)
            path = f"{decision.address}.{name}"
            is_around = operator in ("AdaBoostClassifier", "Mixture")
            siblings = Scope(hides_estimator=is_around, branch=(decision.address, name))
            body = [*self.body(alternative, table[operator], path, decision.key, siblings)]
            marks = self.draw(annotation("@weight(2)", *([] if default else ["@default"])))
            default = default or "@default" in marks
            alias = "" if name == operator else f" as {name}"
            yield f"  | {operator}{alias} {{" + "".join(f"\n      {line}" for line in body) + f"\n    }}{marks}"
        if optional and self.draw(BOOLEAN_STRATEGY):
            decision.alternatives.append(Alternative("none", "none"))
            yield "  | none"

    def body(self, alternative: Alternative, table: Any, path: str, key: str, siblings: Scope) -> Iterator[str]:
        later: list[str] = []
        for name in self.draw(st.lists(st.sampled_from(sorted(table)), max_size=2, unique=True)):
            kind, text, values = draw_one(self.draw, table[name])
            leaf = Leaf(f"{path}.{name}", f"{key}.{name}", kind, values)
            default = f" = {literal(draw_one(self.draw, values))}" if self.draw(BOOLEAN_STRATEGY) else ""
            marks = self.draw(annotation("@split(2)", "@prior(uniform)"))
            when = ""
            if draw_integer(self.draw, 0, 2) == 0:
                leaf.condition = self.expression(siblings)
                when = f" when {leaf.condition.text}"
                value = draw_one(self.draw, values)
                if kind != "ordered" and not isinstance(value, str | None) and self.draw(BOOLEAN_STRATEGY):
                    leaf.values, text, default, marks = (value,), f"= {literal(value)}", "", ""
            alternative.members.append(leaf)
            siblings.leaves[name] = leaf
            self.known.leaves[leaf.address] = leaf
            colon = "" if text.startswith("=") else ": "
            yield f"{name} {colon}{text}{default}{marks}{when}"
            if draw_integer(self.draw, 0, 4) == 0:
                later.append(self.rule(siblings))
        if siblings.hides_estimator and (self.conditional or self.draw(BOOLEAN_STRATEGY)):
            yield self.nested(alternative, path, key, siblings)
        yield from later

    def nested(self, alternative: Alternative, path: str, key: str, around: Scope) -> str:
        """An operator as a value: a fixed one whose hyperparameters are searched, or a decision."""
        inner = Alternative("DecisionTreeClassifier", "DecisionTreeClassifier")
        if not self.conditional and self.draw(BOOLEAN_STRATEGY):
            siblings = Scope(branch=around.branch)
            body = ", ".join(self.body(inner, TREES, f"{path}.estimator", f"{key}.estimator", siblings))
            alternative.members.extend(inner.members)
            return f"estimator = DecisionTreeClassifier {{ {body} }}"
        decision = Decision(f"{path}.estimator", f"{key}.estimator")
        condition = self.expression(around) if self.conditional or self.draw(BOOLEAN_STRATEGY) else None
        self.conditional = False
        start = f"{decision.address}.DecisionTreeClassifier"
        siblings = Scope(branch=(decision.address, inner.name))
        body = ", ".join(self.body(inner, TREES, start, decision.key, siblings))
        decision.alternatives = [inner, Alternative("LogisticRegression", "LogisticRegression")]
        more = self.mixture(decision) if alternative.operator == "Mixture" else ""
        decision.may_be_none = condition is not None and draw_integer(self.draw, 0, 3) == 0
        decision.condition = condition
        if condition is not None:
            decision.alternatives.append(Alternative("none", "none"))
        self.known.decisions[decision.address] = decision
        alternative.members.append(decision)
        written = more + ["", " | none"][decision.may_be_none]
        when = f" when {condition.text}" if condition is not None else ""
        return f"estimator : DecisionTreeClassifier {{ {body} }} | LogisticRegression{written}{when}"

    def mixture(self, decision: Decision) -> str:
        """Plain values beside the operators, and a range: a decision with a hyperparameter of its own."""
        values = self.draw(st.lists(st.sampled_from(("red", *LIKE_OTHERS)), max_size=3, unique=True))
        decision.alternatives.extend(Alternative(value, value) for value in values)
        written = f" | {{{', '.join(values)}}}" if values else ""
        if self.draw(BOOLEAN_STRATEGY):
            leaf = Leaf(f"{decision.address}.range.value", f"{decision.key}.value", "number", (1, 2))
            decision.alternatives.append(Alternative("range", "range", [leaf]))
            self.known.leaves[leaf.address] = leaf
            written += " | int[1, 2]"
        return written

    def rule(self, siblings: Scope) -> str:
        forbidden = self.draw(BOOLEAN_STRATEGY)
        expression = self.expression(siblings)
        self.rules.append(Rule(forbidden, expression, siblings.branch))
        return f"{'forbid' if forbidden else 'require'} {expression.text}"

    # ---- expressions

    def expression(self, siblings: Scope) -> Expression:
        left = self.atom(siblings)
        kind = draw_integer(self.draw, 0, 5)
        if kind == 0:
            return Expression(f"not ({left.text})", lambda look: not left.holds(look), left.names)
        if kind > 2:
            return left
        right, word = self.atom(siblings), "and" if kind == 1 else "or"
        if draw_integer(self.draw, 0, 3) == 0:
            sign, wanted = draw_one(self.draw, (("==", True), ("!=", False)))
            return Expression(
                f"({left.text} or false) {sign} ({right.text})",
                lambda look: (left.holds(look) == right.holds(look)) is wanted,
                left.names | right.names,
            )
        join = all if kind == 1 else any
        return Expression(
            f"{left.text} {word} {right.text}",
            lambda look: join([left.holds(look), right.holds(look)]),
            left.names | right.names,
        )

    def atom(self, siblings: Scope) -> Expression:
        leaves = {**self.known.leaves, **siblings.leaves}
        if not leaves or draw_integer(self.draw, 0, 3) == 0:
            return self.is_test(siblings)
        # Siblings are called by their own names as often as all others together by their addresses.
        among = siblings.leaves if siblings.leaves and self.draw(BOOLEAN_STRATEGY) else leaves
        name = draw_one(self.draw, sorted(among))
        leaf = leaves[name]
        names = frozenset({leaf.address})
        if all(isinstance(value, bool) for value in leaf.values) and self.draw(BOOLEAN_STRATEGY):
            return Expression(name, lambda look: look(leaf.address) is True, names)
        value = draw_one(self.draw, leaf.values)
        kind = draw_integer(self.draw, 0, 3)
        if kind == 0:
            other = draw_one(self.draw, leaf.values)
            text = f"{name} in {{{literal(value)}, {literal(other)}}}"
            return Expression(text, lambda look: look(leaf.address) in (value, other), names)
        if kind == 1:
            return Expression(f"{name} == {literal(value)}", lambda look: look(leaf.address) == value, names)
        if kind == 2 or leaf.kind not in ("number", "ordered"):
            text = f"{name} != {literal(value)}"
            return Expression(text, lambda look: look(leaf.address) not in (ABSENT, value), names)
        return self.order(name, leaf)

    def order(self, name: str, leaf: Leaf) -> Expression:
        sign = draw_one(self.draw, ("<", "<=", ">", ">="))
        swapped = self.draw(BOOLEAN_STRATEGY)
        numbers = [value for value in leaf.values if isinstance(value, int | float) and not isinstance(value, bool)]
        value = draw_one(self.draw, numbers if leaf.kind == "number" else leaf.values)

        def holds(look: Look) -> bool:
            found, limit = look(leaf.address), value
            if found is ABSENT:
                return False
            if leaf.kind == "ordered":
                found, limit = leaf.values.index(found), leaf.values.index(value)
            elif found not in numbers:
                return False
            left, right = (limit, found) if swapped else (found, limit)
            return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign]

        left, right = (literal(value), name) if swapped else (name, literal(value))
        return Expression(f"{left} {sign} {right}", holds, frozenset({leaf.address}))

    def is_test(self, siblings: Scope) -> Expression:
        # Within a body its own parameters hide the stages that are called like them.
        names = set(self.known.decisions) - ({"estimator"} if siblings.hides_estimator else set())
        if not names:
            return Expression("true", lambda _: True, frozenset())
        name = draw_one(self.draw, sorted(names))
        decision = self.known.decisions[name]
        if not decision.alternatives:
            return Expression("true", lambda _: True, frozenset())
        alternative = draw_one(self.draw, decision.alternatives)
        word = draw_one(self.draw, (alternative.name, alternative.operator))

        signs = ("is", "==", "!=") if word not in LIKE_OTHERS else ("==", "!=")
        sign = draw_one(self.draw, signs) if "." in decision.address else "is"

        # A class stands for all of its uses; which those are is known when all alternatives are.
        def holds(look: Look) -> bool:
            taken = {a.name for a in decision.alternatives if word in (a.name, a.operator)}
            exact = {a.name for a in decision.alternatives if word == a.name}
            return (look(decision.address) in (exact or taken)) is (sign != "!=")

        return Expression(f"{name} {sign} {word}", holds, frozenset())


def literal(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    return str(value)

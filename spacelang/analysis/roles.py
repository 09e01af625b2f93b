"""Whether the steps of a pipeline can stand where they stand: transformers first, one kind of estimator last."""

from collections.abc import Iterator

from spacelang.analysis.report import Report
from spacelang.catalog.catalogue import Catalogue, Role
from spacelang.catalog.catalogue import Operator as Entry
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.structure import MixedEstimators, NotAnEstimator, NotATransformer
from spacelang.ir.space import Branch, Choice, Hyperparameter, Node, Operator, Product

_ESTIMATORS = frozenset({Role.CLASSIFIER, Role.REGRESSOR})
_TRANSFORMERS = frozenset({Role.TRANSFORMER})


def check(root: Node, catalogue: Catalogue, report: Report) -> None:
    """Report every step that cannot stand where it stands; operators without a catalogue entry are passed over."""
    steps = root.children if isinstance(root, Product) else (root,)
    if steps:
        _Judge(catalogue, report).judge(steps)


class _Judge:
    def __init__(self, catalogue: Catalogue, report: Report) -> None:
        self._catalogue = catalogue
        self._report = report

    def judge(self, steps: tuple[Node, ...]) -> None:
        last = steps[-1]
        astray = [step for step in steps[:-1] if isinstance(step, Choice) and self._has_none(step, _TRANSFORMERS)]
        if isinstance(last, Choice) and self._has_none(last, _ESTIMATORS):
            predicting = [step.name for step in astray if not self._has_none(step, _ESTIMATORS)]
            # Where two stages were swapped, that the other one stands in the wrong place is the same mistake.
            self._report.add(
                NotAnEstimator(
                    primary=last.span,
                    step=last.name,
                    role=self._description(last, "predicts"),
                    estimator=predicting[0] if predicting else None,
                )
            )
            if predicting:
                return
        else:
            self._judge_last(last)
        for step in steps[:-1]:
            self._judge_earlier(step, whole=step in astray)

    def _judge_earlier(self, step: Node, *, whole: bool) -> None:
        if whole:
            assert isinstance(step, Choice)
            role = self._description(step, "transforms")
            self._report.add(NotATransformer(primary=step.span, step=step.name, role=role))
            return
        for operator, entry in self._operators(step):
            if not entry.roles & _TRANSFORMERS:
                self._report.add(NotATransformer(primary=operator.span, step=operator.name, role=_role(entry.roles)))

    def _judge_last(self, step: Node) -> None:
        for branch in step.branches if isinstance(step, Choice) else ():
            if _is_nothing(branch):
                self._report.add(NotAnEstimator(primary=branch.span, step="none", role="leaves the step out"))
        first: tuple[Operator, Role] | None = None
        for operator, entry in self._operators(step):
            roles = [role for role in Role if role in entry.roles & _ESTIMATORS]
            if not roles:
                self._report.add(NotAnEstimator(primary=operator.span, step=operator.name, role=_role(entry.roles)))
            elif first is None:
                first = (operator, roles[0])
            elif first[1] not in roles:
                related = (Related(first[0].span, f"`{first[0].name}` is a {first[1]}"),)
                self._report.add(
                    MixedEstimators(primary=operator.span, operator=operator.name, role=roles[0], related=related)
                )

    def _has_none(self, step: Choice, roles: frozenset[Role]) -> bool:
        """Whether all alternatives are known, there are some, and none of them can be any of these."""
        used = [branch for branch in step.branches if not _is_nothing(branch)]
        entries = [entry for _, entry in self._operators(step)]
        return bool(used) and len(entries) == len(used) and not any(entry.roles & roles for entry in entries)

    def _description(self, step: Choice, verb: str) -> str:
        entries = [entry for _, entry in self._operators(step)]
        if len(entries) == 1:
            return f"`{entries[0].name}` {_role(entries[0].roles).removeprefix('it ')}"
        return f"none of its alternatives {verb}"

    def _operators(self, step: Node) -> Iterator[tuple[Operator, Entry]]:
        for operator in _operators_of(step):
            entry = self._catalogue.get(operator.name)
            if entry is not None:
                yield operator, entry


def _operators_of(step: Node) -> Iterator[Operator]:
    match step:
        case Operator():
            yield step
        case Choice():
            for branch in step.branches:
                if isinstance(branch.node, Operator):
                    yield branch.node
        case Product() | Hyperparameter():
            return


def _is_nothing(branch: Branch) -> bool:
    return isinstance(branch.node, Product) and not branch.node.children


def _role(roles: frozenset[Role]) -> str:
    known = [role.value for role in Role if role in roles and role is not Role.OTHER]
    return f"it is a {' and a '.join(known)}" if known else "it neither transforms nor predicts"

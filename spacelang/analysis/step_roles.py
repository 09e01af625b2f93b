"""Checks of the roles of pipeline steps (transformers, then estimators of one kind) and of places of `columns(…)`."""

from collections.abc import Iterator
from functools import reduce
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.catalog.catalogue import CatalogueEntry, FileCatalogues, OperatorRole
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.structure import (
    ColumnSelectionAfterTransformer,
    LastStepNotAPredictor,
    MixedClassifiersAndRegressors,
    StepNotATransformer,
)
from spacelang.ir import space as ir
from spacelang.ir.space import operators
from spacelang.ir.walk import possible_last_operators, products

_ESTIMATORS = frozenset({OperatorRole.CLASSIFIER, OperatorRole.REGRESSOR})
_TRANSFORMERS = frozenset({OperatorRole.TRANSFORMER})
_EARLIER_ROLES = _TRANSFORMERS | {OperatorRole.SAMPLER}
"""The roles of steps before the last one. Parallel steps must be transformers, which keep all rows."""


def check_step_roles(root: ir.Node, catalogue: FileCatalogues, report: DiagnosticCollector) -> None:
    """Report every step that cannot stand where it is; only known ones if the space has abstract operators."""
    steps = root.steps if isinstance(root, ir.Product) else (root,)
    is_pipeline = all(operator.catalogue != ir.ABSTRACT_CATALOGUE for operator, _ in _steps_of(root))
    if steps:
        checker = _RoleChecker(catalogue, report, is_pipeline=is_pipeline)
        checker.check_steps(steps)
        checker.check_values(root)
    if is_pipeline:
        _ColumnNameTracker(catalogue, report).track_column_names(root, kept=True)


class _RoleChecker:
    def __init__(self, catalogue: FileCatalogues, report: DiagnosticCollector, *, is_pipeline: bool) -> None:
        self._catalogue = catalogue
        self._report = report
        self._is_pipeline = is_pipeline
        self._first: tuple[ir.Operator, OperatorRole] | None = None

    def check_steps(self, steps: tuple[ir.Node, ...]) -> None:
        last = steps[-1]
        astray = [
            step for step in steps[:-1] if isinstance(step, ir.Choice) and self._has_no_role_of(step, _EARLIER_ROLES)
        ]
        if isinstance(last, ir.Choice) and self._has_no_role_of(last, _ESTIMATORS):
            predicting = [step.name for step in astray if not self._has_no_role_of(step, _ESTIMATORS)]
            # If two stages were swapped, the wrong place of the other one is the same mistake.
            role, estimator = (
                self._description(last, "is a classifier or a regressor"),
                predicting[0] if predicting else None,
            )
            self._report.add(LastStepNotAPredictor(last.span, step=last.name, role=role, estimator=estimator))
            if predicting:
                return
        else:
            self._check_last(last)
        for step in steps[:-1]:
            self._check_earlier(step, whole=step in astray)

    def check_values(self, root: ir.Node) -> None:
        for operator in operators(root):
            for decision in (child for child in operator.children if isinstance(child, ir.Choice)):
                for sequence in (each for each in products(decision) if each.kind is ir.ProductKind.SEQUENCE):
                    for step in sequence.children[:-1]:
                        self._check_earlier(step, whole=False)

    def _check_earlier(self, step: ir.Node, *, whole: bool) -> None:
        if whole:
            assert isinstance(step, ir.Choice)
            role = self._description(step, "is a transformer")
            self._report.add(StepNotATransformer(step.span, step=step.name, role=role))
            return
        for operator, beside in _steps_of(step):
            entry = self._entry(operator)
            if entry is not None and not entry.roles & (_TRANSFORMERS if beside else _EARLIER_ROLES):
                self._report.add(StepNotATransformer(operator.span, step=operator.name, role=_describe_roles(entry)))

    def _check_last(self, step: ir.Node) -> None:
        match step:
            case ir.Choice():
                for branch in step.branches:
                    if branch.node == ir.SKIPPED_STEP:
                        self._refuse(
                            branch, branch.name, "this alternative leaves out the last step, which must predict"
                        )
                    else:
                        self._check_last(branch.node)
            case ir.Product(kind=ir.ProductKind.SEQUENCE, children=(*earlier, last)):
                self._check_last(last)
                for child in earlier:
                    self._check_earlier(child, whole=False)
            case ir.Product(kind=ir.ProductKind.SEQUENCE):
                return
            case ir.Product():
                self._refuse(
                    step,
                    _STRUCTURE_NAMES[step.kind],
                    "this step combines the outputs of other steps and does not predict",
                )
            case ir.Operator():
                self._check_estimator(step)
            case ir.Hyperparameter():
                return

    def _refuse(self, step: ir.Branch | ir.Product, name: str, role: str) -> None:
        if self._is_pipeline:
            self._report.add(LastStepNotAPredictor(step.span, step=name, role=role))

    def _check_estimator(self, operator: ir.Operator) -> None:
        entry = self._entry(operator)
        if entry is None:
            return
        roles = [role for role in OperatorRole if role in entry.roles & _ESTIMATORS]
        if not roles:
            self._report.add(LastStepNotAPredictor(operator.span, step=operator.name, role=_describe_roles(entry)))
        elif self._first is None:
            self._first = (operator, roles[0])
        elif self._first[1] not in roles:
            related = (RelatedPlace(self._first[0].span, f"`{self._first[0].name}` is a {self._first[1]}"),)
            self._report.add(
                MixedClassifiersAndRegressors(operator.span, operator=operator.name, role=roles[0], related=related)
            )

    def _entry(self, operator: ir.Operator) -> CatalogueEntry | None:
        return self._catalogue.entry_in_catalogue(operator.catalogue, operator.name)

    def _has_no_role_of(self, step: ir.Choice, roles: frozenset[OperatorRole]) -> bool:
        """Return True if all alternatives of a step are known operators and none of them can have one of the roles."""
        used = [[*possible_last_operators(branch.node)] for branch in step.branches if branch.node != ir.SKIPPED_STEP]
        entries = [self._entry(operator) for operators in used for operator in operators]
        if not used or not all(used):
            return False
        return all(entry is not None and not entry.roles & roles for entry in entries)

    def _description(self, step: ir.Choice, is_suitable: str) -> str:
        entries = [entry for operator in possible_last_operators(step) if (entry := self._entry(operator))]
        if len(entries) == 1:
            return f"`{entries[0].name}` {_describe_roles(entries[0]).removeprefix('it ')}"
        return f"none of its alternatives {is_suitable}"


_STRUCTURE_NAMES: Final = {
    ir.ProductKind.PARALLEL: "… & …",
    ir.ProductKind.COLUMNS: "columns(…)",
    ir.ProductKind.PERMUTATION: "permute(…)",
}


class _ColumnNameTracker:
    """A check that no `columns(…)` comes after a transformer, whose output has no column names."""

    def __init__(self, catalogue: FileCatalogues, report: DiagnosticCollector) -> None:
        self._catalogue = catalogue
        self._report = report

    def track_column_names(self, node: ir.Node, *, kept: bool) -> bool:
        """Return True if columns still have names after a node, given whether they have names before it (`kept`).

        Report a `columns(…)` that receives columns without names.
        """
        match node:
            case ir.Operator():
                entry = self._catalogue.entry_in_catalogue(node.catalogue, node.name)
                return kept and (entry is None or OperatorRole.SAMPLER in entry.roles)
            case ir.Choice():
                # Follow all branches, even after the first one that loses the names.
                return all([*(self.track_column_names(branch.node, kept=kept) for branch in node.branches)])
            case ir.Product(kind=ir.ProductKind.SEQUENCE):
                return reduce(lambda so_far, child: self.track_column_names(child, kept=so_far), node.children, kept)
            case ir.Product(kind=ir.ProductKind.PERMUTATION):
                return self._follow_orders(node.children, kept=kept)
            case ir.Product():
                if node.kind is ir.ProductKind.COLUMNS and not kept:
                    self._report.add(ColumnSelectionAfterTransformer(node.span))
                for child in node.children:
                    self.track_column_names(child, kept=kept or node.kind is ir.ProductKind.COLUMNS)
                return False
            case ir.Hyperparameter():
                return kept

    def _follow_orders(self, steps: tuple[ir.Node, ...], *, kept: bool) -> bool:
        """Check the steps of a permutation. Each step may come after any of the others."""
        silent = _ColumnNameTracker(self._catalogue, DiagnosticCollector(self._report.symbols))
        keeps = [silent.track_column_names(step, kept=True) for step in steps]
        for place, step in enumerate(steps):
            self.track_column_names(step, kept=kept and all((*keeps[:place], *keeps[place + 1 :])))
        return kept and all(keeps)


def _steps_of(node: ir.Node, *, beside: bool = False) -> Iterator[tuple[ir.Operator, bool]]:
    """Yield each operator that is a step, and True if it is in a part of `&` or `columns(…)`, beside other steps.

    Operators that are values of parameters are no steps.
    """
    match node:
        case ir.Operator():
            yield node, beside
        case ir.Choice():
            for branch in node.branches:
                yield from _steps_of(branch.node, beside=beside)
        case ir.Product():
            for child in node.children:
                yield from _steps_of(
                    child, beside=beside or node.kind in {ir.ProductKind.PARALLEL, ir.ProductKind.COLUMNS}
                )
        case ir.Hyperparameter():
            return


def _describe_roles(entry: CatalogueEntry) -> str:
    known = [role.value for role in OperatorRole if role in entry.roles and role is not OperatorRole.OTHER]
    if known:
        return f"it is a {' and a '.join(known)}"
    if "predict" in entry.methods:  # it detects outliers, or predicts if an inner estimator does
        return "it predicts, but it is neither a classifier nor a regressor"
    if "transform" in entry.methods:
        return "it transforms labels, not features"
    return "it cannot transform new rows" if "fit_transform" in entry.methods else "it neither transforms nor predicts"

"""Build the unfitted scikit-learn pipeline of a configuration of a space."""

from dataclasses import dataclass, replace
from typing import Any, Final

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion

from spacelang.catalog.catalogue import join_tuple_elements
from spacelang.ir.computed_parameters import computed_value
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import NotFound, describe, literal
from spacelang.ir.expr import InactiveValue
from spacelang.ir.space import (
    SKIPPED_STEP,
    Branch,
    CatalogueObject,
    Choice,
    ColumnSelector,
    FixedValue,
    Hyperparameter,
    Node,
    Operator,
    Product,
    ProductKind,
    Space,
)
from spacelang.ir.tuple_parameters import tuple_value
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines import catalogue_access
from spacelang.runtime.pipelines.columns import (
    Entry,
    Step,
    TableColumn,
    flatten_for_resampling,
    pipeline_class,
    reads_text_column,
    transformer_entries,
    transformer_of,
    with_distinct_names,
)
from spacelang.runtime.pipelines.internal_folds import internal_splitter, with_seeded_folds
from spacelang.runtime.pipelines.preparation import Preparation


def build_pipeline(
    space: Space,
    configuration: Configuration,
    *,
    preparation: Preparation | None = None,
    first: Any = None,
    table: tuple[TableColumn, ...] | None = None,
    random_state: int | None = None,
    n_jobs: int | None = 1,
) -> Any:
    """Return the unfitted `Pipeline` of a configuration, with the names of the stages; raise BuildError if no member.

    The transformer of the `preparation` becomes its step `preparation`, and `first` its very first step, `table`. With
    the `table` of the columns that reach the steps of the space (a preparation has its own), the pipeline consists only
    of objects of the space's libraries; else parts for columns of text find these in `fit`. Estimators with parameters
    `random_state` and `n_jobs` get those, unless the space sets them. None leaves the library's default.
    """
    known = preparation.table if preparation is not None else table
    builder = _Builder(configuration, random_state, n_jobs, known, space)
    steps = builder.steps(space.root)
    if not steps:
        raise BuildError("every step of the pipeline is left out")
    transformer = preparation.make_transformer() if preparation is not None else None
    if transformer is not None:
        steps = [("preparation", transformer), *steps]
    return _make_pipeline(steps if first is None else [("table", first), *steps])


def _make_pipeline(steps: list[Step]) -> Any:
    chained = flatten_for_resampling(steps)
    return pipeline_class(chained)(with_distinct_names(chained))


def prepend_steps(pipeline: Any, steps: list[Step]) -> Any:
    """Return a fitted pipeline with more fitted steps before its own; steps that are None are left out."""
    return _make_pipeline([*((name, step) for name, step in steps if step is not None), *pipeline.steps])


class PipelineWalk:
    """A walk over the tree of a space to collect the parts of its pipelines; subclasses decide what a part becomes."""

    def _single_step(self, name: str | None, part: Any) -> list[Any]: ...  # type: ignore[empty-body]
    def _permutation(self, node: Product, order: Choice) -> list[Any]: ...  # type: ignore[empty-body]
    def _uses_of_chain(self, chain: Choice) -> list[Any]: ...  # type: ignore[empty-body]
    def _estimator(self, operator: Operator) -> Any: ...
    def _decision(self, decision: Choice) -> Any: ...
    def _union(self, steps: list[Any]) -> Any: ...
    def _column_transformer(self, node: Product) -> Any: ...
    def _chain(self, node: Product) -> Any: ...
    def _operator_list(self, steps: list[Any]) -> Any: ...
    def _constant(self, value: Any) -> Any: ...
    def _hyperparameter_value(self, operator: Operator, hyperparameter: Hyperparameter) -> Any: ...

    def steps(self, node: Node) -> list[Any]:
        """Return the steps that a node adds to the surrounding pipeline."""
        match node:
            case Product(kind=ProductKind.SEQUENCE):
                return [step for child in node.steps for step in self.steps(child)]
            case Product(kind=ProductKind.PERMUTATION):
                order, *_ = node.children
                assert isinstance(order, Choice)
                return self._permutation(node, order)
            case Choice() if node.repeats:
                return self._uses_of_chain(node)
            case _:
                return self._single_step(node.name if isinstance(node, Choice) else None, self.make_single_part(node))

    def make_single_part(self, node: Node) -> Any:
        """Return the single part for a node, whatever the node contains; raise BuildError for a hyperparameter."""
        match node:
            case Operator():
                return self._estimator(node)
            case Choice():
                return self._decision(node)
            case Hyperparameter():
                raise BuildError(f"`{node.address}` is a hyperparameter where a step should be")
            case Product(kind=ProductKind.PARALLEL):
                return self._union(self._parallel_steps(node))
            case Product(kind=ProductKind.COLUMNS):
                return self._column_transformer(node)
            case Product():
                return self._chain(node)

    def _parallel_steps(self, node: Product) -> list[Any]:
        """Return one step for each child, even if the child has several steps."""
        named = ((_own_name(each), self.make_single_part(each)) for each in node.children)
        return [step for name, part in named for step in self._single_step(name, part)]

    def alternative_value(self, operator: Operator, decision: Choice, branch: Branch) -> Any:
        """Return the value of a parameter for one alternative: an operator, a list of them, or a plain value."""
        node, known = branch.node, catalogue_access.catalogue_entry(operator).parameters.get(decision.name)
        if node == SKIPPED_STEP:
            if known is not None and isinstance(branch.value, str) and branch.value in known.named:
                return self.named_object(operator, decision.name, branch.value)
            return self.convert_plain_value(operator, decision.name, branch.value)
        if isinstance(node, Hyperparameter):
            return self._hyperparameter_value(operator, node)
        if known is not None and known.takes_operator_list and isinstance(node, Product):
            return self._operator_list(self._parallel_steps(node))
        return self.make_single_part(node)

    def fixed_value(self, operator: Operator, parameter: str, value: FixedValue) -> Any:
        """Return the value to which a space fixes a parameter: an operator, a library's object, or a plain value."""
        match value:
            case Operator():
                return self._estimator(value)
            case CatalogueObject():
                return self.named_object(operator, parameter, value.name)
            case _:
                return self.convert_plain_value(operator, parameter, value)

    def computed_parameter_value(self, operator: Operator, parameter: str, value: Value) -> Any:
        """Return the value of a computed parameter as the library takes it: a name stands for a function or object."""
        known = catalogue_access.catalogue_entry(operator).parameters.get(parameter)
        if known is not None and isinstance(value, str) and value in known.named:
            return self.named_object(operator, parameter, value)
        return self.convert_plain_value(operator, parameter, value)

    def named_object(self, operator: Operator, parameter: str, name: str) -> Any:
        """Return the function or object that the catalogue names for a parameter."""
        return self._constant(catalogue_access.import_catalogue_object(operator, parameter, name))

    def convert_plain_value(self, operator: Operator, parameter: str, value: Value) -> Any:
        """Return a value of the language as the value that the library takes."""
        known = catalogue_access.catalogue_entry(operator).parameters.get(parameter)
        return self._constant(value if known is None else known.to_python(value))


def _own_name(step: Node) -> str | None:
    """Return the name of a step that is a decision; None for others, whose classes give the names.

    None also for a decision with the name of one of its operators.
    """
    if not isinstance(step, Choice):
        return None
    operators = {each.node.name for each in step.branches if isinstance(each.node, Operator)}
    return None if step.name in operators else step.name


@dataclass(frozen=True, slots=True)
class _Builder(PipelineWalk):
    """A builder of the objects of one pipeline. A part or step that is left out is None."""

    configuration: Configuration
    random_state: int | None
    n_jobs: int | None
    table: tuple[TableColumn, ...] | None
    space: Space

    def _single_step(self, name: str | None, part: Any) -> list[Step]:
        return [] if part is None else [(name or type(part).__name__.lower(), part)]

    def _permutation(self, node: Product, order: Choice) -> list[Step]:
        return [step for child in node.steps_in_order(self._chosen_branch(order).name) for step in self.steps(child)]

    def _uses_of_chain(self, chain: Choice) -> list[Step]:
        return self.steps(self._chosen_branch(chain).node)

    def _decision(self, decision: Choice) -> Any:
        return self.make_single_part(self._chosen_branch(decision).node)

    def _chain(self, node: Product) -> Any:
        steps = self.steps(node)
        return _make_pipeline(steps) if len(steps) > 1 else steps[0][1] if steps else None

    def _union(self, steps: list[Step]) -> Any:
        return FeatureUnion(with_distinct_names(steps)) if steps else None

    def _operator_list(self, steps: list[Step]) -> list[Step]:
        return with_distinct_names(steps)

    def _constant(self, value: Any) -> Any:
        return value

    def _column_transformer(self, node: Product) -> Any:
        """Return a `ColumnTransformer` with a part for each selector.

        If a part is left out, the columns of its selector pass through.
        """
        remainder: Any = "drop"
        chosen: list[Entry] = []
        last: list[Entry] = []
        for selector, child in zip(node.selectors, node.children, strict=True):
            inside = self._for_columns(selector, node.selectors)
            part = inside.make_single_part(child)
            if selector.kind != "rest":
                chosen += transformer_entries(selector, part, node.selectors, inside.table)
            elif inside.table is not None and reads_text_column(part):
                last = transformer_entries(selector, part, node.selectors, inside.table)
            else:
                remainder = transformer_of(part)
        named = with_distinct_names((name, (part, columns)) for name, part, columns in [*chosen, *last])
        return ColumnTransformer([(name, part, columns) for name, (part, columns) in named], remainder=remainder)

    def _for_columns(self, selector: ColumnSelector, others: tuple[ColumnSelector, ...]) -> "_Builder":
        """Return a builder for a part of `columns(…)`, whose table (if known) has the columns of the selector only."""
        if self.table is None:
            return self
        return replace(self, table=tuple(column for column in self.table if column.is_selected_by(selector, others)))

    def _chosen_branch(self, decision: Choice) -> Branch:
        """Return the branch of a decision that the configuration chooses; raise BuildError if it chooses none."""
        if decision.key not in self.configuration:
            raise BuildError(f"the configuration has no value for `{decision.key}`")
        name = self.configuration[decision.key]
        place = decision.branch_indices.get(name) if isinstance(name, str) else None
        if place is None:
            raise BuildError(f"`{literal(name)}` is not an alternative of `{decision.key}`")
        return decision.branches[place]

    def _estimator(self, operator: Operator) -> Any:
        """Return an instance of the class, with fixed values, active hyperparameters, and what the runtime sets."""
        arguments = {name: self.fixed_value(operator, name, value) for name, value in operator.fixed}
        for child in operator.children:
            if isinstance(child, Choice):
                arguments[child.name] = self.alternative_value(operator, child, self._chosen_branch(child))
            elif child.key in self.configuration and not child.is_var:
                arguments[child.name] = self._hyperparameter_value(operator, child)
        arguments |= self._computed_arguments(operator)
        given = catalogue_access.runtime_arguments(operator, n_jobs=self.n_jobs, random_state=self.random_state)
        try:
            composed = join_tuple_elements(catalogue_access.catalogue_entry(operator), given | arguments)
        except ValueError as error:
            raise BuildError(str(error)) from error
        made = catalogue_access.import_operator_class(operator)(**composed)
        splitter = internal_splitter(operator, self.space.root)
        return made if splitter is None else with_seeded_folds(made, splitter, self.random_state)

    def _computed_arguments(self, operator: Operator) -> dict[str, Any]:
        """Return the values of computed parameters and tuples, without undefined ones."""
        tuples = [each for each in operator.tuples if self.space.variables[each.members[0]].key in self.configuration]
        if not operator.computed and not tuples:
            return {}
        variables = self.space.variables
        lookup = Assignment.from_configuration(self.space, self.configuration)
        known = catalogue_access.catalogue_entry(operator)
        found = [
            (each.name, computed_value(each.expression, lookup, variables, known.takes_only_integers(each.name)))
            for each in operator.computed
        ]
        found += [(each.name, tuple_value(each, lookup)) for each in tuples]
        return {
            name: self.computed_parameter_value(operator, name, value)
            for name, value in found
            if not isinstance(value, InactiveValue)
        }

    def _hyperparameter_value(self, operator: Operator, hyperparameter: Hyperparameter) -> Any:
        """Return the value with the type of the domain (1 is 1.0 among floats); raise BuildError for other values."""
        value = self.configuration[hyperparameter.key]
        member = hyperparameter.domain.find(value)
        if isinstance(member, NotFound):
            domain = describe(hyperparameter.domain)
            raise BuildError(f"`{hyperparameter.key}` takes {domain}, not `{literal(value)}`")
        if isinstance(member, str) and member in hyperparameter.named:
            return self.named_object(operator, hyperparameter.name, member)
        return self.convert_plain_value(operator, hyperparameter.name, member)


LABEL_ENCODING_CLASSIFIERS: Final = frozenset((
    *("BaggingClassifier", "BalancedBaggingClassifier", "EasyEnsembleClassifier", "OneVsOneClassifier"),
    *("OneVsRestClassifier", "OutputCodeClassifier", "StackingClassifier", "VotingClassifier"),
))  # fmt: skip
"""Meta-classifiers that encode labels before they fit the classifiers inside them."""
WEIGHTING_CLASSIFIERS: Final = frozenset({"AdaBoostClassifier", "CalibratedClassifierCV", "RUSBoostClassifier"})
"""Meta-classifiers that pass labels to the classifiers inside them, with sample weights, which a vote does not take."""
NO_NUMERIC_TEXTS: Final = frozenset((
    *("BalancedRandomForestClassifier", "ExtraTreesClassifier", "LogisticRegressionCV", "RandomForestClassifier"),
))  # fmt: skip
"""Classifiers of scikit-learn that fail for labels such as "1" if they weight classes: it takes them for integers."""
SEMI_SUPERVISED: Final = frozenset({"LabelPropagation", "LabelSpreading", "SelfTrainingClassifier"})
"""Classifiers for which the label -1 means that a row has no label."""
NO_TEXTS: Final = frozenset({"SelfTrainingClassifier"})  # Classifiers that refuse an array of texts as labels


def adapt_to_labels(pipeline: Any, classes: tuple[Any, ...]) -> Any:
    """Change an unfitted pipeline in place so that it can learn these labels, and return it.

    `classes` are the sorted labels, or empty for regression. Each classifier that does not accept such labels is
    wrapped in a `VotingClassifier` of its own. That encodes the labels, decodes the predictions, and changes nothing
    else.
    """
    are_codes = all(type(label) is int for label in classes) and classes == tuple(range(len(classes)))
    return pipeline if are_codes else _wrap_in_votes(pipeline, _classifiers_without(classes))


def needs_label_codes(value: Any, names: frozenset[str] = catalogue_access.CODES_ONLY) -> bool:
    """Return True if a value contains a classifier with one of these names that gets the labels unencoded.

    A classifier inside one that encodes labels itself, such as a vote, does not count.
    """
    if isinstance(value, list | tuple):
        return any(needs_label_codes(part, names) for part in value)
    if isinstance(value, type) or not hasattr(value, "get_params"):
        return False
    if type(value).__name__ in LABEL_ENCODING_CLASSIFIERS:
        return False
    return _takes_codes_only(value, names) or needs_label_codes([*value.get_params(deep=False).values()], names)


def is_vote_of_one_classifier(estimator: Any) -> bool:
    """Return True for a `VotingClassifier` of one classifier, as `adapt_to_labels` makes it to encode labels."""
    if type(estimator).__name__ != "VotingClassifier" or len(estimator.estimators) != 1:
        return False
    names = catalogue_access.CODES_ONLY | NO_NUMERIC_TEXTS | SEMI_SUPERVISED | NO_TEXTS
    return _takes_codes_only(estimator.estimators[0][1], names)


def _classifiers_without(classes: tuple[Any, ...]) -> frozenset[str]:
    """Return the names of the classifiers that do not accept at least one of these labels."""
    texts = [label for label in classes if isinstance(label, str)]
    names = catalogue_access.CODES_ONLY | (NO_TEXTS if texts else frozenset())
    if any(map(_is_integer, texts)):
        names |= NO_NUMERIC_TEXTS
    return names | SEMI_SUPERVISED if -1 in classes else names


def _is_integer(label: str) -> bool:
    try:
        int(label)
    except ValueError:
        return False
    return True


def _takes_codes_only(estimator: Any, names: frozenset[str]) -> bool:
    name = type(estimator).__name__
    if name in WEIGHTING_CLASSIFIERS:
        return _takes_codes_only(estimator.estimator, names)
    return name in names and not (name in NO_NUMERIC_TEXTS and estimator.class_weight is None)


def _wrap_in_votes(value: Any, names: frozenset[str]) -> Any:
    if not needs_label_codes(value, names):
        return value
    if isinstance(value, list | tuple):
        return type(value)(_wrap_in_votes(part, names) for part in value)
    if _takes_codes_only(value, names):
        from sklearn.ensemble import VotingClassifier

        return VotingClassifier([(_name(value), value)], voting="soft" if hasattr(value, "predict_proba") else "hard")
    held = value.get_params(deep=False)
    wrapped = {name: _wrap_in_votes(part, names) for name, part in held.items()}
    changed = {name: part for name, part in wrapped.items() if part is not held[name]}
    if "estimator" in changed and "importance_getter" in held:
        changed["importance_getter"] = _importance_path(held["importance_getter"], changed["estimator"])
    return value.set_params(**changed)


def _name(classifier: Any) -> str:
    return type(classifier).__name__.lower()


def _importance_path(getter: Any, classifier: Any) -> Any:
    """Return the argument `importance_getter` of a feature selector for its classifier, which may have been wrapped.

    If the classifier is a vote made by `adapt_to_labels`, the path leads through the vote; otherwise it is unchanged.
    """
    if not is_vote_of_one_classifier(classifier) or not isinstance(getter, str):
        return getter
    attribute = "feature_importances_" if getter == "auto" else getter
    return f"named_estimators_.{classifier.estimators[0][0]}.{attribute}"

"""Create the catalogue of an installed package by introspection: construct operators with defaults, but fit nothing."""

import importlib
import inspect
import math
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from spacelang.catalog import catalogue as entries
from spacelang.catalog import sklearn_declarations
from spacelang.catalog.boosting_parameters import supplement_parameters
from spacelang.catalog.sklearn_declarations import constraints_to_rules
from spacelang.catalog.snapshot import BUNDLED, catalogue_to_json, user_snapshot_path
from spacelang.catalog.value_rules import (
    ACCEPTS_CATEGORIES,
    FUNCTION_MODULES,
    HOLDS_OBJECTS,
    NAMED_FUNCTIONS,
    NEEDS_ENCODED_CATEGORIES,
    OPERATOR_PARAMETERS,
    REFUSED_PARAMETERS,
    REFUSED_VALUES,
    RULE_OVERRIDES,
    SEQUENCES,
    TAKES_CODE,
    AllowedValues,
    HasMethods,
    InstanceOf,
    Rule,
)
from spacelang.errors import installed_version
from spacelang.files import replace_atomically
from spacelang.ir.value import Value

EXPERIMENTS: Final[Mapping[str, str]] = {
    "HalvingGridSearchCV": "sklearn.experimental.enable_halving_search_cv",
    "HalvingRandomSearchCV": "sklearn.experimental.enable_halving_search_cv",
    "IterativeImputer": "sklearn.experimental.enable_iterative_imputer",
}
"""Experimental operators, with the module that must be imported to enable them."""
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "imblearn": ("imblearn.combine", "imblearn.ensemble", "imblearn.over_sampling", "imblearn.under_sampling")
}
"""The modules that contain the operators of a package; by default its top-level module."""
EXCLUDED_CLASSES: Final = frozenset({"CatBoost", "CatBoostRanker"})
"""Predictors that cannot be used: one takes all parameters as a dictionary, the other needs groups of rows."""
METHODS: Final = (
    "decision_function", "fit", "fit_predict", "fit_resample", "fit_transform", "predict", "predict_proba", "score",
    "transform",
)  # fmt: skip
"""The methods that scikit-learn may require of the operator in a parameter."""
DEPRECATED_SENTINEL: Final = "deprecated"
"""The default that scikit-learn gives to deprecated parameters, to detect if a user has set them."""


def write_refreshed_catalogue(name: str = "sklearn", destination: Path | None = None) -> Path:
    """Write the catalogue of the installed library and return the path of the file.

    By default, the file goes where `load` finds it for exactly the installed version. It is written atomically. Raises
    LookupError for an unknown catalogue, ImportError if its library is not installed, and OSError if the folder is not
    writable.
    """
    if name not in BUNDLED:
        raise LookupError(f"unknown catalogue `{name}`")
    catalogue = introspect_sklearn() if name == "sklearn" else introspect_package(name)
    path = destination or user_snapshot_path(catalogue.name, catalogue.version)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_atomically(path) as new:
        new.write_text(catalogue_to_json(catalogue), encoding="utf-8")
    return path


def introspect_sklearn() -> entries.Catalogue:
    """Return the catalogue of the installed scikit-learn: all public operators and Gaussian process kernels."""
    import sklearn
    from sklearn.utils import all_estimators

    for module in sorted(set(EXPERIMENTS.values())):
        importlib.import_module(module)
    classes = dict(all_estimators()) | dict(_kernels())
    return entries.Catalogue(
        name="sklearn",
        distribution="scikit-learn",
        version=sklearn.__version__,
        operators={name: _operator(name, classes[name], "sklearn", sklearn.__version__) for name in sorted(classes)},
        objects=dict(FUNCTION_MODULES),
        scorers=_scorers(),
    )


def introspect_package(name: str) -> entries.Catalogue:
    """Import a package (and raise what that raises), and return the catalogue of its public scikit-learn estimators."""
    distribution = BUNDLED.get(name, name)
    version = installed_version(distribution) or ""
    classes = dict(sorted(_public_classes(name)))
    operators = {word: supplement_parameters(_operator(word, found, name, version)) for word, found in classes.items()}
    return entries.Catalogue(name, distribution, version, operators)


def _public_classes(package: str) -> Iterator[tuple[str, type]]:
    from sklearn.base import BaseEstimator

    for path in MODULES.get(package, (package,)):
        module = importlib.import_module(path)
        for name in getattr(module, "__all__", vars(module)):
            found = vars(module).get(name)
            if not isinstance(found, type) or found.__module__.partition(".")[0] != package:
                continue
            # Classes for dask need a cluster, which a space cannot name.
            is_operator = issubclass(found, BaseEstimator) or (
                # The tags of CatBoost's classes say whether they are classifiers or regressors.
                hasattr(found, "__sklearn_tags__")
                and _role_by_tags(_tags_if_any(found)) is not None
                and name not in EXCLUDED_CLASSES
            )
            if is_operator and not name.startswith(("_", "Dask")):
                yield name, found


def _role_by_tags(tags: Any) -> entries.OperatorRole | None:
    named = {"classifier": entries.OperatorRole.CLASSIFIER, "regressor": entries.OperatorRole.REGRESSOR}
    return None if tags is None else named.get(tags.estimator_type)


def _scorers() -> dict[str, str]:
    """Map the name of every scorer of scikit-learn to `regression`, or to `classification` for all others."""
    from sklearn.metrics import get_scorer, get_scorer_names

    functions = {name: getattr(get_scorer(name), "_score_func", None) for name in get_scorer_names()}
    return {
        name: "regression" if getattr(function, "__module__", "").endswith("._regression") else "classification"
        for name, function in functions.items()
    }


def _kernels() -> Iterator[tuple[str, type]]:
    from sklearn.gaussian_process import kernels

    for name, member in vars(kernels).items():
        is_kernel = inspect.isclass(member) and issubclass(member, kernels.Kernel)
        if is_kernel and not inspect.isabstract(member) and not name.startswith("_"):
            yield name, member


def _operator(name: str, operator: type, library: str, version: str) -> entries.CatalogueEntry:
    tags = _tags(operator) if library == "sklearn" else _tags_if_any(operator)
    parameters = {parameter.name: parameter for parameter in _parameters(name, operator, version)}
    removed = sklearn_declarations.removed_parameters(name, version) if library == "sklearn" else {}
    deprecated = sklearn_declarations.class_deprecation(operator.__doc__)
    return entries.CatalogueEntry(
        name=name,
        module=_public_module(operator),
        roles=_roles(operator, tags),
        parameters=parameters,
        accepts_missing=tags is not None and (tags.input_tags.allow_nan or tags.no_validation),
        accepts_categories=_accepts_categories(name, tags, parameters),
        accepts_several_targets=_accepts_several_targets(operator, tags),
        methods=frozenset(method for method in METHODS if hasattr(operator, method)),
        removed={parameter: text for parameter, text in removed.items() if parameter not in parameters},
        deprecated=_with_remedy(deprecated, sklearn_declarations.OPERATOR_REMEDIES.get(name)),
        enabled_by=EXPERIMENTS.get(name),
    )


def _public_module(operator: type) -> str:
    """Return the outermost public module that contains the class, because private ones move between versions."""
    parts = operator.__module__.split(".")
    for length in range(1, len(parts) + 1):
        module = ".".join(parts[:length])
        if parts[length - 1].startswith("_"):
            break
        if vars(importlib.import_module(module)).get(operator.__name__) is operator:
            return module
    return operator.__module__


def _roles(operator: type, tags: Any) -> frozenset[entries.OperatorRole]:
    from sklearn import base
    from sklearn.gaussian_process.kernels import Kernel

    if issubclass(operator, Kernel):
        return frozenset({entries.OperatorRole.KERNEL})
    mixins = {
        entries.OperatorRole.CLASSIFIER: base.ClassifierMixin,
        entries.OperatorRole.REGRESSOR: base.RegressorMixin,
    }
    mixins[entries.OperatorRole.CLUSTERER] = base.ClusterMixin
    roles = {role for role, mixin in mixins.items() if issubclass(operator, mixin)}
    role = None if issubclass(operator, base.BaseEstimator) else _role_by_tags(tags)
    if role is not None:
        roles.add(role)
    if _transforms_data(operator, tags):
        roles.add(entries.OperatorRole.TRANSFORMER)
    if inspect.isfunction(inspect.getattr_static(operator, "fit_resample", None)):
        roles.add(entries.OperatorRole.SAMPLER)
    return frozenset(roles or {entries.OperatorRole.OTHER})


def _transforms_data(operator: type, tags: Any) -> bool:
    """Return True if the operator can be an intermediate step of a pipeline.

    This excludes a `transform` that exists only with a suitable inner estimator (GridSearchCV), one for labels
    (LabelEncoder), and operators that only have `fit_transform` (TSNE).
    """
    if not inspect.isfunction(inspect.getattr_static(operator, "transform", None)):
        return False
    return tags is None or not (tags.target_tags.one_d_labels or tags.target_tags.two_d_labels)


def _tags(operator: type) -> Any:
    """Return the tags of an instance with default arguments and permissive required ones; None for a kernel.

    Meta-estimators get a decision tree, which accepts missing values, as their inner estimator. So they count as
    accepting missing values if they pass these on.
    """
    from sklearn.base import RegressorMixin
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from sklearn.utils import get_tags

    if not hasattr(operator, "__sklearn_tags__"):
        return None
    tree = DecisionTreeRegressor() if issubclass(operator, RegressorMixin) else DecisionTreeClassifier()
    parts: Mapping[str, object] = {
        "categorical_features": [0],
        "dictionary": [[1.0]],
        "estimator": tree,
        "estimators": [("part", tree)],
        "param_distributions": {},
        "param_grid": {},
        "steps": [("part", tree)],
        "transformer_list": [("part", "passthrough")],
        "transformers": [("part", "passthrough", [0])],
    }
    required = {name: parts[name] for name, default in _defaults(operator) if default is inspect.Parameter.empty}
    if operator.__name__ == "SelfTrainingClassifier":
        # Its default, None, has been an error since the parameter was renamed.
        required["estimator"] = tree
    with warnings.catch_warnings():
        # A deprecated class warns when it is constructed; its deprecation is read from the docstring instead.
        warnings.simplefilter("ignore", FutureWarning)
        return get_tags(operator(**required))


def _tags_if_any(operator: type) -> Any:
    """Return the tags of an operator of any package; None if `_tags` cannot construct it."""
    try:
        return _tags(operator)
    except Exception:  # noqa: BLE001 - an unknown constructor may raise anything
        return None


def _accepts_several_targets(operator: type, tags: Any) -> bool:
    """Return True if a predictor can predict several targets, or another step can be fitted together with them.

    Resamplers and operators without tags count as unable to.
    """
    if tags is None or hasattr(operator, "fit_resample"):
        return False
    if tags.target_tags.multi_output or (tags.classifier_tags is not None and tags.classifier_tags.multi_label):
        return True
    is_predictor = _role_by_tags(tags) is not None
    return not is_predictor and not (tags.target_tags.required or tags.target_tags.one_d_labels)


def _accepts_categories(name: str, tags: Any, parameters: Mapping[str, entries.Parameter]) -> bool:
    if tags is None or name in NEEDS_ENCODED_CATEGORIES:
        return False
    takes_strings = tags.input_tags.string and tags.input_tags.two_d_array
    declared = tags.input_tags.categorical or takes_strings or tags.no_validation
    return declared or "categorical_features" in parameters or name in ACCEPTS_CATEGORIES


def _defaults(operator: type) -> Iterator[tuple[str, Any]]:
    parameters = inspect.signature(operator).parameters.values()
    named = {p.name: p.default for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}}
    yield from named.items()
    if any(p.kind is p.VAR_KEYWORD for p in parameters) and inspect.Parameter.empty not in named.values():
        # The constructor forwards further keywords: an instance knows all parameters.
        yield from ((name, value) for name, value in operator().get_params(deep=False).items() if name not in named)


def _parameters(name: str, operator: type, version: str) -> Iterator[entries.Parameter]:
    declared = getattr(operator, "_parameter_constraints", {})
    documented = sklearn_declarations.parameter_deprecations(operator.__doc__)
    for parameter, default in _defaults(operator):
        rules = _rules(name, parameter, declared.get(parameter))
        deprecated = documented.get(parameter)
        if deprecated is None and isinstance(default, str) and default == DEPRECATED_SENTINEL:
            deprecated = entries.Deprecation(version, None, "the library will remove the parameter")
        named = NAMED_FUNCTIONS.get((name, parameter), ())
        yield entries.Parameter(
            name=parameter,
            default=_default(default, rules if parameter in declared else None),
            accepts=rules,
            named=named,
            takes_operators=_takes_operators(name, parameter, rules),
            deprecated=_with_remedy(deprecated, sklearn_declarations.REMEDIES.get((name, parameter))),
            refused=_refusal_reason(parameter, rules, named),
            withheld=REFUSED_VALUES.get(parameter, ()),
        )
        yield from entries.TUPLE_PARAMETERS.get((name, parameter), ())


def _rules(name: str, parameter: str, declared: Any) -> tuple[Rule, ...] | None:
    if (name, parameter) in OPERATOR_PARAMETERS and declared is None:
        kernel = not name.startswith("Frozen")
        return (InstanceOf(("Kernel",)),) if kernel else (HasMethods(("fit",)),)
    if parameter in RULE_OVERRIDES:
        return RULE_OVERRIDES[parameter]
    holds_objects = parameter in HOLDS_OBJECTS
    rules = constraints_to_rules(declared)
    if rules is None:
        return (InstanceOf(("objects",)),) if holds_objects else None
    dropped = {DEPRECATED_SENTINEL, *(value for value, _ in REFUSED_VALUES.get(parameter, ()))}
    kept = (_filter_rule(rule, dropped, SEQUENCES if holds_objects else frozenset()) for rule in rules)
    return tuple(rule for rule in kept if rule is not None)


def _filter_rule(rule: Rule, words: set[str], types: frozenset[str]) -> Rule | None:
    """Return the rule without the values `words`; type names in `types` become the word `objects`.

    None if no value remains in a rule of single values.
    """
    match rule:
        case AllowedValues(values):
            kept = tuple(value for value in values if value not in words)
            return AllowedValues(kept) if kept else None
        case InstanceOf(names):
            return InstanceOf(tuple(dict.fromkeys("objects" if name in types else name for name in names)))
        case _:
            return rule


def _takes_operators(name: str, parameter: str, rules: tuple[Rule, ...] | None) -> bool:
    if (name, parameter) in OPERATOR_PARAMETERS:
        return True
    return any(
        bool({"fit", "transform", "fit_resample"} & set(rule.methods))
        if isinstance(rule, HasMethods)
        else isinstance(rule, InstanceOf) and not entries.OPERATOR_TYPES.keys().isdisjoint(rule.names)
        for rule in rules or ()
    )


def _refusal_reason(parameter: str, rules: tuple[Rule, ...] | None, named: tuple[str, ...]) -> str | None:
    if parameter in REFUSED_PARAMETERS:
        return REFUSED_PARAMETERS[parameter]
    code = InstanceOf(("callable",))
    only_code = rules is not None and code in rules and set(rules) <= {code, AllowedValues((None,))}
    return TAKES_CODE if only_code and not named else None


def _default(default: Any, rules: tuple[Rule, ...] | None) -> entries.Default:
    if default is inspect.Parameter.empty:
        return entries.NoDefault()
    if inspect.isroutine(default) or isinstance(default, type):
        is_named = default.__name__ in FUNCTION_MODULES
        path = f"{default.__module__}.{default.__qualname__}"
        return entries.NamedObjectDefault(default.__name__) if is_named else entries.OpaqueDefault(path)
    literal = _literal(default)
    if rules is None or isinstance(literal, entries.OpaqueDefault) or any(rule.accepts(literal) for rule in rules):
        return literal
    # A string that the library does not accept is a sentinel such as "warn". Any other default that the library
    # rejects (such as the estimator of SelfTrainingClassifier) means that a value is required.
    return entries.OpaqueDefault(literal) if isinstance(literal, str) else entries.NoDefault()


def _literal(default: Any) -> "Value | entries.OpaqueDefault":
    match default:
        case None | bool() | str():
            return default
        case int():
            return int(default)
        case float():
            # NumPy's floats are instances of float, but print differently. The language has no literal for NaN.
            return entries.OpaqueDefault("nan") if math.isnan(default) else float(default)
        case tuple():
            items = tuple(_literal(item) for item in default)
            plain = tuple(item for item in items if not isinstance(item, entries.OpaqueDefault))
            return plain if len(plain) == len(items) else entries.OpaqueDefault(repr(default))
        case _:
            return entries.OpaqueDefault(repr(default))


def _with_remedy(
    deprecated: entries.Deprecation | None, remedy: sklearn_declarations.DeprecationAdvice | None
) -> entries.Deprecation | None:
    if deprecated is None or remedy is None:
        return deprecated
    return entries.Deprecation(deprecated.since, remedy.replacement, remedy.note)

"""Scorers in stores: a scorer of an importable function and plain arguments is named there, and never pickled."""

import json
from collections.abc import Collection
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from spacelang.catalog.packages import UnreadablePackageError, is_importable
from spacelang.runtime.errors import InputError, describe_exception
from spacelang.runtime.scoring.user_functions import SCORER_FIELDS, Scorer, scorer_fingerprint
from spacelang.runtime.storage.run_header import SCORER_SETTING, RunHeader
from spacelang.runtime.storage.stored_run import METRICS

UNREADABLE: Final = InputError("the name of the scorer in the store is invalid", "pass the scorer again: `metric=…`")


def scorer_as_text(scorer: Scorer) -> str | None:
    """Return the JSON by which a store names a scorer; None if it must be passed again to resume the run.

    A scorer of `make_scorer` is the name of its function with its arguments, another one the name of itself:

    >>> from sklearn.metrics import fbeta_score, make_scorer
    >>> scorer_as_text(make_scorer(fbeta_score, beta=2))
    '{"function": "sklearn.metrics:fbeta_score", "keywords": {"beta": 2}, "response_method": "predict", "sign": 1}'
    >>> scorer_as_text(make_scorer(lambda labels, answers: 0.0)) is None
    True
    """
    is_made = all(hasattr(scorer, name) for name in SCORER_FIELDS)
    function, sign, keywords, method = (getattr(scorer, name, None) for name in SCORER_FIELDS)
    if (name := _import_name(function if is_made else scorer)) is None:
        return None
    facts = {"function": name, "keywords": keywords, "sign": sign, "response_method": method}
    try:
        text = json.dumps(facts if is_made else {"scorer": name}, sort_keys=True)
        again = _scorer_of(json.loads(text))
    except (TypeError, ValueError):
        return None
    return text if scorer_fingerprint(again) == scorer_fingerprint(scorer) else None


def stored_scorer(header: RunHeader, allowed: Collection[str] = ()) -> Scorer | None:
    """Return the scorer of a stored run; None if its store holds none.

    The store may be foreign, so that functions are only imported from `sklearn.metrics` and packages that the caller
    allows, and only by the name of the module that defines them: `xgboost.core:os.system` is not of xgboost. Raises
    InputError for others, and if the function does not exist.
    """
    if (text := header.data_options.get(SCORER_SETTING)) is None:
        return None
    try:
        facts = json.loads(text)
        name = facts["scorer"] if "scorer" in facts else facts["function"]
        module, _, path = name.partition(":")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise UNREADABLE from None
    parts = (*module.split("."), *path.split("."))
    if not all(each.isidentifier() and not each.startswith("__") for each in parts):
        raise UNREADABLE
    if module == METRICS:
        if path not in import_module(METRICS).__all__:
            raise UNREADABLE
    else:
        _check_package(module, f"the scorer of the run is `{module}.{path}`", allowed)
    try:
        scorer = _scorer_of(facts)
    except Exception as error:  # a module may raise anything
        what = f"the scorer `{module}.{path}` of the run cannot be made: {describe_exception(error)}"
        raise InputError(what, "pass the scorer in Python: `metric=…`") from error
    if _import_name(getattr(scorer, SCORER_FIELDS[0], scorer)) != name:
        raise UNREADABLE
    return scorer


def _check_package(module: str, scorer_is: str, allowed: Collection[str]) -> None:
    """Raise InputError unless the package of a module is allowed and can be imported."""
    package = module.partition(".")[0]
    if package not in allowed:
        remedy = f"if you trust this package, add `--allow {package}`; in Python, `metric=` takes the scorer itself"
        raise InputError(f"{scorer_is}, but you have not allowed the package `{package}`", remedy)
    try:
        if not is_importable(package, Path.cwd()):
            raise InputError(f"{scorer_is}, but the package `{package}` is not installed", "install this package")
    except UnreadablePackageError as error:
        raise InputError(f"{scorer_is}, but {error.reason}", "pass the scorer in Python: `metric=…`") from error


def _import_name(function: Any) -> str | None:
    """Return `module:name` of a function that another program can import; None for others, also of `__main__`."""
    module, path = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(path, str)) or module == "__main__":
        return None
    for home in (METRICS, module) if module.startswith(f"{METRICS}.") else (module,):
        try:
            if _imported(f"{home}:{path}") is function:
                return f"{home}:{path}"
        except (ImportError, AttributeError):
            continue
    return None


def _imported(name: str) -> Any:
    module, _, path = name.partition(":")
    return reduce(getattr, path.split("."), import_module(module))


def _scorer_of(facts: dict[str, Any]) -> Scorer:
    from sklearn.metrics import make_scorer

    if "scorer" in facts:
        found: Scorer = _imported(facts["scorer"])
        return found
    method = facts["response_method"]
    made: Scorer = make_scorer(
        _imported(facts["function"]),
        response_method=tuple(method) if isinstance(method, list) else method,
        greater_is_better=facts["sign"] > 0,
        **facts["keywords"],
    )
    return made

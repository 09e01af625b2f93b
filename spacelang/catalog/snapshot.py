"""Read and write catalogues as JSON, bundled or refreshed by a user: one operator a line, decoded on demand."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from spacelang.catalog import catalogue as entries
from spacelang.catalog.value_rules import (
    FUNCTION_MODULES,
    AllowedValues,
    HasMethods,
    InstanceOf,
    Interval,
    NumberKind,
    Rule,
)
from spacelang.errors import installed_version
from spacelang.ir.value import Value, from_json

FORMAT: Final = 1
BUNDLED: Final[Mapping[str, str]] = {
    "sklearn": "scikit-learn", "xgboost": "xgboost", "lightgbm": "lightgbm", "catboost": "catboost",
    "imblearn": "imbalanced-learn",
}  # fmt: skip
"""The bundled catalogues, each with the distribution that it describes, which is also the name of our extra."""


class SnapshotError(Exception):
    """Exception for a snapshot that cannot be read, with its path and the reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot read the catalogue {path}: {reason}")
        self.path, self.reason = path, reason


def load_catalogue(name: str = "sklearn") -> entries.Catalogue:
    """Return the user's refreshed snapshot of the installed version if there is one, else the bundled snapshot.

    Raises LookupError for a library without a bundled one, and SnapshotError.
    """
    if name not in BUNDLED:
        raise LookupError(f"unknown catalogue `{name}`")
    return _load(name, user_snapshot_folder())


@cache
def _load(name: str, folder: Path) -> entries.Catalogue:
    # Finding the installed version is slower than reading the catalogue, so it is done only if it matters.
    if any(folder.glob(f"{name}-*.json")):
        version = installed_version(BUNDLED[name])
        path = folder / f"{name}-{version}.json"
        if version is not None and path.is_file():
            found = catalogue_from_json(_text(path), str(path))
            if (found.name, found.version) != (name, version):
                raise SnapshotError(str(path), f"the file describes {found.name} {found.version}, not {name} {version}")
            return found
    # The path is fast to find. `importlib.resources`, which also works in archives, takes as long to import as a
    # catalogue takes to read.
    resource = Path(__file__).parent / "snapshots" / f"{name}.json"
    return catalogue_from_json(resource.read_text(encoding="utf-8"), f"{name}.json")


def user_snapshot_folder() -> Path:
    """Return the folder of refreshed snapshots: below $XDG_DATA_HOME, by default ~/.local/share."""
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    # The XDG specification requires that relative paths are ignored.
    home = base if base.is_absolute() else Path.home() / ".local" / "share"
    return home / "spacelang" / "catalogues"


def user_snapshot_path(name: str, version: str) -> Path:
    """Return the path of a refreshed snapshot."""
    return user_snapshot_folder() / f"{name}-{version}.json"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SnapshotError(str(path), f"{error}") from error


def catalogue_to_json(catalogue: entries.Catalogue) -> str:
    """Return the catalogue as JSON with one operator a line, sorted, so that equal catalogues give equal text."""
    head = {
        "format": FORMAT,
        **{key: getattr(catalogue, key) for key in ("name", "distribution", "version")},
        "objects": dict(sorted(catalogue.objects.items())),
        "scorers": dict(sorted(catalogue.scorers.items())),
    }
    body = ",\n".join(f"{_line(name)}:{_line(_write_operator(catalogue.operators[name]))}" for name in catalogue)
    return f'{_line(head)[:-1]},"operators":{{\n{body}\n}}}}\n'


def _line(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _write_operator(operator: entries.CatalogueEntry) -> dict[str, object]:
    optional = {
        "missing": operator.accepts_missing,
        "categories": operator.accepts_categories,
        "several_targets": operator.accepts_several_targets,
        "enabled_by": operator.enabled_by,
        "deprecated": _write_deprecation(operator.deprecated),
        "removed": dict(sorted(operator.removed.items())),
    }
    return {
        "module": operator.module,
        "roles": sorted(operator.roles),
        "methods": sorted(operator.methods),
        **{key: entry for key, entry in optional.items() if entry},
        "parameters": {name: _write_parameter(entry) for name, entry in operator.parameters.items()},
    }


def _write_parameter(parameter: entries.Parameter) -> dict[str, object]:
    accepts = None if parameter.accepts is None else [_write_rule(rule) for rule in parameter.accepts]
    optional = {
        "named": parameter.named,
        "operators": parameter.takes_operators,
        "deprecated": _write_deprecation(parameter.deprecated),
        "refused": parameter.refused,
        "withheld": dict(parameter.withheld),
        "part": [parameter.part.whole, parameter.part.factor] if parameter.part else None,
    }
    return {
        **({} if isinstance(parameter.default, entries.NoDefault) else {"default": _write_default(parameter.default)}),
        **({} if accepts is None else {"accepts": accepts}),
        **{key: entry for key, entry in optional.items() if entry},
    }


def _write_deprecation(deprecation: entries.Deprecation | None) -> list[str | None] | None:
    return None if deprecation is None else [deprecation.since, deprecation.replacement, deprecation.note]


def _write_default(default: entries.Default) -> object:
    match default:
        case entries.NamedObjectDefault(name):
            return {"named": name}
        case entries.OpaqueDefault(text):
            return {"opaque": text}
        case entries.NoDefault():
            raise AssertionError("a required parameter has no default to write")
        case _:
            return _write_value(default)


def _write_rule(rule: Rule) -> list[object]:
    match rule:
        case Interval(numbers, lower, upper, closed):
            return [numbers, *(None if math.isinf(bound) else bound for bound in (lower, upper)), closed]
        case AllowedValues(values):
            return ["options", *map(_write_value, values)]
        case InstanceOf(names):
            return ["type", *names]
        case HasMethods(methods):
            return ["methods", *methods]


def _write_value(value: Value) -> object:
    if isinstance(value, tuple):
        return [_write_value(item) for item in value]
    # JSON has no infinities.
    return {"float": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def catalogue_from_json(text: str, path: str = "<text>") -> entries.Catalogue:
    """Return the catalogue in a text of `catalogue_to_json`.

    Raise SnapshotError, which names `path`, for any other text.
    Operators are decoded at first access, and errors in them are raised then.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(path, f"it is not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SnapshotError(path, f"it is not a catalogue of format {FORMAT}")
    head = {key: data.get(key) for key in ("name", "distribution", "version")}
    operators, objects = data.get("operators"), data.get("objects")
    if not all(isinstance(entry, str) for entry in head.values()):
        raise SnapshotError(path, "the name, distribution or version is missing")
    if not isinstance(operators, dict) or not isinstance(objects, dict):
        raise SnapshotError(path, "the operators or objects are missing")
    for called, module in objects.items():
        if FUNCTION_MODULES.get(called) != module:
            _check_module(module, cast(str, head["name"]), path)
    # Catalogues from earlier versions of spacelang have no scorers; then only the library itself knows them.
    scorers = data.get("scorers", {})
    if not isinstance(scorers, dict) or not all(isinstance(kind, str) for kind in scorers.values()):
        raise SnapshotError(path, "the scorers are damaged")
    name, distribution, version = (cast(str, entry) for entry in head.values())
    return entries.Catalogue(name, distribution, version, _Operators(operators, name, path), objects, scorers)


def _check_module(module: object, library: str, path: str) -> None:
    """Raise SnapshotError if a module, which would be imported later, is outside of the catalogue's library."""
    if not isinstance(module, str) or module.split(".")[0] != library:
        raise SnapshotError(path, f"the module {module!r} is not one of {library}")


class _Operators(Mapping[str, entries.CatalogueEntry]):
    """A mapping of the operators of a snapshot, each decoded at first access."""

    __slots__ = ("_decoded", "_library", "_path", "_raw")

    def __init__(self, raw: dict[str, Any], library: str, path: str) -> None:
        self._raw, self._library, self._path = raw, library, path
        self._decoded: dict[str, entries.CatalogueEntry] = {}

    def __getitem__(self, name: str) -> entries.CatalogueEntry:
        if name not in self._decoded:
            self._decoded[name] = self._decode(name)
        return self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __contains__(self, name: object) -> bool:
        return name in self._raw

    def _decode(self, name: str) -> entries.CatalogueEntry:
        raw = self._raw[name]
        try:
            operator = _read_operator(name, raw)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            reason = f"the entry of `{name}` is damaged ({type(error).__name__}: {error})"
            raise SnapshotError(self._path, reason) from error
        for module in (operator.module, operator.enabled_by or operator.module):
            _check_module(module, self._library, self._path)
        return operator


def _read_operator(name: str, raw: dict[str, Any]) -> entries.CatalogueEntry:
    return entries.CatalogueEntry(
        name=name,
        module=raw["module"],
        roles=frozenset(map(entries.OperatorRole, raw["roles"])),
        parameters={key: _read_parameter(key, entry) for key, entry in raw["parameters"].items()},
        accepts_missing=raw.get("missing", False),
        accepts_categories=raw.get("categories", False),
        accepts_several_targets=raw.get("several_targets", False),
        methods=frozenset(raw["methods"]),
        removed=raw.get("removed", {}),
        deprecated=_read_deprecation(raw.get("deprecated")),
        enabled_by=raw.get("enabled_by"),
    )


def _read_parameter(name: str, raw: dict[str, Any]) -> entries.Parameter:
    return entries.Parameter(
        name=name,
        default=_read_default(raw["default"]) if "default" in raw else entries.NoDefault(),
        accepts=tuple(map(_read_rule, raw["accepts"])) if "accepts" in raw else None,
        named=tuple(raw.get("named", ())),
        takes_operators=raw.get("operators", False),
        deprecated=_read_deprecation(raw.get("deprecated")),
        refused=raw.get("refused"),
        withheld=tuple(raw.get("withheld", {}).items()),
        part=_read_part(raw.get("part")),
    )


def _read_deprecation(raw: list[Any] | None) -> entries.Deprecation | None:
    return None if raw is None else entries.Deprecation(*raw)


def _read_part(raw: object) -> entries.TupleElement | None:
    match raw:
        case None:
            return None
        case [str(whole), int() | float() as factor]:
            return entries.TupleElement(whole, factor)
        case _:
            raise ValueError(f"{raw!r} is not an element of a tuple parameter")


def _read_default(raw: object) -> entries.Default:
    match raw:
        case {"named": str(name)}:
            return entries.NamedObjectDefault(name)
        case {"opaque": str(text)}:
            return entries.OpaqueDefault(text)
        case _:
            return _read_value(raw)


def _read_rule(raw: list[Any]) -> Rule:
    match raw:
        case ["options", *values]:
            return AllowedValues(tuple(map(_read_value, values)))
        case ["type", *names]:
            return InstanceOf(tuple(names))
        case ["methods", *methods]:
            return HasMethods(tuple(methods))
        case [numbers, lower, upper, ("left" | "right" | "both" | "neither") as closed]:
            return Interval(NumberKind(numbers), _bound(lower, -math.inf), _bound(upper, math.inf), closed)
        case _:
            raise ValueError(f"{raw!r} is not a rule for the values of a parameter")


def _bound(raw: object, infinity: float) -> float:
    match raw:
        case None:
            return infinity
        case int() | float():
            return raw
        case _:
            raise ValueError(f"{raw!r} is not a bound of an interval")


def _read_value(raw: object) -> Value:
    match raw:
        case {"float": str(text)}:
            return float(text)
        case list():
            return tuple(map(_read_value, raw))
        case _:
            return from_json(raw)

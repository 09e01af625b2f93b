"""`spacelang spaces` and `catalogue`: list the bundled spaces and the operators of a library; rebuild its catalogue."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spacelang.cli._options import JsonOption
from spacelang.cli._output import exit_with_error, print_json
from spacelang.cli._process import BAD_INPUT
from spacelang.files import os_error_text

if TYPE_CHECKING:
    from spacelang.catalog.catalogue import Catalogue, CatalogueEntry

GROUP = ("Write a space", 6)


def spaces_command(json: JsonOption = False) -> None:
    """List the bundled spaces.

    Example: `spacelang spaces --json`
    """
    from spacelang.api import load
    from spacelang.syntax.sources import bundled_names

    found = [load(name) for name in bundled_names()]
    if json:
        print_json([{"name": each.name, "title": each.checked.title, "structures": each.structures} for each in found])
        return
    width = max((len(space.name) for space in found), default=0)
    for space in found:
        noun = "structure " if space.structures == 1 else "structures"
        typer.echo(f"{space.name:<{width}}  {space.structures:>7,} {noun}  {space.checked.title}".rstrip())


def catalogue_command(
    operator: Annotated[
        str | None, typer.Argument(metavar="[OPERATOR]", help="Show the parameters of this operator.")
    ] = None,
    package: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The package: xgboost, lightgbm, catboost, imblearn, or one of your own, which is imported.",
        ),
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Rebuild the catalogue from the installed package.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file that --refresh writes; by default one in the data folder of this user.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show the operators and parameters that the checker knows.

    They are those of scikit-learn, or of another package. With --refresh they are read from the installed package.

    Example: `spacelang catalogue PCA`
    """
    from spacelang.ir.space import DEFAULT_CATALOGUE

    first, _, rest = (operator or "").partition(".")
    if package is None and rest:
        # The name of an operator with its package, as in a space: `xgboost.XGBClassifier`.
        package, operator = first, rest
    if refresh:
        _refresh(package or DEFAULT_CATALOGUE, output)
        return
    if output is not None:
        exit_with_error("`--output` needs `--refresh`", "add `--refresh`, or leave `--output` out")
    catalogue = _catalogue(package or DEFAULT_CATALOGUE)
    if operator is None:
        _show_all(catalogue, json)
        return
    entry = catalogue.get(operator)
    if entry is None:
        exit_with_error(
            f"`{operator}` is not an operator of {catalogue.distribution}", _suggestion(operator, catalogue)
        )
    _show_one(entry, json)


def _catalogue(package: str) -> "Catalogue":
    from spacelang.catalog.packages import PackageNotInstalledError, UnreadablePackageError, open_package_catalogue
    from spacelang.catalog.snapshot import BUNDLED, load_catalogue

    try:
        return load_catalogue(package) if package in BUNDLED else open_package_catalogue(package)
    except PackageNotInstalledError as error:
        exit_with_error(str(error), _suggestion(package, BUNDLED) or error.remedy, status=BAD_INPUT)
    except UnreadablePackageError as error:
        exit_with_error(str(error), status=BAD_INPUT)


def _suggestion(name: str, known: Iterable[str]) -> str | None:
    from spacelang.spelling_suggestions import nearest_name

    near = nearest_name(name, known)
    return f"did you mean `{near}`?" if near else None


def _refresh(package: str, output: Path | None) -> None:
    from spacelang.catalog.introspect import write_refreshed_catalogue
    from spacelang.catalog.snapshot import BUNDLED
    from spacelang.errors import CORE

    try:
        typer.echo(f"wrote {write_refreshed_catalogue(package, output)}")
    except LookupError as error:
        known = ", ".join(f"`{name}`" for name in BUNDLED)
        others = f"the packages with a catalogue are {known}; others are read on use"
        exit_with_error(str(error.args[0]), _suggestion(package, BUNDLED) or others)
    except ImportError:
        if package in CORE:
            raise  # it has no extra
        extra = BUNDLED[package]
        exit_with_error(
            f"the package `{package}` is not installed", f'`pip install "spacelang[{extra}]"`', status=BAD_INPUT
        )
    except OSError as error:
        exit_with_error(f"cannot write the catalogue: {os_error_text(error)}", status=BAD_INPUT)


def _show_all(catalogue: "Catalogue", as_json: bool) -> None:
    from spacelang.ir.space import DEFAULT_CATALOGUE

    stale = catalogue.differing_installed_version
    if as_json:
        print_json(
            {"catalogue": catalogue.name, "version": catalogue.version, "installed": stale or catalogue.version}
            | {"operators": list(catalogue)}
        )
        return
    typer.echo(f"{catalogue.distribution} {catalogue.version}: {len(catalogue)} operators")
    if stale:
        package_option = "" if catalogue.name == DEFAULT_CATALOGUE else f" --package {catalogue.name}"
        typer.echo(
            f"version {stale} is installed, which may differ: run `spacelang catalogue{package_option} --refresh`"
        )
    for name in catalogue:
        entry = catalogue.get(name)
        assert entry is not None
        typer.echo(f"  {name:<32}{', '.join(sorted(entry.roles))}")


def _show_one(entry: "CatalogueEntry", as_json: bool) -> None:
    parameters = [
        (p.name, p.default_text, p.accepted_values_description, p.part.whole if p.part else None)
        for p in entry.parameters.values()
    ]
    if as_json:
        shown_parameters = [
            {"name": name, "default": shown, "expected": expected} | ({"part_of": whole} if whole else {})
            for name, shown, expected, whole in parameters
        ]
        facts = {"operator": entry.name, "roles": sorted(entry.roles), "several_targets": entry.accepts_several_targets}
        print_json(facts | {"parameters": shown_parameters})
        return
    several = " (also with several targets)" if entry.accepts_several_targets else ""
    typer.echo(f"{entry.module}.{entry.name}: {', '.join(sorted(entry.roles))}{several}")
    for name, shown, expected, whole in parameters:
        default = "" if shown is None else f" = {shown}"
        typer.echo(f"  {name}{default}: {expected}{f', a part of `{whole}`' if whole else ''}")

"""`spacelang diff`: show the differences between two spaces."""

import sys
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli._options import (
    JsonOption,
    SpaceInputArgument,
    SpaceOptions,
    display_name_of_space,
    load_without_size_note,
    print_unbound_sizes,
    refuse_repeated_standard_input,
)
from spacelang.cli._output import print_json, should_use_colours
from spacelang.cli._process import BAD_INPUT
from spacelang.diagnostics.terminal_cells import replace_unprintable

if TYPE_CHECKING:
    from spacelang.serialization.difference import FactDifference, SpaceDifference

GROUP = ("Inspect a space", 6)
STRUCTURE_SIGNS: Final = ("(", " -> ", " & ")  # One of them is in the text of an alternative that is a structure


def command(
    first: SpaceInputArgument,
    second: SpaceInputArgument,
    *,
    options: SpaceOptions,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with status 1 if the spaces differ.")] = False,
    json: JsonOption = False,
) -> None:
    """Show the differences between two spaces.

    It also counts the structures that one or both of them have: choices of one alternative for every decision.

    Example: `spacelang diff old.space new.space`
    """
    from spacelang.serialization.difference import compare_spaces

    refuse_repeated_standard_input(first, second)
    one, other = (load_without_size_note(reference, options) for reference in (first, second))
    print_unbound_sizes(one, other)
    first, second = map(display_name_of_space, (first, second))
    found = compare_spaces(one.counted, other.counted)
    if json:
        print_json(_document(first, second, found))
    else:
        _print(first, second, found)
    if exit_code and (found.differences or found.structures_only_in_first or found.structures_only_in_second):
        raise typer.Exit(BAD_INPUT)


def _document(first: str, second: str, found: "SpaceDifference") -> dict[str, object]:
    differences = [
        {"stage": each.stage or None, "address": each.address or None, "aspect": each.aspect.value}
        | {"first": each.first, "second": each.second}
        for each in found.differences
    ]
    structures = {
        "first": found.structures_in_first,
        "second": found.structures_in_second,
        "both": found.structures_in_both,
        "only_first": found.structures_only_in_first,
        "only_second": found.structures_only_in_second,
    }
    return {"first": first, "second": second, "structures": structures, "differences": differences}


def _print(first: str, second: str, found: "SpaceDifference") -> None:
    red, green, bold, end = (
        ("\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m") if should_use_colours(sys.stdout) else ("",) * 4
    )
    print(f"{red}- {replace_unprintable(first)}{end}\n{green}+ {replace_unprintable(second)}{end}\n")
    for heading, lines in groupby(sorted(_lines(found), key=lambda line: line[0]), key=lambda line: line[1]):
        print(f"{bold}{replace_unprintable(heading)}{end}")
        for _, _, sign, text in lines:
            print(f"  {red if sign == '-' else green}{sign} {replace_unprintable(text)}{end}")
        print()
    if not found.differences:
        print("no differences\n")
    print(_counts(found))


def _lines(found: "SpaceDifference") -> Iterator[tuple[tuple[int, int], str, str, str]]:
    """Yield a line for each difference: a sort key, the heading above the line, a sign such as `+`, and the text."""
    headings: dict[str, int] = {}
    own = ("hyperparameter", "domain", "condition")
    values = {each.stage for each in found.differences if each.address == each.stage and each.aspect.value in own}
    for place, each in enumerate(found.differences):
        kind = "var" if each.stage in values else "stage"
        heading = f"{kind} {each.stage}" if each.stage else f"{each.aspect.value}"
        number = headings.setdefault(heading, len(headings))
        for sign, text in (("-", each.first), ("+", each.second)):
            if text is not None:
                yield (number, place), heading, sign, _difference_text(each, text)


def _difference_text(difference: "FactDifference", text: str) -> str:
    from spacelang.ir.domain import quoted
    from spacelang.serialization.difference import FactKind

    path = difference.path
    match difference.aspect:
        case FactKind.CONSTRAINT | FactKind.TASK:
            return text
        case FactKind.PIPELINE:
            return f"{path} = {text}" if path else text
        case FactKind.ALTERNATIVE:
            decision = path.removesuffix(f".{quoted(text)}")
            is_structure = any(sign in text for sign in STRUCTURE_SIGNS)
            is_named_by_its_text = is_structure and decision != path
            return f"alternative of {decision}: {text}" if is_named_by_its_text else f"alternative {path}"
        case FactKind.HYPERPARAMETER | FactKind.DOMAIN:
            return f"{path} : {text}"
        case FactKind.DECISION | FactKind.FIXED:
            return f"{path} = {text}"
        case aspect:
            return f"{aspect.value} of {path}: {text}"


def _counts(found: "SpaceDifference") -> str:
    rows = [
        ("only the first", found.structures_only_in_first),
        ("only the second", found.structures_only_in_second),
        ("both", found.structures_in_both),
    ]
    if found.structures_in_both is None:
        rows = [("the first", found.structures_in_first), ("the second", found.structures_in_second)]
    width = max(len(f"{count:,}") for _, count in rows)
    lines = [f"  {count:>{width},}  in {which}" for which, count in rows]
    if found.structures_in_both is None:
        lines.append("  (the number that both have cannot be computed: their constraints are too complex together)")
    return "\n".join(["structures (combinations of alternatives, by name)", *lines])

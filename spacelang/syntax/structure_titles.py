"""Titles of structures: their alias or, without one, a short text of the structure."""

from collections.abc import Iterator

from spacelang.syntax import ast
from spacelang.syntax.inline_printer import spell_label, spell_selector


def title(structure: ast.Structure) -> str:
    """Return the title of a structure: its alias or, without one, its text without bodies."""
    match structure:
        case ast.NoneStep():
            return "none"
        case ast.Operator():
            return structure.name.text if structure.alias is None else structure.alias.text
        case ast.Parenthesised():
            return f"({title(structure.part)})" if structure.alias is None else structure.alias.text
        case ast.OptionalStructure():
            return f"{title(structure.part)}?"
        case ast.JoinedStructures():
            return f" {structure.sign} ".join(map(title, structure.parts))
        case ast.Columns():
            return f"columns({', '.join(f'{_selector_text(each)}: {title(part)}' for each, part in structure.parts)})"
        case ast.Permute():
            return f"permute({', '.join(_labelled_steps(structure))})"


def labels_of(permutation: ast.Permute) -> tuple[str, ...]:
    """Return the name of each permuted step as used in the orders: its label or, without one, its title."""
    given = permutation.labels or (None,) * len(permutation.parts)
    return tuple(title(p) if label is None else label.text for p, label in zip(permutation.parts, given, strict=True))


def _labelled_steps(permutation: ast.Permute) -> Iterator[str]:
    given = permutation.labels or (None,) * len(permutation.parts)
    for part, label in zip(permutation.parts, given, strict=True):
        yield f"{label.span.text or spell_label(label)}: {title(part)}" if label is not None else title(part)


def _selector_text(selector: ast.Word | ast.Text) -> str:
    """Return the selector as its author wrote it, or a canonical text if it has no source."""
    return selector.span.text or spell_selector(selector)

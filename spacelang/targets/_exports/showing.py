"""How the parts of a space are shown: as a tree in a terminal, as a graph in the DOT language, as a document."""

from collections.abc import Callable, Iterator

from spacelang.ir.domain import describe
from spacelang.ir.space import Hyperparameter
from spacelang.reductions.questions import Only, Questions, Slot
from spacelang.reductions.unfolding import Case, Fork, Free, Part, Parts
from spacelang.targets._shown import counted, digraph, quoted, wrapped


def listing(named: Questions, says: Callable[[Fork | Free], str]) -> str:
    """The parts as a tree; `says` gives the tool's own words for a part.

    What stands in several places is shown once.
    """
    lines = [title(named), *_lines(named.parts, named, says, "", set())]
    return "\n".join(lines)


def title(named: Questions) -> str:
    """How many choices, draws and products there are."""
    draws = sum(1 for _ in named.slots())
    return (
        f"{named.space.name}: {counted(len(named.forks), 'choice')}, {counted(draws, 'hyperparameter')}, "
        f"{counted(named.products, 'product')} of free hyperparameters"
    )


def graph(named: Questions, says: Callable[[Fork | Free], str]) -> str:
    """A node for each part, an edge for each case that leads to it."""
    numbers = {id(part): f"p{number}" for number, part in enumerate(named.all)}
    edges = [f"root -> {numbers[id(part)]}" for part in named.parts]
    nodes = ['root [label="", shape=point]']
    for part in named.all:
        assert isinstance(part, Fork | Free)
        shape = "" if isinstance(part, Fork) else ", shape=plaintext"
        nodes.append(f"{numbers[id(part)]} [label={quoted(_head(part, named, says))}{shape}]")
        if isinstance(part, Fork):
            for place, case in enumerate(part.cases):
                nodes += _leaf(part, case, f"{numbers[id(part)]}_{place}")
                edges += _edges(part, case, numbers, f"{numbers[id(part)]}_{place}")
    return digraph(named.space.name, title(named), [*nodes, *edges])


def document(named: Questions, says: Callable[[Fork | Free], str]) -> dict[str, object]:
    """The parts by number, and which of them stand side by side at the root and in each case."""
    numbers = {id(part): number for number, part in enumerate(named.all)}
    return {
        "products": named.products,
        "root": [numbers[id(part)] for part in named.parts],
        "parts": [_entry(part, named, says, numbers) for part in named.all],
    }


def _leaf(fork: Fork, case: Case, name: str) -> list[str]:
    return [] if case.parts else [f"{name} [label={quoted(case_words(fork, case))}, shape=plaintext]"]


def _edges(fork: Fork, case: Case, numbers: dict[int, str], leaf: str) -> list[str]:
    words = quoted(case_words(fork, case))
    inner = [f"{numbers[id(fork)]} -> {numbers[id(part)]} [label={words}]" for part in case.parts]
    return inner or [f"{numbers[id(fork)]} -> {leaf}"]


def case_words(fork: Fork, case: Case) -> str:
    """What tells a case of a fork apart from the others."""
    if case.branch is not None:
        return case.branch
    if case.domain is not None:
        return describe(case.domain)
    return f"way {fork.cases.index(case) + 1}" if fork.node is None else "inactive"


def _entry(
    part: Part, named: Questions, says: Callable[[Fork | Free], str], numbers: dict[int, int]
) -> dict[str, object]:
    assert isinstance(part, Fork | Free)
    address = {} if part.node is None else {"address": part.node.address, "key": part.node.key}
    if isinstance(part, Free):
        asked = [*named.draws[id(part)].questions]
        said = {"domain": describe(part.domain), "as": says(part)}
        return {"kind": "hyperparameter", **address, "names": asked, **said}
    cases = [
        {"case": case_words(part, case), "parts": [numbers[id(inner)] for inner in case.parts]} for case in part.cases
    ]
    kind = "decision" if part.node is not None and not isinstance(part.node, Hyperparameter) else "case"
    return {"kind": kind, **address, "name": named.forks.get(id(part)), "cases": cases}


def _lines(
    several: Parts, named: Questions, says: Callable[[Fork | Free], str], indent: str, seen: set[int]
) -> Iterator[str]:
    for part in several:
        assert isinstance(part, Fork | Free)
        is_last = part is several[-1]
        head = _head(part, named, says)
        mark, deeper = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        if isinstance(part, Free):
            yield f"{indent}{mark}{head}"
        elif id(part) in seen and any(case.parts for case in part.cases):
            yield f"{indent}{mark}{head}, as above"
        else:
            seen.add(id(part))
            yield f"{indent}{mark}{head}"
            yield from _cases(part, named, says, indent + deeper, seen)


def _cases(
    fork: Fork, named: Questions, says: Callable[[Fork | Free], str], indent: str, seen: set[int]
) -> Iterator[str]:
    if len(fork.cases) == 1:
        yield from _lines(fork.cases[0].parts, named, says, indent, seen)
        return
    plain: list[str] = []
    for case in fork.cases:
        if not case.parts:
            plain.append(f"• {case_words(fork, case)}")
            continue
        yield from wrapped(plain, indent, indent)
        plain = []
        yield f"{indent}• {case_words(fork, case)}"
        # A value that the case itself names is not repeated.
        inner = tuple(part for part in case.parts if not (isinstance(part, Free) and _is_said(part, case, named)))
        yield from _lines(inner, named, says, indent + "  ", seen)
    yield from wrapped(plain, indent, indent)


def _is_said(part: Free, case: Case, named: Questions) -> bool:
    return part.domain == case.domain and all(isinstance(piece, Only) for piece in named.draws[id(part)].pieces)


def _head(part: Fork | Free, named: Questions, says: Callable[[Fork | Free], str]) -> str:
    name = named.forks.get(id(part), named.called(part)) if isinstance(part, Fork) else named.called(part)
    if isinstance(part, Fork) and len(part.cases) == 1:
        return f"{name} = {case_words(part, part.cases[0])}"
    if isinstance(part, Fork):
        return f"{name}: {says(part)}"
    is_drawn = any(isinstance(piece, Slot) for piece in named.draws[id(part)].pieces)
    return f"{name} : {describe(part.domain)}" + (f"   {says(part)}" if is_drawn else "")

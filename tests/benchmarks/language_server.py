"""Measure the answers of `spacelang lsp` on the MOSAIC space, through the protocol.

Each of 100 edits changes the text as typing does: a number, a word, an unfinished line. After it the script measures
the time until the diagnostics of the new version and the answers to requests arrive, and the processor time of the
server, which other programs do not lengthen. `--session` prints a short session instead.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import psutil
from lsprotocol import types

sys.path.insert(0, str(Path(__file__).parents[1]))
from language_clients import SpaceClient, language_client, place

MOSAIC = (Path(__file__).parents[2] / "spaces" / "mosaic.space").read_text(encoding="utf-8")
EDITS = 100


def edited(text: str, random_state: random.Random) -> tuple[str, types.Position]:
    """Return the text after an edit, and the position of the cursor behind it."""
    lines = text.split("\n")
    numbered = [i for i, line in enumerate(lines) if ": int[" in line or ": float[" in line]
    at = random_state.choice(numbered)
    match random_state.randrange(4):
        case 0:  # another bound
            lines[at] = lines[at].replace("1, ", "2, ", 1).replace("= 1", "= 2", 1)
            column = len(lines[at])
        case 1:  # a new member, begun
            lines.insert(at + 1, " " * 6 + "ma")
            at, column = at + 1, 8
        case 2:  # a comment
            lines.insert(at + 1, " " * 6 + "# a remark")
            at, column = at + 1, 16
        case _:  # an unfinished range
            lines[at] = lines[at].split("[")[0] + "["
            column = len(lines[at])
    return "\n".join(lines), types.Position(at, column)


async def timed(awaitable: Any) -> tuple[float, Any]:
    start = perf_counter()
    answer = await awaitable
    return 1000 * (perf_counter() - start), answer


def processor_seconds(client: SpaceClient) -> float:
    """Return the processor time of the server so far."""
    assert client._server is not None
    times = psutil.Process(client._server.pid).cpu_times()
    return float(times.user + times.system)


async def measure(client: SpaceClient, uri: str) -> dict[str, list[float]]:
    random_state = random.Random(0)
    identifier = types.TextDocumentIdentifier(uri)
    whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
    found: dict[str, list[float]] = {}
    for version in range(2, EDITS + 2):
        text, cursor = edited(MOSAIC, random_state)
        client.change(uri, version, text)
        steps = {
            "completion, directly after the edit": client.text_document_completion_async(
                types.CompletionParams(identifier, cursor)
            ),
            "diagnostics, after completion": client.diagnostics(uri, version),
            "hover": client.text_document_hover_async(types.HoverParams(identifier, place(text, "estimator =", 2))),
            "definition": client.text_document_definition_async(
                types.DefinitionParams(identifier, place(text, "is KernelPCA", 4))
            ),
            "semantic tokens": client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(identifier)),
            "document symbols": client.text_document_document_symbol_async(types.DocumentSymbolParams(identifier)),
            "inlay hints": client.text_document_inlay_hint_async(types.InlayHintParams(identifier, whole)),
            "folding": client.text_document_folding_range_async(types.FoldingRangeParams(identifier)),
        }
        start, before = perf_counter(), processor_seconds(client)
        for name, step in steps.items():
            took, _ = await timed(step)
            found.setdefault(name, []).append(took)
            if name.startswith("diagnostics"):
                found.setdefault("edit to diagnostics", []).append(1000 * (perf_counter() - start))
                spent = 1000 * (processor_seconds(client) - before)
                found.setdefault("  processor time of completion and diagnostics", []).append(spent)
        client.change(uri, 1000 + version, MOSAIC)
        await client.diagnostics(uri, 1000 + version)
    return found


async def session(client: SpaceClient, uri: str) -> None:
    """Print the requests of a short session, their answers, and milliseconds."""
    identifier = types.TextDocumentIdentifier(uri)
    text = MOSAIC.replace("shrinking : bool", "shrinkin : bool")
    client.change(uri, 2, text)
    show("didChange: `shrinking` becomes `shrinkin` -> diagnostics", await timed(client.diagnostics(uri, 2)))
    at = place(text, "shrinkin :")
    chosen = types.CodeActionParams(identifier, types.Range(at, at), types.CodeActionContext([]))
    show("codeAction on it", await timed(client.text_document_code_action_async(chosen)))
    client.change(uri, 3, MOSAIC)
    show("didChange: back again -> diagnostics", await timed(client.diagnostics(uri, 3)))
    for what, mark, shift in (
        ("a stage", "stage estimator", 6),
        ("a parameter", "shrinking :", 0),
        ("a class", "FastICA {", 0),
    ):
        params = types.HoverParams(identifier, place(MOSAIC, mark, shift))
        show(f"hover on {what}", await timed(client.text_document_hover_async(params)))
    definition = types.DefinitionParams(identifier, place(MOSAIC, "preprocessor.KernelPCA.kernel", 24))
    show(
        "definition of `kernel` in the last constraints", await timed(client.text_document_definition_async(definition))
    )
    context = types.ReferenceContext(True)
    found = types.ReferenceParams(context, identifier, place(MOSAIC, "rescaling ="))
    show("references of the stage `rescaling`", await timed(client.text_document_references_async(found)))
    renamed = types.RenameParams(identifier, place(MOSAIC, "params balancing", 8), "class_balance")
    show("rename of the group `balancing`", await timed(client.text_document_rename_async(renamed)))
    begun = MOSAIC + "\nforbid estimator.SVC.kernel == "
    client.change(uri, 4, begun)
    last = types.Position(begun.count("\n"), len(begun.rsplit("\n", 1)[-1]))
    show(
        "completion after `estimator.SVC.kernel == `",
        await timed(client.text_document_completion_async(types.CompletionParams(identifier, last))),
    )


def show(what: str, answer: tuple[float, Any]) -> None:
    took, found = answer
    print(f"{what} ({took:.0f} ms)")
    for line in _lines(found)[:4]:
        print(f"    {line}")


def _lines(found: Any) -> list[str]:
    match found:
        case types.Hover(contents=types.MarkupContent(value=text)):
            return [line for line in text.split("\n") if line]
        case types.WorkspaceEdit(changes=changes):
            return [f"{len(edits)} edits in {uri.rsplit('/', 1)[-1]}" for uri, edits in (changes or {}).items()]
        case [types.Location(), *_]:
            return ["in line " + ", ".join(str(each.range.start.line + 1) for each in found)]
        case [types.CompletionItem(), *_]:
            return [
                f"{len(found)} items: " + ", ".join(each.label for each in sorted(found, key=lambda i: i.sort_text)[:8])
            ]
        case [types.Diagnostic(), *_]:
            return [line for each in found for line in f"{each.code} {each.message}".split("\n")]
        case [types.CodeAction(), *_]:
            return [each.title for each in found]
        case _:
            return [str(found)]


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--session", action="store_true")
    only_session = arguments.parse_args().session
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mosaic.space"
        path.write_text(MOSAIC, encoding="utf-8")
        async with language_client(Path(folder)) as client:
            uri = client.open(path, MOSAIC)
            await client.diagnostics(uri, 1)
            if only_session:
                await session(client, uri)
                return
            found = await measure(client, uri)
    print(f"{'milliseconds':<48} median   90 %")
    for name, times in found.items():
        print(f"{name:<48} {median(times):6.1f} {quantiles(times, n=10)[-1]:6.1f}")


if __name__ == "__main__":
    asyncio.run(main())

"""A session with a real server, through the protocol."""

import asyncio
import json
from pathlib import Path

from commands import spacelang
from language_clients import language_client, place
from lsprotocol import types

TEXT = "stage scaler = none | StandardScaler\nstage e = SVC { kernel : {rbf, poly} = rbf, C : float[1, 9] = 2.0 }\n"


async def session(folder: Path) -> None:
    async with language_client(folder, {"bind": {"n_features": 30}}) as client:
        uri = client.open(folder / "a.space", TEXT)
        identifier = types.TextDocumentIdentifier(uri)
        assert await client.diagnostics(uri, 1) == []
        client.change(uri, 2, TEXT.replace("kernel", "kernle"))
        (problem,) = await client.diagnostics(uri, 2)
        assert problem.code == "SL301"
        actions = await client.text_document_code_action_async(
            types.CodeActionParams(identifier, problem.range, types.CodeActionContext([problem]))
        )
        assert actions
        assert actions[0].title == "replace with `kernel`"
        begun = TEXT + "forbid scaler is "
        client.change(uri, 3, begun)
        found = await client.text_document_completion_async(
            types.CompletionParams(identifier, types.Position(2, len("forbid scaler is ")))
        )
        assert isinstance(found, list | tuple)
        assert {"none", "StandardScaler"} <= {item.label for item in found}
        client.change(uri, 4, TEXT)
        renamed = await client.text_document_rename_async(
            types.RenameParams(identifier, place(TEXT, "scaler"), "scaling")
        )
        assert renamed is not None
        assert {uri: [*edits] for uri, edits in (renamed.changes or {}).items()} == {
            uri: [types.TextEdit(_range(0, 6, 12), "scaling")]
        }
        tokens = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(identifier))
        assert tokens is not None
        assert tokens.data


def _range(line: int, start: int, end: int) -> types.Range:
    return types.Range(types.Position(line, start), types.Position(line, end))


def test_a_session(tmp_path: Path) -> None:
    asyncio.run(session(tmp_path))


SERVED = """
import json, sys
from spacelang.language_server.server import make_server
server = make_server({}, (), "1")
server.documents.open("untitled:a", 1, "stage e = SVC | PCA").checked
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_the_server_imports_no_library_of_data_science(tmp_path: Path) -> None:
    ended = spacelang(folder=tmp_path, code=SERVED, afresh=True)
    assert not {"sklearn", "scipy", "pandas", "numpy", "ConfigSpace", "hyperopt", "openml"} & {
        *json.loads(ended.stdout)
    }

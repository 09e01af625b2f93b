"""A session with a real server, through the protocol."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import environment, spacelang
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


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_shows_mistakes_and_renames(tmp_path: Path) -> None:
    """The answers of the server as Neovim (0.7 or later) shows them, by its own client."""
    text = "stage scaler = none | StandardScaler\nstage e = SVC { kernle : {rbf, poly} = rbf }\n"
    (tmp_path / "a.space").write_text(text + "forbid scaler is none\n", encoding="utf-8")
    script = Path(__file__).with_name("neovim_session.lua")
    ended = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-S", str(script)],
        cwd=tmp_path,
        env=environment(SPACE_FILE=str(tmp_path / "a.space"), SPACE_PYTHON=sys.executable),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    shown = dict(line.partition(" ")[::2] for line in ended.stdout.splitlines())
    assert "SL301" in shown["diagnostic"], ended.stderr
    assert "a decision with 2 alternatives" in shown["hover"]
    assert shown["completion"] == "StandardScaler none"
    assert shown["renamed"].startswith("stage scaling = none")
    assert "forbid scaling is none" in shown["renamed"]


SERVED = """
import json, sys
from spacelang.language_server.server import make_server
server = make_server({}, (), "1")
server.documents.open("untitled:a", 1, "stage e = SVC | PCA").check_result
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_the_server_imports_no_library_of_data_science(tmp_path: Path) -> None:
    ended = spacelang(folder=tmp_path, code=SERVED, afresh=True)
    assert not {"sklearn", "scipy", "pandas", "numpy", "ConfigSpace", "hyperopt", "openml"} & {
        *json.loads(ended.stdout)
    }

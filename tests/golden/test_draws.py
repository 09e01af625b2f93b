"""What `spacelang sample` draws by a seed of each bundled and example space: `tests/golden/draws/SPACE.txt`.

A resumed run draws again what it drew before: where these draws change, no run goes on with an older store.
"""

import json
from pathlib import Path

import pytest
from goldens import FOLDER, OWN, PATHS, lines_of, must_be_kept, path_of, rounded

from spacelang.cli import main

KEPT = FOLDER / "draws"
SPACES = (*PATHS, *(path.stem for path in OWN))
DRAWN = 200


@pytest.mark.parametrize("name", SPACES)
def test_are_what_they_were(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(("sample", str(path_of(name)), "-n", str(DRAWN), "--seed", "0"))
    assert ended.value.code == 0
    drawn = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(drawn) == DRAWN
    found = "".join(f"{line}\n" for each in drawn for line in lines_of(rounded(each)))
    must_be_kept(KEPT / f"{name}.txt", found, tmp_path)


def test_no_file_is_left_over() -> None:
    assert {path.stem for path in KEPT.glob("*.txt")} == {*SPACES}

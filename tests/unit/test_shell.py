"""A word in a line to copy is read by a shell as the text that it stands for."""

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trying import few

from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.text import quote_for_shell

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@given(st.lists(TEXTS | st.sampled_from(["x\none", "it's\r\n", "\\n\t", "$'a'", "\x1b[1m"]), min_size=5, max_size=5))
@settings(max_examples=few(20), deadline=None)
def test_bash_reads_each_word_as_its_text(texts: list[str]) -> None:
    words = " ".join(map(quote_for_shell, texts))
    assert replace_unprintable(words) == words
    shown = subprocess.run(["bash", "-c", f"printf '%s\\0' {words}"], capture_output=True, check=True).stdout
    assert shown.decode().split("\0")[:-1] == texts

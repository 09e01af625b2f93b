"""What the limits of a shell are too small for is refused before it is imported."""

import sys
from math import inf

import pytest

from spacelang.cli import _process
from spacelang.cli._process import MIN_ADDRESS_SPACE, MIN_OPEN_FILES, check_limits_for_imports
from spacelang.runtime.errors import InputError


@pytest.mark.parametrize("name", MIN_ADDRESS_SPACE)
def test_a_package_is_refused_below_what_it_needs(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    least = MIN_ADDRESS_SPACE[name]
    needs = f"`{name}` needs {least // 10**6:,}MB of address space, but the limit"
    monkeypatch.setattr(_process, "address_space_and_open_file_limits", lambda: (least - 1e6, inf))
    with check_limits_for_imports():
        monkeypatch.delitem(sys.modules, name, raising=False)
        with pytest.raises(InputError, match=needs) as caught:
            __import__(name)
        import colorsys  # noqa: F401 - needs no more than it has
    assert "`ulimit -v`" in caught.value.help


def test_few_open_files_are_refused_and_enough_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [*sys.meta_path]
    for files in (MIN_OPEN_FILES - 1, MIN_OPEN_FILES):
        monkeypatch.setattr(_process, "address_space_and_open_file_limits", lambda files=files: (inf, files))
        with check_limits_for_imports():
            if files == MIN_OPEN_FILES:
                assert sys.meta_path == before
                continue
            monkeypatch.delitem(sys.modules, "pandas", raising=False)
            with pytest.raises(InputError, match="the limit of the shell is 23"):
                __import__("pandas")
    assert sys.meta_path == before

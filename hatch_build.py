"""A build hook that makes the links of README.md absolute, because relative links are broken on the package index.

The address of the repository is `project.urls` in pyproject.toml; it is written nowhere else. `hatch-fancy-pypi-readme`
could rewrite the links too, but needs the address again for each kind of link.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"(!\[[^\]]*\]\()(?!https?://|#)([^)]+\))")
LINK = re.compile(r"(?<!!)(\[[^\]]*\]\()(?!https?://|#)([^)]+\))")


class Readme(MetadataHookInterface):
    """A metadata hook that sets `readme`, which pyproject.toml declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` to README.md with absolute links; pictures link to raw files."""
        home = metadata["urls"]["Repository"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = PICTURE.sub(rf"\1{home}/raw/main/\2", text)
        text = LINK.sub(rf"\1{home}/blob/main/\2", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

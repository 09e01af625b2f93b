"""What the package index shows is README.md with links into the repository: relative ones lead nowhere there.

The address is that of `project.urls` in pyproject.toml, and stands nowhere else. `hatch-fancy-pypi-readme` would
rewrite links as well, but asks for the address once more for each kind of link.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"(!\[[^\]]*\]\()(?!https?://|#)([^)]+\))")
LINK = re.compile(r"(?<!!)(\[[^\]]*\]\()(?!https?://|#)([^)]+\))")


class Readme(MetadataHookInterface):
    """Sets `readme`, which pyproject.toml leaves open."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Take README.md with absolute links: pages are shown by the repository, pictures come as they are."""
        home = metadata["urls"]["Repository"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = PICTURE.sub(rf"\1{home}/raw/main/\2", text)
        text = LINK.sub(rf"\1{home}/blob/main/\2", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

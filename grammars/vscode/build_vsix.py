"""Build the extension for VS Code: `python grammars/vscode/build_vsix.py spacelang.vsix`.

A `.vsix` file is a ZIP archive with a manifest. It contains this folder, the TextMate grammar next to it, and the
client library of `package.json`, which `npm` installs into a temporary folder.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

FOLDER = Path(__file__).parent
FILES = ("extension.js", "language-configuration.json", "README.md")
GRAMMAR = "spacelang.tmLanguage.json"
TYPES = {
    ".json": "application/json",
    ".js": "application/javascript",
    ".md": "text/markdown",
    ".vsixmanifest": "text/xml",
}


def build(target: Path, modules: Path) -> None:
    """Write the extension to `target`; `modules` is the folder `node_modules` with the client library."""
    package = {**json.loads((FOLDER / "package.json").read_text(encoding="utf-8")), "version": version()}
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        archive.writestr("extension.vsixmanifest", manifest(package))
        archive.writestr("[Content_Types].xml", content_types(modules))
        archive.writestr("extension/package.json", json.dumps(package, indent=2))
        archive.write(FOLDER.parent / GRAMMAR, f"extension/{GRAMMAR}")
        archive.write(FOLDER.parents[1] / "LICENSE", "extension/LICENSE")
        for name in FILES:
            archive.write(FOLDER / name, f"extension/{name}")
        for path in sorted(modules.rglob("*")):
            if path.is_file() and ".bin" not in path.parts:
                archive.write(path, f"extension/node_modules/{path.relative_to(modules).as_posix()}")


def version() -> str:
    """Return the version of the Python package, without a suffix, which VS Code does not accept."""
    text = (FOLDER.parents[1] / "spacelang" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "(\d+\.\d+\.\d+)', text)
    if found is None:
        raise ValueError("spacelang/__init__.py contains no version")
    return found[1]


def manifest(package: dict[str, Any]) -> str:
    """Return the manifest of the archive."""
    identity = f"Id={quoteattr(package['name'])} Version={quoteattr(package['version'])}"
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" {identity} Publisher={quoteattr(package["publisher"])}/>
    <DisplayName>{package["displayName"]}</DisplayName>
    <Description xml:space="preserve">{package["description"]}</Description>
    <Categories>{",".join(package["categories"])}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(package["engines"]["vscode"])}/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def content_types(modules: Path) -> str:
    """Return the media type of every file ending in the archive."""
    endings = {path.suffix for path in modules.rglob("*") if path.is_file() and path.suffix} | TYPES.keys()
    kinds = {ending: TYPES.get(ending, "application/octet-stream") for ending in sorted(endings)}
    rows = (f"<Default Extension={quoteattr(each)} ContentType={quoteattr(kind)}/>" for each, kind in kinds.items())
    space = "http://schemas.openxmlformats.org/package/2006/content-types"
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="{space}">{"".join(rows)}</Types>\n'


def main() -> None:
    """Install the client library, and write the extension to the path on the command line."""
    if len(sys.argv) != 2:
        sys.exit("usage: python grammars/vscode/build_vsix.py TARGET.vsix")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "package.json").write_bytes((FOLDER / "package.json").read_bytes())
        subprocess.run(["npm", "install", "--omit=dev", "--ignore-scripts", "--no-audit"], cwd=folder, check=True)
        build(Path(sys.argv[1]), Path(folder) / "node_modules")


if __name__ == "__main__":
    main()

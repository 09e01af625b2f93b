"""Draw docstrings, names and messages of the package at random, to be read by somebody who does not know the code.

`python tests/reading_sample.py` takes the hash of the last commit as its seed; `--seed TEXT` takes another one. A
reader paraphrases each item without the code beside it; the paraphrase is then compared with the code.
"""

import argparse
import ast
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from displayed_messages import Messages

PACKAGE = Path(__file__).parent.parent / "spacelang"
SIZES = {"docstrings": 100, "names": 50, "messages": 50}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield the path and the syntax tree of each module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield str(path.relative_to(PACKAGE)), ast.parse(path.read_text(encoding="utf-8"))


def definitions(tree: ast.Module, path: str) -> Iterator[tuple[str, ast.AST, bool]]:
    """Yield the qualified name and the node of a module and all it defines, and whether the name is public."""
    yield path, tree, not path.rpartition("/")[2].startswith("_")

    def below(parent: ast.AST, prefix: str, *, is_public: bool) -> Iterator[tuple[str, ast.AST, bool]]:
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                is_named = is_public and not node.name.startswith("_")
                yield f"{prefix}{node.name}", node, is_named
                yield from below(node, f"{prefix}{node.name}.", is_public=is_named and isinstance(node, ast.ClassDef))

    yield from below(tree, f"{path}::", is_public=True)


def signature(name: str, node: ast.AST) -> str:
    """Return a qualified name with the arguments and the result of a function, or the bases of a class."""
    if isinstance(node, FUNCTIONS):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"{name}({ast.unparse(node.args)}){returns}"
    if isinstance(node, ast.ClassDef) and node.bases:
        return f"{name}({', '.join(ast.unparse(base) for base in node.bases)})"
    return name


def docstrings_and_names() -> tuple[list[str], list[str]]:
    """Return all docstrings, each with the name that it belongs to, and all public names."""
    docs, names = [], []
    for path, tree in modules():
        for name, node, is_public in definitions(tree, path):
            text = ast.get_docstring(node) if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)) else None
            if text:
                docs.append(f"{signature(name, node)}\n    " + text.replace("\n", "\n    "))
            if is_public:
                names.append(signature(name, node))
    return docs, names


def main() -> None:
    """Print the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", help="a text; by default the hash of the last commit")
    seed = parser.parse_args().seed
    if seed is None:
        command = ["git", "rev-parse", "HEAD"]
        seed = subprocess.run(command, cwd=PACKAGE, check=True, capture_output=True, text=True).stdout.strip()
    docs, names = docstrings_and_names()
    rng = random.Random(seed)
    for title, population in (("docstrings", docs), ("names", names), ("messages", [*Messages(PACKAGE)])):
        print(f"## {SIZES[title]} of {len(population)} {title}, seed {seed}\n")
        for number, item in enumerate(rng.sample(population, SIZES[title]), 1):
            print(f"{number}. {item}\n")


if __name__ == "__main__":
    main()

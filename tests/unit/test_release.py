"""The files around a release agree with each other: versions of Python and of the package, workflows, citation."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import spacelang

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_workflows_test_and_install_each_version_of_python_that_the_package_names() -> None:
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    assert f">={versions[0]}" == project()["requires-python"]
    tests = read(GITHUB / "workflows" / "tests.yml")["jobs"]
    release = read(GITHUB / "workflows" / "release.yml")["jobs"]
    assert tests["versions"]["strategy"]["matrix"]["python"] == versions
    assert release["install"]["strategy"]["matrix"]["python"] == versions


def test_a_release_is_built_checked_and_installed_before_it_is_published_without_a_password() -> None:
    text = (GITHUB / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert (jobs["publish"]["needs"], jobs["install"]["needs"]) == ("install", "build")
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in text


def test_the_citation_names_this_version_and_the_date_of_the_changelog() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == spacelang.__version__
    date = citation["date-released"].isoformat()
    assert f"\n## {spacelang.__version__} - {date}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert citation["license"] == project()["license"]


def test_the_citation_has_the_papers_of_the_optimizers() -> None:
    text = (ROOT / "spacelang" / "optimizers" / "README.md").read_text(encoding="utf-8")
    listed = text.partition("The papers and their short names:\n")[2].partition("\n- other papers")[0]
    papers = re.findall(r"- \w+: (\w+) et al\., \*(.+?)\*", " ".join(listed.split()))
    assert len(papers) == 4
    references = read(ROOT / "CITATION.cff")["references"]
    first_authors = [each["authors"][0] for each in references]
    names = [each.get("family-names") or each["name"].removesuffix(" et al.") for each in first_authors]
    assert sorted(papers) == sorted(zip(names, (each["title"] for each in references), strict=True))


@pytest.mark.parametrize("path", sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_issue_templates_have_what_the_forms_need(path: Path) -> None:
    form = read(path)
    if path.stem == "config":
        return
    assert {"name", "description", "body"} <= set(form)
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert fields
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)

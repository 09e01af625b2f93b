"""What the first page shows is so: its picture, its links, and that both ways to write its space are the same."""

import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import optuna
import pytest
from sklearn.pipeline import Pipeline
from test_documents import BLOCKS, CREDIT, DOCUMENTS, ROOT, outside_blocks

import spacelang as sl
from spacelang.optimizers import OPTIMIZERS

LINK: Final = re.compile(r"\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)")
DRAWS: Final = 400
"""Of 25 pipelines, numbers apart, the rarest is one in 54: one seed in two hundred leaves any of them out."""


def test_the_picture_is_what_its_script_draws() -> None:
    found = runpy.run_path(str(ROOT / "examples" / "picture.py"))
    assert found["draw_picture"]() == found["PICTURE"].read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for path, heading in LINK.findall(outside_blocks(document)):
        led = (document.parent / path).resolve() if path else document
        assert led.exists(), path
        assert not heading or heading in headings(led), f"{path}#{heading}"


@cache
def headings(document: Path) -> set[str]:
    """What links call the headings of a page."""
    found = re.findall(r"^#+ (.+)$", outside_blocks(document), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each).strip().lower().replace(" ", "-") for each in found}


def test_it_counts_what_there_is() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    told = {int(number) for number in re.findall(r"(\d+) (?:are here|optimizers)", page)}
    assert told == {len(OPTIMIZERS.names())}
    assert set(re.findall(r"`(\w+)`", page.split("`spacelang optimizers` lists ")[1].split(" and more")[0])) <= {
        *OPTIMIZERS.names()
    }


def test_both_ways_to_write_the_space_come_to_the_same() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    block = next(each.text for each in BLOCKS if each.text.count("def pipeline_of(trial)"))
    by_hand: dict[str, Any] = {}
    exec(block, by_hand)
    space = sl.parse(CREDIT)
    suggest = space.compile("optuna").form.native
    hand = drawn(optuna, by_hand["pipeline_of"])
    text = drawn(optuna, lambda trial: space.build(suggest(trial)))
    assert hand[0] ^ text[0] == set()
    assert hand[1] ^ text[1] == set()
    assert len(hand[0]) == 25
    assert len(hand[1]) == 4


def drawn(optuna: Any, pipeline_of: Any) -> tuple[set[str], set[tuple[str, str]]]:
    """The pipelines that random trials come to, without their numbers, and the ranges that were asked for."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    pipelines, ranges = set(), set()
    for _ in range(DRAWS):
        trial = study.ask()
        pipelines.add(shape(pipeline_of(trial)))
        ranges |= {(name.rpartition(".")[2], str(each)) for name, each in trial.distributions.items() if numeric(each)}
        study.tell(trial, 0.0)
    return pipelines, ranges


def numeric(distribution: Any) -> bool:
    return type(distribution).__name__ != "CategoricalDistribution"


def shape(pipeline: Pipeline) -> str:
    """Its steps with what is not as scikit-learn has it, where a number of a searched range is only a number."""
    return " -> ".join(f"{type(step).__name__}({', '.join(set_of(step))})" for _, step in pipeline.steps)


def set_of(step: Any) -> Iterator[str]:
    for name, value in sorted(step.get_params().items()):
        is_range = name in {"C", "degree", "max_depth", "n_quantiles"} and value is not None
        if name not in {"random_state", "n_jobs"}:  # which a run decides
            yield f"{name}=number" if is_range else f"{name}={value}"

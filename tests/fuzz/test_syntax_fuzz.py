"""A small seeded fuzz of the parser: files cut, doubled, shuffled and sprinkled with signs; the same in every run."""

import random
from pathlib import Path

import pytest

from spacelang.files import resource_folder
from tests.laws.example import EXAMPLE
from tests.laws.test_syntax import read

SIGNS = [*"{}[]()|&?:=,.;@#\"'\\-+*/<>\0\r\n\t\f\u00a0\ufeffé٣", "->", "==", "not ", "when ", "True", "1e999", "stage "]
SEEDS = 12
ROUNDS = 12


def texts() -> list[str]:
    spaces = sorted(Path(resource_folder("spaces")).glob("**/*.space"))
    return [EXAMPLE, *(path.read_text(encoding="utf-8") for path in spaces)]


def mutated(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        start, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        end = min(end, start + chance.choice([0, 1, 3, 40, 400]))
        match chance.randrange(4):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:start] + chance.choice(SIGNS) + text[start:]
            case 2:
                text = text[:start] + text[start:end] * 2 + text[end:]
            case _:
                text = text[:start] + text[start:end][::-1] + text[end:]
    return text


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_damaged_file_is_read(seed: int) -> None:
    chance = random.Random(seed)
    originals = texts()
    for _ in range(ROUNDS):
        read(mutated(chance.choice(originals), chance))

"""The rows that OpenML's tasks with a holdout train on: those of which auto-sklearn has taken its meta-features.

The server shuffles the rows by Weka, whose chance is Java's linear congruential generator (its documentation gives the
numbers), with the seed 0, and holds out the first of them.
"""


class JavaRandom:
    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) % 2**48

    def below(self, bound: int) -> int:
        """A whole number from 0 to below `bound`: those that would make some more probable are drawn again."""
        if bound & -bound == bound:
            return bound * self._bits() >> 31
        while True:
            bits = self._bits()
            if bits - bits % bound + bound - 1 < 2**31:
                return bits % bound

    def _bits(self) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) % 2**48
        return self._state >> 17


def training_rows(count: int, percent: int = 33) -> list[int]:
    rows, chance = list(range(count)), JavaRandom(0)
    for last in range(count - 1, 0, -1):
        other = chance.below(last + 1)
        rows[last], rows[other] = rows[other], rows[last]
    return rows[count * percent // 100 :]

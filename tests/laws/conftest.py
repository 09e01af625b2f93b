"""Fixtures of the laws about counting: both ways to combine the branches of a decision."""

from collections.abc import Iterator

import pytest

from spacelang.solver import constraint_network_compiler


@pytest.fixture(
    scope="module", params=[constraint_network_compiler.MAX_DIRECT_BRANCHES, 0], ids=["few branches", "many branches"]
)
def branches(request: pytest.FixtureRequest) -> Iterator[None]:
    """Random spaces are small: with 0, the way of decisions with many branches is taken for all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constraint_network_compiler, "MAX_DIRECT_BRANCHES", request.param)
        yield

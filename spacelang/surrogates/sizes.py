"""How much a model is made of: a fit takes time with the cube of the number of points, and they become ever more."""

from typing import Final

MOST: Final = 500
"""As many points enter a model."""

KEPT: Final = 384
"""As many are left of more when a model is fitted: half of them the best, the others the latest."""

LEFT_OUT: Final = f"Models are made of {MOST} trials at most: of more, of the best and the latest."
"""What the summary says of a search that has had more than are kept."""

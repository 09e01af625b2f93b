"""Settings of Hypothesis for laws: the number of random cases."""

from hypothesis import HealthCheck, settings
from trying import IS_FULL

EXAMPLES = 200 if IS_FULL else 6
"""Few enough that all laws together take minutes on a slow core; `tests/run.py --full` tries more."""

LAW = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
"""For laws over random spaces."""

"""How long a law is tried."""

import os

from hypothesis import HealthCheck, settings

EXAMPLES = 200 if os.environ.get("SPACELANG_FULL") else 12
"""Few enough that all laws together take minutes on a slow core; `tests/run.py --full` tries more."""

LAW = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
"""For laws over random spaces."""

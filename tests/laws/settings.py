"""How long a law is tried."""

from hypothesis import HealthCheck, settings

LAW = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
"""For laws over random spaces: enough to find what is wrong, few enough for a slow core."""

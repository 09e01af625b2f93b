"""What the definition of a space calls its decisions.

The space is not made: that, with what it imports, is a tenth of the time in which a run is shown.
"""

import json
from typing import Any


def decision_keys(definition: str) -> tuple[str, ...]:
    """The keys of all decisions in the order in which they stand there; none where the text is no definition."""
    try:
        document = json.loads(definition)
    except (ValueError, RecursionError):
        return ()
    keys: dict[str, None] = {}
    waiting: list[Any] = [document.get("root")] if isinstance(document, dict) else []
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            # What a condition says of a decision has no address.
            if "decision" in each and "address" in each:
                keys[str(each.get("key", each["address"]))] = None
            waiting += reversed(each.values())
        elif isinstance(each, list):
            waiting += reversed(each)
    return tuple(keys)

"""A fitted pipeline as a file of skops, which holds data and the names of types, and no code as a pickle does.

See https://skops.readthedocs.io/en/stable/persistence.html.
"""

from importlib.util import find_spec
from typing import Any

from spacelang.runtime.errors import BuildError, InputError
from spacelang.runtime.failures import described

AS_CODE = "write it as code: a file that ends in `.py`"


def must_have_skops() -> None:
    """Raise InputError where skops is not installed."""
    if find_spec("skops") is None:
        raise InputError("a `.skops` file needs `skops`", f"install `spacelang[skops]`, or {AS_CODE}")


def dumped(fitted: Any) -> tuple[bytes, list[str]]:
    """The file of a fitted pipeline, and the types in it that its reader must trust beside those that skops knows.

    It has been read again. Raises BuildError where skops cannot hold the pipeline, or the file would need this package.
    """
    from skops.io import dumps, get_untrusted_types, loads

    try:
        content = dumps(fitted)
        types = sorted(get_untrusted_types(data=content))
        loads(content, trusted=types)
    except Exception as error:  # whatever a stranger's class does when it is asked for its state
        raise BuildError(f"skops cannot hold the pipeline: {described(error)}", AS_CODE) from error
    if own := [name for name in types if name.partition(".")[0] == "spacelang"]:
        raise BuildError(f"the pipeline has a part that no library has: `{own[0].rpartition('.')[2]}`", AS_CODE)
    return content, types

"""Write a fitted pipeline to a skops file.

Such a file holds data and the names of types, but no code, unlike a pickle. See
https://skops.readthedocs.io/en/stable/persistence.html.
"""

from importlib.util import find_spec
from typing import Any

from spacelang.runtime.errors import BuildError, InputError
from spacelang.runtime.failures import describe_exception

AS_CODE = "write the pipeline as Python code, to a file that ends in `.py`"


def check_skops_installed() -> None:
    """Raise InputError if skops is not installed."""
    if find_spec("skops") is None:
        raise InputError(
            "writing a `.skops` file needs the package `skops`", f"install `spacelang[skops]`, or {AS_CODE}"
        )


def dump_model(fitted: Any) -> tuple[bytes, list[str]]:
    """Return the content of a skops file, and the types in it that its reader must trust explicitly.

    The content is read back as a test. Raises BuildError if skops cannot serialize the pipeline, or if the file would
    need this package.
    """
    from skops.io import dumps, get_untrusted_types, loads

    try:
        content = dumps(fitted)
        types = sorted(get_untrusted_types(data=content))
        loads(content, trusted=types)
    except Exception as error:  # a foreign class may raise anything when it is serialized
        raise BuildError(f"skops cannot hold the pipeline: {describe_exception(error)}", AS_CODE) from error
    if own := [name for name in types if name.partition(".")[0] == "spacelang"]:
        raise BuildError(
            f"the pipeline has a part that is defined in spacelang only: `{own[0].rpartition('.')[2]}`", AS_CODE
        )
    return content, types

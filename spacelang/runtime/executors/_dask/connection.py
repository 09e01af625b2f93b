"""The connection of a session to its scheduler, and the reasons for which a cluster cannot be used."""

import asyncio
from typing import Any, Final, TypeAlias

from distributed.comm.core import CommClosedError

from spacelang.ir.task import SECONDS, format_quantity
from spacelang.runtime.errors import InputError, describe_exception
from spacelang.runtime.executors._dask import worker_plugin

CONNECT_TIMEOUT: Final = 5.0  # The maximum time to connect or reconnect to a scheduler, in seconds
SAME_VERSIONS_HELP: Final = "install spacelang and the same package versions on all machines of the cluster"
AnyClient: TypeAlias = Any  # An asynchronous dask client. Its type hints describe only the synchronous one


async def connect(client: AnyClient, address: str) -> None:
    """Connect to the scheduler; raise InputError, with the reason, if that fails."""
    try:
        # The client would wait forever for a server that accepts the connection and sends nothing.
        async with asyncio.timeout(CONNECT_TIMEOUT + 1):
            await client
    except OSError as error:
        if isinstance(error, CommClosedError):
            cause = describe_exception(error.__cause__ or error)
            message = f"the program at `{address}` closed the connection: {cause}"
            raise InputError(message, "the address of a scheduler with certificates starts with `tls://`") from error
        message = f"no scheduler answers at `{address}` within {format_quantity(CONNECT_TIMEOUT, SECONDS)}"
        raise InputError(message, "start a scheduler with `dask scheduler`, which shows its address") from error
    except Exception as error:
        certificates = "set the certificates in dask's configuration, under `distributed.comm.tls`"
        help_ = certificates if address.startswith("tls:") else ""
        raise InputError(f"the scheduler at `{address}` cannot be used: {describe_exception(error)}", help_) from error


async def check_versions(client: AnyClient, address: str) -> None:
    """Raise InputError if a machine of the cluster has other versions of what affects scores."""
    found = await client.get_versions(packages=list(worker_plugin.PACKAGES))
    here = found["client"]["packages"]
    places = {f"the dask worker {place}": each["packages"] for place, each in found["workers"].items()}
    # The scheduler needs spacelang itself, but passes other data on as bytes: their versions may differ there.
    known = {name: here[name] for name in worker_plugin.PACKAGES if name != "spacelang"}
    places[f"the scheduler {address}"] = {**found["scheduler"]["packages"], **known}
    for place, packages in places.items():
        if differing := worker_plugin.describe_version_difference(here, packages, place):
            raise InputError(differing, SAME_VERSIONS_HELP)


def no_workers_error(address: str, seconds: float) -> InputError:
    """Return the error for a cluster without workers."""
    message = f"the scheduler at `{address}` has had no worker for {format_quantity(seconds, SECONDS)}"
    return InputError(message, f"start a worker with `dask worker {address}`")

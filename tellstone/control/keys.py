"""OBJECT HELP, and WAIT and WAITAOF: there are no replicas and no log yet, so what they wait for never comes."""

from __future__ import annotations

import math
import time

from tellstone.control.blocked import Blocked
from tellstone.control.context import Call, ClientFilter, Context
from tellstone.control.encode import Reply, text
from tellstone.control.help import help_reply
from tellstone.errors import ResponseError
from tellstone.units import INTEGER

INT64_MAX = 2**63 - 1
NOT_INTEGER = "value is not an integer or out of range"
LOOK_SECONDS = 5.0  # between two looks whether the client that waits is still there


def integer(argument: bytes, refusal: str, low: int = -INT64_MAX - 1, high: int = INT64_MAX) -> int:
    """A 64-bit integer between two bounds."""
    word = text(argument)
    number = int(word) if INTEGER.fullmatch(word) and word != "-0" else high + 1
    if not low <= number <= high:
        raise ResponseError(f"ERR {refusal}")
    return number


def milliseconds(argument: bytes) -> int:
    """A timeout; 0 is none."""
    number = integer(argument, "timeout is not an integer or out of range")
    if number < 0:
        raise ResponseError("ERR timeout is negative")
    if number > INT64_MAX - time.time_ns() // 10**6:
        raise ResponseError("ERR timeout is out of range")
    return number


async def wait_in_vain(context: Context, call: Call, timeout: int) -> None:
    """Until the timeout, until the client is gone, or until CLIENT UNBLOCK. A program that calls its own engine is not
    kept waiting.
    """
    if not call.client_id:
        return
    end = time.monotonic() + timeout / 1000 if timeout else math.inf
    blocked = context.blocked[call.client_id] = Blocked(has_timeout=timeout > 0)
    try:
        while not blocked.released and (left := end - time.monotonic()) > 0:
            await blocked.sleep(context.sleep(min(left, LOOK_SECONDS)))
            if left > LOOK_SECONDS and not (await context.clients(ClientFilter(ids=(call.client_id,)))).count:
                return
    finally:
        del context.blocked[call.client_id]
    if blocked.error:
        raise ResponseError(blocked.error)


# WAIT numreplicas timeout
async def wait(context: Context, call: Call) -> Reply:
    """How many replicas have everything."""
    replicas = integer(call.args[1], NOT_INTEGER)
    timeout = milliseconds(call.args[2])
    if replicas > 0:
        await wait_in_vain(context, call, timeout)
    return 0


# WAITAOF numlocal numreplicas timeout
async def waitaof(context: Context, call: Call) -> Reply:
    """Whether the log has everything, and how many replicas' logs."""
    integer(call.args[1], NOT_INTEGER)
    local = integer(call.args[1], "value is out of range, value must between 0 and 1", 0, 1)
    replicas = integer(call.args[2], "value is out of range, must be positive", 0)
    timeout = milliseconds(call.args[3])
    if local:
        raise ResponseError("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.")
    if replicas:
        await wait_in_vain(context, call, timeout)
    return [0, 0]


# OBJECT HELP
def object_help(context: Context, call: Call) -> Reply:
    """What OBJECT can do."""
    del context
    return help_reply(
        call,
        {
            "ENCODING <key>": [
                "Return the kind of internal representation used in order to store the value",
                "associated with a <key>.",
            ],
            "FREQ <key>": [
                "Return the access frequency index of the <key>. The returned integer is",
                "proportional to the logarithm of the recent access frequency of the key.",
            ],
            "IDLETIME <key>": [
                "Return the idle time of the <key>, that is the approximated number of",
                "seconds elapsed since the last access to the key.",
            ],
            "REFCOUNT <key>": [
                "Return the number of references of the value associated with the specified",
                "<key>.",
            ],
        },
    )

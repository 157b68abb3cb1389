"""CLIENT, as far as it is about other clients than the one that asks; the rest is answered where the connection is.

Words are compared up to a zero byte, as Redis compares them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from tellstone.control.context import Call, ClientFilter, Context
from tellstone.control.encode import OK, Reply, Verbatim, keyword, text, word
from tellstone.control.help import help_reply, unknown_subcommand
from tellstone.control.keys import NOT_INTEGER, integer, milliseconds
from tellstone.errors import ResponseError

TYPES = {b"normal": "normal", b"master": "master", b"replica": "replica", b"slave": "replica", b"pubsub": "pubsub"}
USERS = ("default",)
SYNTAX = "ERR syntax error"
NOT_ABOVE_ZERO = "client-id should be greater than 0"


def client_type(argument: bytes) -> str:
    """A type of clients by its name."""
    if (name := keyword(argument)) not in TYPES:
        raise ResponseError(f"ERR Unknown client type '{word(argument)}'")
    return TYPES[name]


# CLIENT LIST [TYPE NORMAL|MASTER|REPLICA|PUBSUB] [ID client-id [client-id ...]]
async def client_list(context: Context, call: Call) -> Reply:
    """A line for each client, in the order of their numbers, or in the order asked for."""
    arguments = call.args[2:]
    option = keyword(arguments[0]) if arguments else b""
    if len(arguments) == 2 and option == b"type":
        wanted = ClientFilter(type=client_type(arguments[1]))
    elif len(arguments) > 1 and option == b"id":
        wanted = ClientFilter(ids=tuple(integer(argument, "Invalid client ID") for argument in arguments[1:]))
    elif not arguments:
        wanted = ClientFilter()
    else:
        raise ResponseError(SYNTAX)
    if wanted.ids:
        wanted = replace(wanted, ids=tuple(client for client in wanted.ids if client > 0))
        if not wanted.ids:
            return Verbatim("")
    lines = (await context.clients(wanted)).lines
    return Verbatim("".join(lines[client] for client in wanted.ids or sorted(lines) if client in lines))


# CLIENT KILL addr:port
# CLIENT KILL [ID client-id] [TYPE NORMAL|MASTER|REPLICA|PUBSUB] [USER username] [ADDR addr:port] [LADDR addr:port]
#             [SKIPME YES|NO]
async def client_kill(context: Context, call: Call) -> Reply:
    """Close connections. The old form may close the caller's own and answers OK, the new one answers a number."""
    arguments = call.args[2:]
    if len(arguments) == 1:
        wanted = ClientFilter(addr=word(arguments[0]), caller=call.client_id)
        if not (await context.clients(wanted, kill=True)).count:
            raise ResponseError("ERR No such client")
        return OK
    wanted = kill_filter(arguments, ClientFilter(caller=call.client_id, skip_caller=True))
    return (await context.clients(wanted, kill=True)).count


def kill_filter(arguments: Sequence[bytes], wanted: ClientFilter) -> ClientFilter:
    """The filter that pairs of CLIENT KILL describe; the first bad one is refused."""
    for at in range(0, len(arguments), 2):
        option = keyword(arguments[at])
        if at + 1 == len(arguments) or option not in KILL_OPTIONS:
            raise ResponseError(SYNTAX)
        wanted = replace(wanted, **KILL_OPTIONS[option](arguments[at + 1]))
    return wanted


def skip_caller(argument: bytes) -> bool:
    """Yes or no."""
    answer = keyword(argument)
    if answer not in (b"yes", b"no"):
        raise ResponseError(SYNTAX)
    return answer == b"yes"


def user_name(argument: bytes) -> str:
    """A user that exists."""
    name = text(argument)
    if name not in USERS:
        raise ResponseError(f"ERR No such user '{word(argument)}'")
    return name


KILL_OPTIONS: dict[bytes, Callable[[bytes], dict[str, Any]]] = {
    b"id": lambda value: {"ids": (integer(value, NOT_ABOVE_ZERO, 1),)},
    b"type": lambda value: {"type": client_type(value)},
    b"addr": lambda value: {"addr": word(value)},
    b"laddr": lambda value: {"laddr": word(value)},
    b"user": lambda value: {"user": user_name(value)},
    b"skipme": lambda value: {"skip_caller": skip_caller(value)},
}


# CLIENT PAUSE timeout [WRITE|ALL]
def client_pause(context: Context, call: Call) -> Reply:
    """Hold back the commands of all clients, or those that write. A pause gets no shorter and no weaker."""
    if len(call.args) > 4:
        raise unknown_subcommand(call)
    mode = keyword(call.args[3]) if len(call.args) == 4 else b"all"
    if mode not in (b"write", b"all"):
        raise ResponseError("ERR CLIENT PAUSE mode must be WRITE or ALL")
    context.pause(milliseconds(call.args[2]), everything=mode == b"all")
    return OK


# CLIENT UNPAUSE
def client_unpause(context: Context, call: Call) -> Reply:
    """End a pause at once."""
    del call
    context.unpause()
    return OK


# CLIENT UNBLOCK client-id [TIMEOUT|ERROR]
def client_unblock(context: Context, call: Call) -> Reply:
    """Let a client go on that waits in WAIT or WAITAOF: 1, or 0 if it does not."""
    if len(call.args) > 4:
        raise unknown_subcommand(call)
    how = keyword(call.args[3]) if len(call.args) == 4 else b"timeout"
    if how not in (b"timeout", b"error"):
        raise ResponseError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
    blocked = context.blocked.get(integer(call.args[2], NOT_INTEGER))
    if blocked is None or blocked.released:
        return 0
    blocked.release(error=how == b"error")
    return 1


# CLIENT TRACKING ON|OFF [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]
async def client_tracking(context: Context, call: Call) -> Reply:
    """There is no client-side caching yet: OFF is what it is, and ON is refused."""
    await tracking_options(context, call.args[3:])
    switch = keyword(call.args[2])
    if switch == b"off":
        return OK
    if switch != b"on":
        raise ResponseError(SYNTAX)
    raise ResponseError("ERR client-side caching is not supported yet")


async def tracking_options(context: Context, options: Sequence[bytes]) -> None:
    """Refuse what no tracking could have."""
    target, at = 0, 0
    while at < len(options):
        option = keyword(options[at])
        takes = option in (b"redirect", b"prefix")
        if at + takes == len(options) or not (takes or option in (b"bcast", b"optin", b"optout", b"noloop")):
            raise ResponseError(SYNTAX)
        if option == b"redirect":
            if target:
                raise ResponseError("ERR A client can only redirect to a single other client")
            target = integer(options[at + 1], NOT_INTEGER)
            if target <= 0 or not (await context.clients(ClientFilter(ids=(target,)))).count:
                raise ResponseError("ERR The client ID you want redirect to does not exist")
        at += 1 + takes


# CLIENT CACHING YES|NO
def client_caching(context: Context, call: Call) -> Reply:
    """What Redis says to a client that has not turned tracking on."""
    del context, call
    raise ResponseError(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"
    )


# CLIENT HELP
def client_help(context: Context, call: Call) -> Reply:
    """What CLIENT can do."""
    del context
    return help_reply(call, HELP)


TYPE_NAMES = "(NORMAL|MASTER|REPLICA|PUBSUB)"
HELP = {
    "CACHING (YES|NO)": ["Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes."],
    "GETREDIR": ["Return the client ID we are redirecting to when tracking is enabled."],
    "GETNAME": ["Return the name of the current connection."],
    "ID": ["Return the ID of the current connection."],
    "INFO": ["Return information about the current client connection."],
    "KILL <ip:port>": ["Kill connection made from <ip:port>."],
    "KILL <option> <value> [<option> <value> [...]]": [
        "Kill connections. Options are:",
        "* ADDR (<ip:port>|<unixsocket>:0)",
        "  Kill connections made from the specified address",
        "* LADDR (<ip:port>|<unixsocket>:0)",
        "  Kill connections made to specified local address",
        f"* TYPE {TYPE_NAMES}",
        "  Kill connections by type.",
        "* USER <username>",
        "  Kill connections authenticated by <username>.",
        "* SKIPME (YES|NO)",
        "  Skip killing current connection (default: yes).",
    ],
    "LIST [options ...]": [
        "Return information about client connections. Options:",
        f"* TYPE {TYPE_NAMES}",
        "  Return clients of specified type.",
    ],
    "UNPAUSE": ["Stop the current client pause, resuming traffic."],
    "PAUSE <timeout> [WRITE|ALL]": ["Suspend all, or just write, clients for <timeout> milliseconds."],
    "REPLY (ON|OFF|SKIP)": ["Control the replies sent to the current connection."],
    "SETNAME <name>": ["Assign the name <name> to the current connection."],
    "SETINFO <option> <value>": [
        "Set client meta attr. Options are:",
        "* LIB-NAME: the client lib name.",
        "* LIB-VER: the client lib version.",
    ],
    "UNBLOCK <clientid> [TIMEOUT|ERROR]": ["Unblock the specified blocked client."],
    "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]": [],
    "         [OPTIN] [OPTOUT] [NOLOOP]": ["Control server assisted client side caching."],
    "TRACKINGINFO": ["Report tracking status for the current connection."],
    "NO-EVICT (ON|OFF)": ["Protect current client connection from eviction."],
    "NO-TOUCH (ON|OFF)": ["Will not touch LRU/LFU stats when this mode is on."],
}
CLIENT_HANDLERS: dict[str, Callable[[Context, Call], Reply | Awaitable[Reply]]] = {
    "client|caching": client_caching,
    "client|help": client_help,
    "client|kill": client_kill,
    "client|list": client_list,
    "client|pause": client_pause,
    "client|tracking": client_tracking,
    "client|unblock": client_unblock,
    "client|unpause": client_unpause,
}

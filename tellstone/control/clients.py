"""CLIENT LIST and CLIENT KILL: questions to all reactors. The rest of CLIENT is answered where the connection is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tellstone.control.context import Call, ClientFilter, Context
from tellstone.control.encode import OK, Reply, Verbatim, text
from tellstone.control.help import help_reply
from tellstone.errors import ResponseError
from tellstone.units import INTEGER

TYPES = {"normal": "normal", "master": "master", "replica": "replica", "slave": "replica", "pubsub": "pubsub"}
USERS = ("default",)


def client_type(argument: bytes) -> str:
    """A type of clients by its name."""
    name = text(argument)
    if name.lower() not in TYPES:
        raise ResponseError(f"ERR Unknown client type '{name}'")
    return TYPES[name.lower()]


def number(argument: bytes, refusal: str) -> int:
    """A 64-bit integer."""
    word = text(argument)
    if not INTEGER.fullmatch(word) or not -(2**63) <= int(word) < 2**63:
        raise ResponseError(f"ERR {refusal}")
    return int(word)


# CLIENT LIST [TYPE NORMAL|MASTER|REPLICA|PUBSUB] [ID client-id [client-id ...]]
async def client_list(context: Context, call: Call) -> Reply:
    """A line for each client, in the order of their numbers, or in the order asked for."""
    arguments = call.args[2:]
    option = arguments[0].lower() if arguments else b""
    if len(arguments) == 2 and option == b"type":
        wanted = ClientFilter(type=client_type(arguments[1]))
    elif len(arguments) > 1 and option == b"id":
        wanted = ClientFilter(ids=tuple(number(argument, "Invalid client ID") for argument in arguments[1:]))
    elif not arguments:
        wanted = ClientFilter()
    else:
        raise ResponseError("ERR syntax error")
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
        wanted = ClientFilter(addr=text(arguments[0]), caller=call.client_id)
        if not (await context.clients(wanted, kill=True)).count:
            raise ResponseError("ERR No such client")
        return OK
    wanted = kill_filter(arguments, ClientFilter(caller=call.client_id, skip_caller=True))
    return (await context.clients(wanted, kill=True)).count


def kill_filter(arguments: Sequence[bytes], wanted: ClientFilter) -> ClientFilter:
    """The filter that pairs of CLIENT KILL describe."""
    if len(arguments) % 2:
        raise ResponseError("ERR syntax error")
    for name, value in zip(arguments[::2], arguments[1::2], strict=True):
        option = name.lower()
        if option == b"id":
            client = number(value, "client-id should be greater than 0")
            if client < 1:
                raise ResponseError("ERR client-id should be greater than 0")
            wanted = replace(wanted, ids=(client,))
        elif option == b"type":
            wanted = replace(wanted, type=client_type(value))
        elif option == b"user":
            wanted = replace(wanted, user=user_name(value))
        elif option == b"addr":
            wanted = replace(wanted, addr=text(value))
        elif option == b"laddr":
            wanted = replace(wanted, laddr=text(value))
        elif option == b"skipme" and value.lower() in (b"yes", b"no"):
            wanted = replace(wanted, skip_caller=value.lower() == b"yes")
        else:
            raise ResponseError("ERR syntax error")
    return wanted


def user_name(argument: bytes) -> str:
    """A user that exists."""
    name = text(argument)
    if name not in USERS:
        raise ResponseError(f"ERR No such user '{name}'")
    return name


# CLIENT HELP
def client_help(context: Context, call: Call) -> Reply:
    """What CLIENT can do."""
    del context
    types = "(NORMAL|MASTER|REPLICA|PUBSUB)"
    return help_reply(
        call,
        {
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
                f"* TYPE {types}",
                "  Kill connections by type.",
                "* USER <username>",
                "  Kill connections authenticated by <username>.",
                "* SKIPME (YES|NO)",
                "  Skip killing current connection (default: yes).",
            ],
            "LIST [options ...]": [
                "Return information about client connections. Options:",
                f"* TYPE {types}",
                "  Return clients of specified type.",
            ],
            "REPLY (ON|OFF|SKIP)": ["Control the replies sent to the current connection."],
            "SETNAME <name>": ["Assign the name <name> to the current connection."],
            "SETINFO <option> <value>": [
                "Set client meta attr. Options are:",
                "* LIB-NAME: the client lib name.",
                "* LIB-VER: the client lib version.",
            ],
            "NO-EVICT (ON|OFF)": ["Protect current client connection from eviction."],
            "NO-TOUCH (ON|OFF)": ["Will not touch LRU/LFU stats when this mode is on."],
        },
    )

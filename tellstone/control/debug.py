"""DEBUG: tools for tests, behind --enable-debug-command."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence

from tellstone._core.command.keys import glob_match
from tellstone._core.session.embedded import Caller
from tellstone.config import DATABASES
from tellstone.control.context import Call, Context
from tellstone.control.encode import OK, ErrorReply, Group, Pairs, Raw, Reply, Simple, Verbatim, keyword, text
from tellstone.control.help import help_reply, unknown_subcommand
from tellstone.control.keys import integer
from tellstone.control.protection import is_local, protected
from tellstone.control.turns import Turns, all_keys, caller_in, run, settle
from tellstone.errors import ResponseError

TOO_LONG = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
NOT_POSITIVE = "value is out of range, must be positive"
SLEEP_MAX = 10**6  # seconds
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
STRING_TYPE = b"\0\0\0\0"  # Redis's number of the type, as it goes into a digest
DUMP_FRAME = 11  # bytes of a DUMP around the value: its type, a version, a checksum
LRU_BITS = 0xFFFFFF
BLANKS = bytes.maketrans(b"\r\n", b"  ")


def allowed(context: Context, call: Call) -> bool:
    """Whether a client may use DEBUG."""
    wish = context.options.enable_debug_command
    return wish == "yes" or (wish == "local" and is_local(call)) or call.client_id == 0


def number_before(word: str) -> float:
    """The number that a text begins with, 0 without one, as C's strtod; negative ones become 0."""
    match = NUMBER.match(word)
    return max(float(match.group()), 0.0) if match else 0.0


# DEBUG SLEEP seconds
async def debug_sleep(context: Context, call: Call) -> Reply:
    """Unlike Redis's, it stops only the client that asks for it."""
    await context.sleep(min(number_before(text(call.args[2])), SLEEP_MAX))
    return OK


# DEBUG SET-ACTIVE-EXPIRE 0|1
def debug_set_active_expire(context: Context, call: Call) -> Reply:
    """Let the timing wheels stand still, or turn again."""
    context.store.active_expiry = bool(number_before(text(call.args[2])))
    return OK


# DEBUG ERROR text
def debug_error(context: Context, call: Call) -> Reply:
    """An error reply of the caller's own words."""
    del context
    return ErrorReply(text(call.args[2].translate(BLANKS)))


# DEBUG STRINGMATCH-LEN text pattern
def debug_stringmatch_len(context: Context, call: Call) -> Reply:
    """Whether a text is what a glob pattern means."""
    del context
    return int(glob_match(call.args[3], call.args[2]))


# DEBUG POPULATE count [prefix] [size]
async def debug_populate(context: Context, call: Call) -> Reply:
    """Make keys `prefix:0`, `prefix:1`, ... where there are none."""
    count = integer(call.args[2], NOT_POSITIVE, 0)
    prefix = call.args[3] if len(call.args) > 3 else b"key"
    size = integer(call.args[4], NOT_POSITIVE, 0) if len(call.args) > 4 else 0
    if size > context.store.max_value:
        raise ResponseError(TOO_LONG)
    caller, turns = caller_in(context, call.db), Turns(context)
    for number in range(count):
        value = b"value:%d" % number
        run(caller, "SET", b"%b:%d" % (prefix, number), value[:size].ljust(size, b"\0") if size else value, "NX")
        await turns.between()
    await settle(context, caller)
    return OK


def digest_with(digest: bytes, data: bytes) -> bytes:
    """Data added where order does not matter."""
    return bytes(a ^ b for a, b in zip(digest, hashlib.sha1(data, usedforsecurity=False).digest(), strict=True))


def digest_then(digest: bytes, data: bytes) -> bytes:
    """Data added where order matters."""
    return hashlib.sha1(digest_with(digest, data), usedforsecurity=False).digest()


def digest_value(caller: Caller, key: bytes, digest: bytes) -> bytes:
    """A value and whether it expires, added to a digest as Redis does."""
    value = run(caller, "GET", key)
    digest = digest_then(digest_then(digest, STRING_TYPE), value)
    return digest_with(digest, b"!!expire!!") if run(caller, "PEXPIRETIME", key) > 0 else digest


# DEBUG DIGEST
async def debug_digest(context: Context, call: Call) -> Reply:
    """A number of all data: equal to that of another server, or of Redis, with the same."""
    del call
    total, turns = bytes(20), Turns(context)
    for db in range(DATABASES):
        if not context.store.sizes()[db][0]:
            continue
        caller = caller_in(context, db)
        total = digest_then(total, db.to_bytes(4, "big"))
        async for keys in all_keys(caller, turns):
            for key in keys:
                total = digest_with(total, digest_value(caller, key, digest_then(bytes(20), key)))
                await turns.between()
    return Simple(total.hex())


# DEBUG DIGEST-VALUE [key [key ...]]
async def debug_digest_value(context: Context, call: Call) -> Reply:
    """The same of single values."""
    caller, turns = caller_in(context, call.db), Turns(context)
    digests: list[Simple] = []
    for key in call.args[2:]:
        digest = digest_value(caller, key, bytes(20)) if run(caller, "EXISTS", key) else bytes(20)
        digests.append(Simple(digest.hex()))
        await turns.between()
    return digests


# DEBUG OBJECT key
def debug_object(context: Context, call: Call) -> Reply:
    """How a value is kept. There is no address to show: values move."""
    caller, key = caller_in(context, call.db), call.args[2]
    if not run(caller, "EXISTS", key):
        raise ResponseError("ERR no such key")
    encoding, idle = run(caller, "OBJECT", "ENCODING", key), run(caller, "OBJECT", "IDLETIME", key)
    references = run(caller, "OBJECT", "REFCOUNT", key)
    lru = int(context.started + context.uptime - idle) & LRU_BITS
    size = len(run(caller, "DUMP", key)) - DUMP_FRAME
    return Simple(
        f"Value at:0x0 refcount:{references} encoding:{text(encoding)} serializedlength:{size} lru:{lru}"
        f" lru_seconds_idle:{idle}"
    )


# DEBUG RELOAD [MERGE] [NOFLUSH] [NOSAVE]
def debug_reload(context: Context, call: Call) -> Reply:
    """Refused: data is in memory only."""
    del context
    if any(keyword(option) not in (b"merge", b"noflush", b"nosave") for option in call.args[2:]):
        raise ResponseError("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.")
    raise ResponseError("ERR DEBUG RELOAD is not supported: there is no persistence")


BIG_NUMBER = b"1234567999999999999999999999999999999"
# What DEBUG PROTOCOL answers; two replies where RESP2 has another.
EXAMPLES: dict[bytes, Reply | tuple[Reply, Reply]] = {
    b"string": "Hello World",
    b"integer": 12345,
    b"double": 3.141,
    b"bignum": (Raw(b"$%d\r\n%b\r\n" % (len(BIG_NUMBER), BIG_NUMBER)), Raw(b"(%b\r\n" % BIG_NUMBER)),
    b"null": None,
    b"array": [0, 1, 2],
    b"set": Group((0, 1, 2)),
    b"map": Pairs(((0, False), (1, True), (2, False))),
    b"attrib": (
        "Some real reply following the attribute",
        Raw(
            b"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n"
            b"$39\r\nSome real reply following the attribute\r\n"
        ),
    ),
    b"push": (
        ErrorReply("ERR RESP2 is not supported by this command"),
        Raw(b"$40\r\nSome real reply following the push reply\r\n>2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n"),
    ),
    b"true": True,
    b"false": False,
    b"verbatim": Verbatim("This is a verbatim\nstring"),
}


# DEBUG PROTOCOL string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false
def debug_protocol(context: Context, call: Call) -> Reply:
    """An example of a type of reply."""
    del context
    name = keyword(call.args[2])
    if name not in EXAMPLES:
        raise ResponseError(
            "ERR Wrong protocol type name. Please use one of the following:"
            " string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false"
        )
    found = EXAMPLES[name]
    return found[call.proto >= 3] if type(found) is tuple else found


# DEBUG HELP
def debug_help(context: Context, call: Call) -> Reply:
    """What DEBUG can do."""
    del context
    return help_reply(
        call,
        {
            "DIGEST": ["Output a hex signature representing the current DB content."],
            "DIGEST-VALUE <key> [<key> ...]": ["Output a hex signature of the values of all the specified keys."],
            "ERROR <string>": [
                "Return a Redis protocol error with <string> as message. Useful for clients",
                "unit tests to simulate Redis errors.",
            ],
            "OBJECT <key>": ["Show low level info about `key` and associated value."],
            "POPULATE <count> [<prefix>] [<size>]": [
                "Create <count> string keys named key:<num>. If <prefix> is specified then",
                "it is used instead of the 'key' prefix.",
            ],
            "PROTOCOL <type>": [
                "Reply with a test value of the specified type. <type> can be: string,",
                "integer, double, bignum, null, array, set, map, attrib, push, verbatim,",
                "true, false.",
            ],
            "SET-ACTIVE-EXPIRE <0|1>": [
                "Setting it to 0 disables expiring keys in background when they are not",
                "accessed (otherwise the Redis behavior). Setting it to 1 reenables back the",
                "default.",
            ],
            "SLEEP <seconds>": ["Stop this client for <seconds>. Decimals allowed."],
            "STRINGMATCH-LEN <string> <pattern>": ["Return 1 if <string> matches the glob <pattern>, 0 otherwise."],
        },
    )


Subcommand = Callable[[Context, Call], "Reply | Awaitable[Reply]"]
# By name: the handler, and how many arguments there may be, DEBUG and the name counted.
SUBCOMMANDS: dict[bytes, tuple[Subcommand, Sequence[int]]] = {
    b"digest": (debug_digest, range(2, 3)),
    b"digest-value": (debug_digest_value, range(2, 2**31)),
    b"error": (debug_error, range(3, 4)),
    b"help": (debug_help, range(2, 3)),
    b"object": (debug_object, range(3, 4)),
    b"populate": (debug_populate, range(3, 6)),
    b"protocol": (debug_protocol, range(3, 4)),
    b"reload": (debug_reload, range(2, 2**31)),
    b"set-active-expire": (debug_set_active_expire, range(3, 4)),
    b"sleep": (debug_sleep, range(3, 4)),
    b"stringmatch-len": (debug_stringmatch_len, range(4, 5)),
}


# DEBUG subcommand [argument [argument ...]]
def debug(context: Context, call: Call) -> Reply | Awaitable[Reply]:
    """Whatever of it there is; nothing where --enable-debug-command does not allow it."""
    if not allowed(context, call):
        raise ResponseError(protected("DEBUG", "enable-debug-command"))
    handler, counts = SUBCOMMANDS.get(keyword(call.args[1]), (debug_help, ()))
    if len(call.args) not in counts:
        raise unknown_subcommand(call)
    return handler(context, call)

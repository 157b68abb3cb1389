"""What arguments commands take, as COMMAND DOCS, redis-cli's hints and docs/commands.md have it.

A line describes the arguments behind a command's name:

    [a]           optional
    a...          once or more; with a & before the dots its token is repeated too
    EX:a          behind the token EX
    a(x|y)        one of several; a(x y): all of them, in that order
    NX            a token alone, whose argument is called nx; sorting=ALPHA is called otherwise
    a/integer     of a type that is not string
    a#0           a key, with the number of its key specification; a/pattern#1 stands for keys
    a!b           shown as b
    a@7.0.0       since a version; a~2.8.12: deprecated since one
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

ARGUMENTS = {
    "append": "key#0 value",
    "decr": "key#0",
    "decrby": "key#0 decrement/integer",
    "get": "key#0",
    "getdel": "key#0",
    "getex": (
        "key#0 [expiration(EX:seconds/integer|PX:milliseconds/integer|EXAT:unix-time-seconds/unix-time|"
        "PXAT:unix-time-milliseconds/unix-time|PERSIST)]"
    ),
    "getrange": "key#0 start/integer end/integer",
    "getset": "key#0 value",
    "incr": "key#0",
    "incrby": "key#0 increment/integer",
    "incrbyfloat": "key#0 increment/double",
    "lcs": "key1#0 key2#0 [LEN] [IDX] [MINMATCHLEN:min-match-len/integer] [WITHMATCHLEN]",
    "mget": "key#0...",
    "mset": "data(key#0 value)...",
    "msetnx": "data(key#0 value)...",
    "psetex": "key#0 milliseconds/integer value",
    "set": (
        "key#0 value [condition(NX|XX)@2.6.12] [GET@6.2.0] [expiration(EX:seconds/integer@2.6.12|"
        "PX:milliseconds/integer@2.6.12|EXAT:unix-time-seconds/unix-time@6.2.0|"
        "PXAT:unix-time-milliseconds/unix-time@6.2.0|KEEPTTL@6.0.0)]"
    ),
    "setex": "key#0 seconds/integer value",
    "setnx": "key#0 value",
    "setrange": "key#0 offset/integer value",
    "strlen": "key#0",
    "substr": "key#0 start/integer end/integer",
    "bitcount": "key#0 [range(start/integer end/integer [unit(BYTE|BIT)@7.0.0])]",
    "bitfield": (
        "key#0 [operation(GET:get-block(encoding offset/integer)|write([OVERFLOW:overflow-block(WRAP|SAT|FAIL)] "
        "write-operation(SET:set-block(encoding offset/integer value/integer)|INCRBY:incrby-block(encoding "
        "offset/integer increment/integer))))...]"
    ),
    "bitfield_ro": "key#0 [GET:get-block(encoding offset/integer)&...]",
    "bitop": "operation(AND|OR|XOR|NOT) destkey#0 key#1...",
    "bitpos": "key#0 bit/integer [range(start/integer [end-unit-block(end/integer [unit(BYTE|BIT)@7.0.0])])]",
    "getbit": "key#0 offset/integer",
    "setbit": "key#0 offset/integer value/integer",
    "copy": "source#0 destination#1 [DB:destination-db/integer] [REPLACE]",
    "del": "key#0...",
    "dump": "key#0",
    "exists": "key#0...",
    "expire": "key#0 seconds/integer [condition(NX|XX|GT|LT)@7.0.0]",
    "expireat": "key#0 unix-time-seconds/unix-time [condition(NX|XX|GT|LT)@7.0.0]",
    "expiretime": "key#0",
    "keys": "pattern/pattern",
    "move": "key#0 db/integer",
    "object|encoding": "key#0",
    "object|freq": "key#0",
    "object|idletime": "key#0",
    "object|refcount": "key#0",
    "persist": "key#0",
    "pexpire": "key#0 milliseconds/integer [condition(NX|XX|GT|LT)@7.0.0]",
    "pexpireat": "key#0 unix-time-milliseconds/unix-time [condition(NX|XX|GT|LT)@7.0.0]",
    "pexpiretime": "key#0",
    "pttl": "key#0",
    "rename": "key#0 newkey#1",
    "renamenx": "key#0 newkey#1",
    "restore": (
        "key#0 ttl/integer serialized-value [REPLACE@3.0.0] [ABSTTL@5.0.0] [IDLETIME:seconds/integer@5.0.0] "
        "[FREQ:frequency/integer@5.0.0]"
    ),
    "scan": "cursor/integer [MATCH:pattern/pattern] [COUNT:count/integer] [TYPE:type@6.0.0]",
    "sort": (
        "key#0 [BY:by-pattern/pattern#1!pattern] [LIMIT:limit(offset/integer count/integer)] "
        "[GET:get-pattern/pattern#1!pattern&...] [order(ASC|DESC)] [sorting=ALPHA] [STORE:destination#2]"
    ),
    "sort_ro": (
        "key#0 [BY:by-pattern/pattern#1!pattern] [LIMIT:limit(offset/integer count/integer)] "
        "[GET:get-pattern/pattern#1!pattern&...] [order(ASC|DESC)] [sorting=ALPHA]"
    ),
    "touch": "key#0...",
    "ttl": "key#0",
    "type": "key#0",
    "unlink": "key#0...",
    "wait": "numreplicas/integer timeout/integer",
    "waitaof": "numlocal/integer numreplicas/integer timeout/integer",
    "auth": "[username@6.0.0] password",
    "client|kill": (
        "filter(old-format!ip:port~2.8.12|new-format([ID:client-id/integer@2.8.12]|[TYPE:client-type(NORMAL|"
        "MASTER@3.2.0|SLAVE|REPLICA@5.0.0|PUBSUB)@2.8.12]|[USER:username]|[ADDR:addr!ip:port]|"
        "[LADDR:laddr!ip:port@6.2.0]|[SKIPME:skipme(YES|NO)])...)"
    ),
    "client|caching": "mode(YES|NO)",
    "bgsave": "[SCHEDULE@3.2.2]",
    "client|pause": "timeout/integer [mode(WRITE|ALL)@6.2.0]",
    "client|tracking": (
        "status(ON|OFF) [REDIRECT:client-id/integer] [PREFIX:prefix&...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]"
    ),
    "client|unblock": "client-id/integer [unblock-type(TIMEOUT|ERROR)]",
    "client|list": "[TYPE:client-type(NORMAL|MASTER|REPLICA|PUBSUB)@5.0.0] [ID:client-id/integer@6.2.0...]",
    "client|no-evict": "enabled(ON|OFF)",
    "client|no-touch": "enabled(ON|OFF)",
    "client|reply": "action(ON|OFF|SKIP)",
    "client|setinfo": "attr(LIB-NAME:libname|LIB-VER:libver)",
    "client|setname": "connection-name",
    "echo": "message",
    "hello": "[arguments(protover/integer [AUTH:auth(username password)] [SETNAME:clientname])]",
    "ping": "[message]",
    "select": "index/integer",
    "command|docs": "[command-name...]",
    "command|getkeys": "command [arg...]",
    "command|getkeysandflags": "command [arg...]",
    "command|info": "[command-name...]",
    "command|list": "[FILTERBY:filterby(MODULE:module-name|ACLCAT:category|PATTERN:pattern/pattern)]",
    "config|get": "parameter...",
    "config|set": "data(parameter value)...",
    "flushall": "[flush-type(ASYNC@4.0.0|SYNC@6.2.0)]",
    "flushdb": "[flush-type(ASYNC@4.0.0|SYNC@6.2.0)]",
    "info": "[section...]",
    "shutdown": "[save-selector(NOSAVE|SAVE)] [NOW@7.0.0] [FORCE@7.0.0] [ABORT@7.0.0]",
    "swapdb": "index1/integer index2/integer",
    "latency|graph": "event",
    "latency|histogram": "[command...]",
    "latency|history": "event",
    "latency|reset": "[event...]",
    "memory|usage": "key#0 [SAMPLES:count/integer]",
    "module|load": "path [arg...]",
    "module|loadex": "path [CONFIG:configs(name value)&...] [ARGS:args...]",
    "module|unload": "name",
    "slowlog|get": "[count/integer]",
    "lolwut": "[VERSION:version/integer]",
    "failover": "[TO:target(host port/integer [FORCE])] [ABORT] [TIMEOUT:milliseconds/integer]",
    "psync": "replicationid offset/integer",
    "replicaof": "args(host-port(host port/integer)|no-one(NO ONE))",
    "slaveof": "args(host-port(host port/integer)|no-one(NO ONE))",
    "cluster|addslots": "slot/integer...",
    "cluster|addslotsrange": "range(start-slot/integer end-slot/integer)...",
    "cluster|count-failure-reports": "node-id",
    "cluster|countkeysinslot": "slot/integer",
    "cluster|delslots": "slot/integer...",
    "cluster|delslotsrange": "range(start-slot/integer end-slot/integer)...",
    "cluster|failover": "[options(FORCE|TAKEOVER)]",
    "cluster|forget": "node-id",
    "cluster|getkeysinslot": "slot/integer count/integer",
    "cluster|keyslot": "key",
    "cluster|meet": "ip port/integer [cluster-bus-port/integer@4.0.0]",
    "cluster|replicas": "node-id",
    "cluster|replicate": "node-id",
    "cluster|reset": "[reset-type(HARD|SOFT)]",
    "cluster|set-config-epoch": "config-epoch/integer",
    "cluster|setslot": (
        "slot/integer subcommand(IMPORTING:importing!node-id|MIGRATING:migrating!node-id|NODE:node!node-id|STABLE)"
    ),
    "cluster|slaves": "node-id",
}

WORD = r"[\w-]+"
HEAD = re.compile(rf"(?:({WORD}):)?({WORD})(?:=({WORD}))?(?:/({WORD}))?(?:#(\d+))?")
SHOWN = re.compile(r"!([\w:-]+)")
VERSIONS = re.compile(r"(?:@([\d.]+\d))?(?:~([\d.]+\d))?")


@dataclass(frozen=True)
class Argument:
    """An argument of a command, or several that belong together."""

    name: str
    type: str  # Redis's word: string, integer, key, pure-token, oneof, block, ...
    token: str = ""
    key_spec: int = -1
    shown: str = ""
    since: str = ""
    deprecated: str = ""
    optional: bool = False
    multiple: bool = False
    multiple_token: bool = False
    parts: tuple[Argument, ...] = ()

    @property
    def flags(self) -> list[str]:
        """Its flags, in Redis's words and order."""
        flags = {"optional": self.optional, "multiple": self.multiple, "multiple_token": self.multiple_token}
        return [name for name, is_set in flags.items() if is_set]


class Reader:
    """Reads the arguments off a line."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0

    def take(self, text: str) -> bool:
        """Step over a text if it comes next."""
        found = self.line.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def match(self, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """Step over what comes next; its groups, empty where they are missing."""
        match = pattern.match(self.line, self.at)
        if match is None:
            raise ValueError(f"{self.line!r} at {self.at}")
        self.at = match.end()
        return tuple(group or "" for group in match.groups())

    def arguments(self, end: str) -> tuple[tuple[Argument, ...], bool]:
        """Arguments up to an end, and whether they are alternatives."""
        found, choice = [self.argument()], False
        while not self.take(end) if end else self.at < len(self.line):
            choice = self.take("|")
            if not choice and not self.take(" "):
                raise ValueError(f"{self.line!r} at {self.at}")
            found.append(self.argument())
        return tuple(found), choice

    def argument(self) -> Argument:
        """One argument with whatever is behind it."""
        optional = self.take("[")
        token, name, named, kind, key = self.match(HEAD)
        parts: tuple[Argument, ...] = ()
        if self.take("("):
            parts, choice = self.arguments(")")
            kind = "oneof" if choice else "block"
        elif not kind and not token and not key and (named or name.isupper()):
            token, kind, name = named or name, "pure-token", name if named else name.lower()
        shown = self.match(SHOWN)[0] if self.line.startswith("!", self.at) else ""
        since, deprecated = self.match(VERSIONS)
        multiple_token = self.take("&")
        multiple = self.take("...")
        if optional and not self.take("]"):
            raise ValueError(f"{self.line!r} at {self.at}")
        return Argument(
            *(name, kind or ("key" if key else "string"), token, int(key or -1), shown, since, deprecated),
            *(optional, multiple, multiple_token, parts),
        )


@cache
def arguments_of(name: str) -> tuple[Argument, ...]:
    """What a command takes, by its full name."""
    line = ARGUMENTS.get(name, "")
    return Reader(line).arguments("")[0] if line else ()


def usage_of(argument: Argument) -> str:
    """An argument as a person reads it: "[EX seconds|PX milliseconds]"."""
    if argument.type == "pure-token":
        text = argument.token
    elif argument.parts:
        text = ("|" if argument.type == "oneof" else " ").join(map(usage_of, argument.parts))
    else:
        text = argument.shown or argument.name
    if argument.token and argument.type != "pure-token":
        text = f"{argument.token} {text}"
    if argument.multiple and argument.type == "oneof":
        text = f"<{text}>"
    if argument.multiple:
        again = text if argument.multiple_token or not argument.token else text.partition(" ")[2]
        text = f"{text} [{again} ...]"
    elif argument.type == "oneof" and not argument.optional and not argument.token:
        text = f"<{text}>"
    return f"[{text}]" if argument.optional else text


def usage(name: str) -> str:
    """A command with its arguments, by its full name."""
    return " ".join([name.replace("|", " ").upper(), *map(usage_of, arguments_of(name))])

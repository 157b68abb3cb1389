"""CLUSTER, READONLY and their kin. Without --cluster-mode emulated they are refused in Redis's words; with it the
server answers as a cluster of one node that has all slots, so that cluster clients connect.

Slots are computed when they are asked for: nothing here is stored by slot, and a command may touch keys of several.
"""

from __future__ import annotations

from binascii import crc_hqx
from collections.abc import Awaitable, Callable

from tellstone.control.context import Call, Context
from tellstone.control.encode import OK, Reply, Verbatim, text, word
from tellstone.control.help import help_reply
from tellstone.control.keys import NOT_INTEGER, integer
from tellstone.control.turns import Turns, all_keys, caller_in
from tellstone.errors import ResponseError

SLOTS = 16384
BUS_OFFSET = 10000
OFF = "ERR This instance has cluster support disabled"

Handler = Callable[[Context, Call], "Reply | Awaitable[Reply]"]


def key_slot(key: bytes) -> int:
    """The slot of a key: CRC-16 (XMODEM) of it, or of what stands in its first braces."""
    begin = key.find(b"{")
    end = key.find(b"}", begin + 1) if begin >= 0 else -1
    return crc_hqx(key[begin + 1 : end] if end > begin + 1 else key, 0) % SLOTS


def clustered(handler: Handler) -> Handler:
    """A handler that is for a cluster only."""

    def checked(context: Context, call: Call) -> Reply | Awaitable[Reply]:
        if not context.is_cluster:
            raise ResponseError(OFF)
        return handler(context, call)

    return checked


def node_id(context: Context) -> str:
    """The one node's id."""
    return context.run_id


def address(call: Call) -> tuple[str, int]:
    """Where the caller has found the node: what it will find again."""
    host, _, port = text(call.laddr).rpartition(":")
    return host.strip("[]"), int(port or 0)


def node(context: Context, call: Call) -> Reply:
    """The node as CLUSTER SLOTS describes it."""
    return [*address(call), node_id(context), {}]


# CLUSTER SLOTS
def cluster_slots(context: Context, call: Call) -> Reply:
    """Ranges of slots and who has them."""
    return [[0, SLOTS - 1, node(context, call)]]


# CLUSTER SHARDS
def cluster_shards(context: Context, call: Call) -> Reply:
    """Shards with their slots and nodes."""
    host, port = address(call)
    described: dict[str, Reply] = {
        "id": node_id(context),
        "port": port,
        "ip": host,
        "endpoint": host,
        "role": "master",
        "replication-offset": 0,
        "health": "online",
    }
    return [{"slots": [0, SLOTS - 1], "nodes": [described]}]


# CLUSTER NODES
def cluster_nodes(context: Context, call: Call) -> Reply:
    """A line for the one node."""
    host, port = address(call)
    at = f"{host}:{port}@{port + BUS_OFFSET}"
    return Verbatim(f"{node_id(context)} {at} myself,master - 0 0 0 connected 0-{SLOTS - 1}\n")


# CLUSTER INFO
def cluster_info(context: Context, call: Call) -> Reply:
    """The state, which is good."""
    del context, call
    fields = {
        "cluster_state": "ok",
        "cluster_slots_assigned": SLOTS,
        "cluster_slots_ok": SLOTS,
        "cluster_slots_pfail": 0,
        "cluster_slots_fail": 0,
        "cluster_known_nodes": 1,
        "cluster_size": 1,
        "cluster_current_epoch": 0,
        "cluster_my_epoch": 0,
        "cluster_stats_messages_sent": 0,
        "cluster_stats_messages_received": 0,
        "total_cluster_links_buffer_limit_exceeded": 0,
    }
    return Verbatim("".join(f"{name}:{value}\r\n" for name, value in fields.items()))


# CLUSTER MYID
# CLUSTER MYSHARDID
def cluster_myid(context: Context, call: Call) -> Reply:
    """The node's id, which is its shard's too."""
    del call
    return node_id(context)


# CLUSTER LINKS
def cluster_links(context: Context, call: Call) -> Reply:
    """To no other node."""
    del context, call
    return []


# CLUSTER KEYSLOT key
def cluster_keyslot(context: Context, call: Call) -> Reply:
    """The slot of a key."""
    del context
    return key_slot(call.args[2])


async def keys_in_slot(context: Context, slot: int) -> list[bytes]:
    """The keys of database 0 that belong to a slot."""
    found: list[bytes] = []
    async for keys in all_keys(caller_in(context, 0), Turns(context)):
        found += (key for key in keys if key_slot(key) == slot)
    return found


# CLUSTER COUNTKEYSINSLOT slot
async def cluster_countkeysinslot(context: Context, call: Call) -> Reply:
    """How many keys a slot has."""
    slot = integer(call.args[2], NOT_INTEGER)
    if not 0 <= slot < SLOTS:
        raise ResponseError("ERR Invalid slot")
    return len(await keys_in_slot(context, slot))


# CLUSTER GETKEYSINSLOT slot count
async def cluster_getkeysinslot(context: Context, call: Call) -> Reply:
    """Some keys of a slot."""
    slot, most = (integer(argument, NOT_INTEGER) for argument in call.args[2:4])
    if not 0 <= slot < SLOTS or most < 0:
        raise ResponseError("ERR Invalid slot or number of keys")
    return sorted(await keys_in_slot(context, slot))[:most]


def known_node(context: Context, call: Call) -> None:
    """Refuse an id that is not the node's."""
    if text(call.args[2]) != node_id(context):
        raise ResponseError(f"ERR Unknown node {word(call.args[2])}")


# CLUSTER REPLICAS node-id
# CLUSTER SLAVES node-id
def cluster_replicas(context: Context, call: Call) -> Reply:
    """A node's replicas: none."""
    known_node(context, call)
    return []


# CLUSTER COUNT-FAILURE-REPORTS node-id
def cluster_count_failure_reports(context: Context, call: Call) -> Reply:
    """Nobody reports."""
    known_node(context, call)
    return 0


# CLUSTER SAVECONFIG
def cluster_saveconfig(context: Context, call: Call) -> Reply:
    """There is nothing to save."""
    del context, call
    return OK


# CLUSTER ADDSLOTS slot [slot ...], and whatever else would change the cluster
def cluster_fixed(context: Context, call: Call) -> Reply:
    """Refused: the one node has all slots, and stays alone."""
    del context
    raise ResponseError(f"ERR CLUSTER {text(call.args[1]).upper()} is not supported: the cluster is one emulated node")


# CLUSTER HELP
def cluster_help(context: Context, call: Call) -> Reply:
    """What CLUSTER can do."""
    del context
    return help_reply(
        call,
        {
            "COUNTKEYSINSLOT <slot>": ["Return the number of keys in <slot>."],
            "GETKEYSINSLOT <slot> <count>": ["Return key names stored by current node in a slot."],
            "INFO": ["Return information about the cluster."],
            "KEYSLOT <key>": ["Return the hash slot for <key>."],
            "MYID": ["Return the node id."],
            "MYSHARDID": ["Return the node's shard id."],
            "NODES": [
                "Return cluster configuration seen by node. Output format:",
                "<id> <ip:port@bus-port[,hostname]> <flags> <master> <pings> <pongs> <epoch> <link> <slot> ...",
            ],
            "REPLICAS <node-id>": ["Return <node-id> replicas."],
            "SLOTS": [
                "Return information about slots range mappings. Each range is made of:",
                "start, end, master and replicas IP addresses, ports and ids",
            ],
            "SHARDS": ["Return information about slot range mappings and the nodes associated with them."],
            "LINKS": [
                "Return information about all network links between this node and its peers.",
                "Output format is an array where each array element is a map containing attributes of a link",
            ],
        },
    )


# READONLY
# READWRITE
# ASKING
def cluster_permission(context: Context, call: Call) -> Reply:
    """All slots are here and may be written: there is nothing to permit."""
    del context, call
    return OK


FIXED = (
    *("addslots", "addslotsrange", "bumpepoch", "delslots", "delslotsrange", "failover", "flushslots", "forget"),
    *("meet", "replicate", "reset", "set-config-epoch", "setslot"),
)
HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("asking", "readonly", "readwrite"), cluster_permission),
    **dict.fromkeys((f"cluster|{name}" for name in FIXED), cluster_fixed),
    "cluster|count-failure-reports": cluster_count_failure_reports,
    "cluster|countkeysinslot": cluster_countkeysinslot,
    "cluster|getkeysinslot": cluster_getkeysinslot,
    "cluster|help": cluster_help,
    "cluster|info": cluster_info,
    "cluster|keyslot": cluster_keyslot,
    "cluster|links": cluster_links,
    "cluster|myid": cluster_myid,
    "cluster|myshardid": cluster_myid,
    "cluster|nodes": cluster_nodes,
    "cluster|replicas": cluster_replicas,
    "cluster|saveconfig": cluster_saveconfig,
    "cluster|shards": cluster_shards,
    "cluster|slaves": cluster_replicas,
    "cluster|slots": cluster_slots,
}
CLUSTER_HANDLERS = {name: clustered(handler) for name, handler in HANDLERS.items()}

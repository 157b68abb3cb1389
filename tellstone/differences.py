"""Where an answer or a limit differs from Redis 7.2, and why. docs/differences.md is made of this table.

What is simply not there is no row: `COMMAND LIST` tells what there is. A row belongs here when a command or an option
that exists on both sides behaves differently.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One difference. `where` names commands and options as users write them."""

    where: tuple[str, ...]
    redis: str
    ours: str
    why: str


LIMITS = (
    Difference(
        ("client-output-buffer-limit",),
        "No limit for normal clients.",
        "`normal 1gb 256mb 60`.",
        "A client that never reads its replies must not take all memory.",
    ),
    Difference(
        ("--max-msg-size",),
        "An argument may have 512 MB, `proto-max-bulk-len`.",
        "An argument may have 16 MiB, `--max-msg-size`; strings may grow to 512 MB. `proto-max-bulk-len` lowers both.",
        "Memory that a client can make a server set aside by a few bytes of its own is bounded.",
    ),
    Difference(
        ("client-query-buffer-limit",),
        "1 GB of unparsed input, a setting.",
        "Twice the longest argument and 64 MB more, not a setting.",
        "It follows from the longest argument.",
    ),
    Difference(
        ("slowlog-max-len",),
        "Any length.",
        "Any length is accepted; the log keeps at most 1,048,576 calls.",
        "Its places are set aside in advance.",
    ),
    Difference(
        ("databases",),
        "A setting.",
        "Always 16.",
        "Unused databases cost next to nothing.",
    ),
)
CLIENTS = (
    Difference(
        ("CLIENT SETNAME", "HELLO SETNAME", "CLIENT SETINFO"),
        "A name is looked at up to its first NUL byte.",
        "A name with a NUL byte is refused, as one with a blank is.",
        "What stands behind the NUL would break the lines of `CLIENT LIST`.",
    ),
    Difference(
        ("DEBUG SLEEP",),
        "Stops the server.",
        "Stops the client that sent it.",
        "There is no one thread to stop.",
    ),
    Difference(
        ("CLIENT TRACKING", "CLIENT CACHING"),
        "The server tells clients which keys have changed.",
        "`CLIENT TRACKING ON` is refused.",
        "It is not there yet.",
    ),
    Difference(
        ("CLIENT LIST", "CLIENT INFO"),
        "The sizes of Redis's own buffers of a client.",
        "The sizes of ours: `qbuf` is the input that is held between turns, `rbs`, `rbp` and `obl` are the buffer that"
        " is lent for replies while there are any, `oll` and `omem` the large values in them.",
        "A client that waits owns no buffer.",
    ),
    Difference(
        ("CLIENT PAUSE",),
        "Keys that expire meanwhile are missing, but stay in memory and are counted.",
        "They are removed as ever.",
        "There is no replica that has to see the same.",
    ),
    Difference(
        ("MONITOR",),
        "One order of all commands. The passwords of `AUTH` and `HELLO` are left out of requests that are understood.",
        "The order of each client, and of clients that act on one another's replies; others may be shown in another"
        " order than their times. Passwords are left out of all requests. A monitor is shown its own control commands"
        " (`INFO`) before their replies. Commands that a program runs with `Engine.execute` are not shown.",
        "Threads serve clients side by side, and a mistyped password is one too.",
    ),
)
SERVER = (
    Difference(
        ("SAVE", "BGSAVE", "BGREWRITEAOF"),
        "Write an RDB file, or the append-only file again, whatever the configuration.",
        "Write a snapshot where `--enable-persistence` keeps the data on disk, and are refused elsewhere.",
        "A file that nobody has asked for, and that no start would read, is no safety.",
    ),
    Difference(
        ("save",),
        "Writes an RDB file when a point is reached, whatever else keeps the data.",
        "Takes a snapshot, beside those of `--snapshot-interval` and `--snapshot-bytes`, where `--enable-persistence`"
        ' keeps the data on disk; elsewhere only `""` can be set. There are no points by default.',
        "A file that no start would read is no safety, and the log keeps every change already.",
    ),
    Difference(
        ("INFO persistence",),
        "`rdb_changes_since_last_save` counts for most commands the keys that they change, and one for `RENAME`,"
        " `MOVE` and `SWAPDB`. It counts without persistence too.",
        "It counts what the log has been told: two for `RENAME` and `MOVE`, one for each shard in which `SWAPDB` meets"
        " keys; without persistence it is 0. `rdb_` fields tell of snapshots, `aof_` fields of the log.",
        "Nobody counts where nothing is saved.",
    ),
    Difference(
        ("COMMAND DOCS",),
        "Summaries, complexities and histories in Redis's words.",
        "The same facts in our words; names, types, tokens and versions are the same.",
        "The texts are ours.",
    ),
    Difference(
        ("CONFIG SET maxmemory-policy",),
        "Eight policies.",
        "`allkeys-s3fifo` too: S3-FIFO, which keeps more of what will be asked for and lets scans pass. `OBJECT FREQ`"
        " answers 0 to 3 under it, `OBJECT IDLETIME` an error.",
        "It is the one for caches.",
    ),
    Difference(
        ("CONFIG SET maxmemory",),
        "Eviction may take `maxmemory-eviction-tenacity` of a command's time; a command that comes meanwhile is let"
        " through, whatever is used. `maxmemory-samples` may be any number.",
        "A write looks at some thousands of keys at most, and is let through up to a sixteenth above the ceiling. More"
        " than 64 samples count as 64.",
        "The ceiling holds, and no write waits for long.",
    ),
    Difference(
        ("OBJECT FREQ",),
        "`GETSET` is two accesses.",
        "It is one.",
        "It is.",
    ),
    Difference(
        ("INFO",),
        "Fields of replication and scripts tell what goes on.",
        "They are there, with the values of a server that does none of it. `tellstone_version`, `shards`, `io_threads`,"
        " `arena_held_bytes`, `table_bytes` and `expired_keys_on_read` are additional, and the listener of the native"
        " protocol is named `native`.",
        "Exporters and clients read them.",
    ),
    Difference(
        ("INFO server", "INFO memory", "INFO stats"),
        "Tells of its compiler and its clocks, of durations of its event loop and of expiry, of reads, writes and reply"
        " buffers, and of objects freed late.",
        "Of these `eventloop_cycles` is there, the turns of all threads together; the others are left out.",
        "Nothing measures them.",
    ),
    Difference(
        ("INFO keyspace",),
        "`avg_ttl` is a running average of samples, 0 until some keys have been sampled.",
        "It is the average of all keys with a time to live, now.",
        "The sum is kept with the keys.",
    ),
    Difference(
        ("INFO commandstats", "LATENCY HISTOGRAM"),
        "Every call is timed by itself.",
        "Commands of constant time are timed in groups of up to eight, each call counting an equal share; buckets are a"
        " quarter of an octave wide. With `slowlog-log-slower-than` below 10000, or `latency-monitor-threshold` below"
        " 10, every call is timed by itself.",
        "Two readings of the clock would be a tenth of a `GET`.",
    ),
    Difference(
        ("LATENCY LATEST", "LATENCY HISTORY"),
        "Events of forks, disks, expiry and eviction too.",
        "The events `command` and `fast-command`.",
        "The others have no counterpart.",
    ),
    Difference(
        ("LATENCY DOCTOR", "MEMORY DOCTOR", "LOLWUT", "DEBUG HELP", "CLUSTER HELP"),
        "Redis's texts and drawings.",
        "Ours, about what there is.",
        "Advice about mechanisms that are not there would mislead.",
    ),
    Difference(
        ("MEMORY USAGE", "MEMORY STATS"),
        "Bytes of Redis's allocations.",
        "Bytes of the entry's place in its arena, of its block if it is large, and its share of the table.",
        "Memory is laid out differently.",
    ),
    Difference(
        ("MEMORY MALLOC-STATS",),
        "The statistics of jemalloc, where it is built with that.",
        "What Redis answers without jemalloc: `Stats not supported for the current allocator`.",
        "There is no general allocator to ask.",
    ),
    Difference(
        ("CONFIG GET", "CONFIG SET"),
        "Options of mechanisms that are not here may be changed.",
        "They are shown with the one value that is true, and may be set to that alone. Ours are there too, under the"
        " names of their flags.",
        "An option that changes nothing must not seem to.",
    ),
    Difference(
        ("CONFIG REWRITE",),
        "Writes Redis's own format.",
        "Writes the YAML file of `--config`, and touches only the values that have changed.",
        "It is our file.",
    ),
    Difference(
        ("tcp-keepalive",),
        "Up to 2147483647 seconds, of which systems take 32767 at most.",
        "Up to 32767 seconds.",
        "A longer time would be none at all.",
    ),
    Difference(
        ("OBJECT REFCOUNT",),
        "2147483647 for an integer below 10000, and 1 for one that `COPY` has made.",
        "2147483647 for every integer below 10000.",
        "Nothing is shared, so nothing is counted.",
    ),
    Difference(
        ("DEBUG OBJECT",),
        "Shows an address.",
        "The address is 0x0.",
        "Values move.",
    ),
    Difference(
        ("DEBUG RELOAD", "SHUTDOWN SAVE"),
        "Save and load the data.",
        "Refused.",
        "There is no persistence yet.",
    ),
    Difference(
        ("DEBUG", "MODULE LOAD"),
        "A refused call counts as rejected.",
        "It counts as a call that has failed.",
        "The option is looked at where the command is answered.",
    ),
    Difference(
        ("DEBUG JMAP", "DEBUG STRINGMATCH-LEN"),
        "Neither is there.",
        "`DEBUG STRINGMATCH-LEN text pattern` answers whether a pattern matches.",
        "It is there in later versions of Redis.",
    ),
)
TOPOLOGY = (
    Difference(
        ("REPLICAOF", "SLAVEOF", "SYNC", "PSYNC"),
        "Start replication.",
        "`REPLICAOF NO ONE` answers OK, all else is refused: `ERR replication is not supported by this server`.",
        "There is no replication.",
    ),
    Difference(
        ("--cluster-mode", "CLUSTER"),
        "A node of a cluster knows its slots; commands over several slots and SELECT are refused.",
        "With `--cluster-mode emulated` one node has all slots; several slots in a command and SELECT are allowed, and"
        " what would change the cluster is refused. Counting the keys of a slot walks over all keys.",
        "It is there so that cluster clients connect, not to be a cluster.",
    ),
)
CHAPTERS: dict[str, tuple[Difference, ...]] = {
    "Limits": LIMITS,
    "Clients": CLIENTS,
    "The server's own commands": SERVER,
    "Replication and cluster": TOPOLOGY,
}

"""LATENCY: the events of the latency monitor, and how long commands take."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tellstone.control.calls import CommandCalls, commands_called, distribution
from tellstone.control.commands import BY_NAME
from tellstone.control.context import Call, Context
from tellstone.control.encode import Pairs, Reply, Verbatim, keyword, text, word
from tellstone.control.help import help_reply
from tellstone.errors import ResponseError

HISTOGRAM_HELP = (
    "Return a cumulative distribution of latencies in the format of a histogram for the specified command names."
)
COLUMNS = 80  # of a graph
ROWS = 4
SHADES = "_o#"  # of a graph's cell: low, middle, high
ADVICE = {
    "command": "commands that are slow in themselves: SLOWLOG GET tells which",
    "fast-command": "commands that should be fast: the machine is busy, or memory is on disk",
}
Samples = Sequence[tuple[int, int]]  # (Unix seconds, milliseconds), oldest first


# LATENCY LATEST
def latency_latest(context: Context, call: Call) -> Reply:
    """For each event its name, the time and the milliseconds of its latest sample, and the worst."""
    del call
    return [[name, *samples[-1], worst] for name, (samples, worst) in context.records.events().items()]


# LATENCY HISTORY event
def latency_history(context: Context, call: Call) -> Reply:
    """The samples of an event."""
    samples, _ = context.records.events().get(word(call.args[2]), ([], 0))
    return [list(sample) for sample in samples]


# LATENCY RESET [event [event ...]]
def latency_reset(context: Context, call: Call) -> Reply:
    """Forget the samples of some events, or of all; how many had any."""
    names = [text(keyword(argument)) for argument in call.args[2:]] or list(context.records.events())
    return sum(context.records.clear_event(name) for name in names)


# LATENCY HISTOGRAM [command [command ...]]
def latency_histogram(context: Context, call: Call) -> Reply:
    """How the durations of commands are distributed; a container stands for its subcommands too."""
    wanted: list[str] = []
    for argument in call.args[2:]:
        row = BY_NAME.get(text(argument.lower()))
        wanted += [row["full_name"], *row["subcommands"]] if row else []
    called = {one.name: one for one in commands_called(context) if one.durations}
    return {name: histogram(called[name]) for name in (wanted if len(call.args) > 2 else called) if name in called}


def histogram(one: CommandCalls) -> Reply:
    """The calls of a command, and how many of them took at most so many microseconds."""
    buckets = distribution(one.durations)
    return {"calls": sum(calls for _, calls in one.durations), "histogram_usec": Pairs(buckets.items())}


def ago(seconds: int) -> str:
    """How long ago something was, in one unit."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def column(height: int, label: str) -> str:
    """A sample as the cells of its column, from above: the bar, an empty line, the label."""
    cells = []
    for row in reversed(range(ROWS)):
        shade = height - row * len(SHADES)
        cells.append(" " if shade < 0 else SHADES[shade] if shade < len(SHADES) else "|")
    return "".join(cells) + " " + label


def graph(samples: Samples) -> str:
    """Samples as columns, at most COLUMNS beside each other, with how long ago they were below."""
    low, high = (choose(ms for _, ms in samples) for choose in (min, max))
    steps, now = ROWS * len(SHADES), int(time.time())
    columns = [
        column(min((ms - low) * steps // (high - low or 1), steps - 1), ago(now - second)) for second, ms in samples
    ]
    parts = []
    for at in range(0, len(columns), COLUMNS):
        part = columns[at : at + COLUMNS]
        width = max(map(len, part))
        lines = zip(*(cells.ljust(width) for cells in part), strict=True)
        parts.append("".join("".join(line) + "\n" for line in lines))
    return "\n".join(parts)


# LATENCY GRAPH event
def latency_graph(context: Context, call: Call) -> Reply:
    """The samples of an event as a drawing."""
    name = word(call.args[2])
    if name not in (events := context.records.events()):
        raise ResponseError(f"ERR No samples available for event '{name}'")
    samples, worst = events[name]
    low, high = (choose(ms for _, ms in samples) for choose in (min, max))
    head = f"{name} - high {high} ms, low {low} ms (all time high {worst} ms)\n{'-' * COLUMNS}\n"
    return Verbatim(head + graph(samples))


# LATENCY DOCTOR
def latency_doctor(context: Context, call: Call) -> Reply:
    """What the events mean, in words."""
    del call
    events = context.records.events()
    if not events and not context.options.latency_monitor_threshold:
        return Verbatim(
            'The latency monitor is off. "CONFIG SET latency-monitor-threshold <milliseconds>" turns it on.\n'
        )
    if not events:
        return Verbatim("No latency event has been seen.\n")
    lines = []
    for number, (name, (samples, worst)) in enumerate(events.items(), 1):
        count = len(samples)
        average = sum(ms for _, ms in samples) / count
        deviation = sum(abs(ms - average) for _, ms in samples) / count
        period = (int(time.time()) - samples[0][0]) / count
        lines.append(
            f"{number}. {name}: {count} latency spikes (average {average:.0f}ms, mean deviation {deviation:.0f}ms,"
            f" period {period:.2f} sec). Worst all time event {worst}ms.\n"
        )
    advice = [f"- {name}: {ADVICE[name]}.\n" for name in events]
    return Verbatim("".join(["These latency events have been seen:\n\n", *lines, "\nWhere to look:\n\n", *advice]))


# LATENCY HELP
def latency_help(context: Context, call: Call) -> Reply:
    """What LATENCY can do."""
    del context
    return help_reply(
        call,
        {
            "DOCTOR": ["Return a human readable latency analysis report."],
            "GRAPH <event>": ["Return an ASCII latency graph for the <event> class."],
            "HISTORY <event>": ["Return time-latency samples for the <event> class."],
            "LATEST": ["Return the latest latency samples for all events."],
            "RESET [<event> ...]": [
                "Reset latency data of one or more <event> classes.",
                "(default: reset all data for all event classes)",
            ],
            "HISTOGRAM [COMMAND ...]": [
                HISTOGRAM_HELP,
                "If no commands are specified then all histograms are replied.",
            ],
        },
    )

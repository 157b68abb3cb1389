"""Commands that a server must be started for: DEBUG, and MODULE where there are modules."""

from __future__ import annotations

from tellstone.control.context import Call

LOOPBACK = (b"127.", b"[::1]:")


def is_local(call: Call) -> bool:
    """Whether a client is on this machine: it came by a loopback address or a unix socket, or it is this process."""
    return not call.addr or call.addr.startswith(LOOPBACK) or call.addr.endswith(b":0")


def protected(command: str, option: str) -> str:
    """The error for a command that an option forbids."""
    return (
        f'ERR {command} command not allowed. If the {option} option is set to "local", you can run it from a local'
        " connection, otherwise you need to set this option in the configuration file, and then restart the server."
    )

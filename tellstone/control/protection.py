"""Commands that a server must be started for: DEBUG, and MODULE where there are modules."""

from __future__ import annotations

import re

from tellstone.control.context import Call

# What is not of this form is the path of a unix socket, which may have been cut before its ":0".
TCP = re.compile(rb"(?:[0-9.]+|\[[^\]/]+\]):[1-9][0-9]*")
LOOPBACK = (b"127.", b"[::1]:")


def is_local(call: Call) -> bool:
    """Whether a client is on this machine: it came by a loopback address or a unix socket, or it is this process."""
    return call.addr.startswith(LOOPBACK) or not TCP.fullmatch(call.addr)


def protected(command: str, option: str) -> str:
    """The error for a command that an option forbids."""
    return (
        f'ERR {command} command not allowed. If the {option} option is set to "local", you can run it from a local'
        " connection, otherwise you need to set this option in the configuration file, and then restart the server."
    )

"""MODULE: there are none, and none can be loaded."""

from __future__ import annotations

from tellstone.control.context import Call, Context
from tellstone.control.encode import Reply
from tellstone.control.help import help_reply
from tellstone.control.protection import protected
from tellstone.errors import ResponseError


# MODULE LIST
def module_list(context: Context, call: Call) -> Reply:
    """None."""
    del context, call
    return []


# MODULE LOAD path [arg [arg ...]]
# MODULE LOADEX path [CONFIG name value ...] [ARGS arg ...]
# MODULE UNLOAD name
def module_refused(context: Context, call: Call) -> Reply:
    """As a Redis whose enable-module-command is `no`, which it cannot but be."""
    del context, call
    raise ResponseError(protected("MODULE", "enable-module-command"))


# MODULE HELP
def module_help(context: Context, call: Call) -> Reply:
    """What MODULE can do, and what it would do if there were modules."""
    del context
    return help_reply(
        call,
        {
            "LIST": ["Return a list of loaded modules."],
            "LOAD <path> [<arg> ...]": [
                "Load a module library from <path>, passing to it any optional arguments.",
            ],
            "LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]": [
                "Load a module library from <path>, while passing it module configurations and optional arguments.",
            ],
            "UNLOAD <name>": ["Unload a module."],
        },
    )

"""The Python half of the layout stamp: remembers the first module's stamp and refuses a module with another one.

Why there is a stamp at all, and how modules use it, is written in base/stamp.pxd.
"""

_first: tuple[str, int] | None = None


def check(name: str, layout: int) -> None:
    """Raise ImportError unless the module `name` was compiled from the same declarations as every module before it."""
    global _first
    if _first is None:
        _first = name, layout
    elif layout != _first[1]:
        raise ImportError(
            f"{name} (layout {layout:016x}) and {_first[0]} (layout {_first[1]:016x}) were compiled from different "
            "versions of the sources; build all modules again: pip install -e .",
            name=name,
        )

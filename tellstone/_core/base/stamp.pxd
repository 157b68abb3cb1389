# The layout stamp, so that a stale build fails loudly instead of answering wrongly.
#
# Modules share structs and inline functions through .pxd and .h files, and neither C nor Cython checks at run time that two modules
# were compiled from the same ones. So setup.py compiles a digest of all those files into every module, and at import each module
# compares its own with that of the first module of this process. Every .pyx of the core holds these two lines, below its other cimports:
#
#     from tellstone._core.base.stamp cimport check_layout
#     check_layout(__name__)
#
# In the debug build the same call joins the module to the process's counts of live objects (base/debug.h).
#
# ORDER: Cython resolves a module's cimported functions before its body runs, but calls none of them; the body of a cimported module,
# and with it that module's own check, has run by then. So no call crosses from one layout to another.

from tellstone._core.base.debug cimport DEBUG_BUILD, live_attach

cdef extern from "stamp.h" nogil:
    const unsigned long long TELLSTONE_LAYOUT


cdef inline int check_layout(object name) except -1:
    from tellstone._core.stamp import check
    check(name, TELLSTONE_LAYOUT)
    if DEBUG_BUILD:
        from tellstone._core import live
        live_attach(live.address())
    return 0

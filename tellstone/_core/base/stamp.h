/* The layout stamp: setup.py's digest over all .pxd and .h files of the core, given to every module on the compiler's command line. */
#ifndef TELLSTONE_STAMP_H
#define TELLSTONE_STAMP_H

#ifndef TELLSTONE_LAYOUT
#error "TELLSTONE_LAYOUT is not defined: build with setup.py"
#endif

#endif

"""The compiled core: engine, protocol, commands, sessions and the reactor.

Its folders are floors: which may import from which is written, and checked, in tests/rules/test_layering.py.
"""

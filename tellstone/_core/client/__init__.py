"""Beside the server's floors, above protocol: connections of a program to a server, which wait for their answers."""

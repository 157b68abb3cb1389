"""The servers, for every test of this directory."""

from servers import redis, server, server_survives

__all__ = ["redis", "server", "server_survives"]

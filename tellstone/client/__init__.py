"""Clients of the native protocol: Client waits, AsyncClient is for asyncio.

    from tellstone import Client

    with Client("127.0.0.1", 9988) as client:
        client.set("greeting", "hello", ttl=60)
        client.get("greeting")  # b"hello"
        client.execute("INCRBY", "visits", 3)  # any command, answered as Engine.execute answers it

What they share is compiled and knows no socket (tellstone._core.protocol.exchange): how requests are written, and which
answer belongs to which of them. docs/client.md tells when a request is sent again, and when it is not.
"""

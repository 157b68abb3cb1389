"""Payloads of RESTORE, made by hand: bodies of any kind, and the frame of version and checksum around them."""

from __future__ import annotations

VERSION = 10  # any Redis that we compare with takes it
JONES = 0x95AC9329AC4BC9B5


def _table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (JONES if crc & 1 else 0)
        table.append(crc)
    return table


TABLE = _table()


def crc64(data: bytes) -> int:
    """Redis's checksum, a byte at a time."""
    crc = 0
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc


def framed(body: bytes, version: int = VERSION) -> bytes:
    """A payload with this body and the right checksum."""
    data = body + version.to_bytes(2, "little")
    return data + crc64(data).to_bytes(8, "little")


def length(n: int) -> bytes:
    """A length in its shortest form."""
    if n < 1 << 6:
        return bytes([n])
    if n < 1 << 14:
        return (1 << 14 | n).to_bytes(2, "big")
    return b"\x80" + n.to_bytes(4, "big") if n < 1 << 32 else b"\x81" + n.to_bytes(8, "big")


def literal(text: bytes) -> bytes:
    """The body of a string as it is."""
    return b"\x00" + length(len(text)) + text


def integer(number: int, width: int) -> bytes:
    """The body of an integer of 1, 2 or 4 bytes."""
    return bytes([0, 0xC0 | width >> 1]) + number.to_bytes(width, "little", signed=True)


def packed(stored: bytes, size: int) -> bytes:
    """The body of a string of that size, of which LZF has made these bytes."""
    return b"\x00\xc3" + length(len(stored)) + length(size) + stored

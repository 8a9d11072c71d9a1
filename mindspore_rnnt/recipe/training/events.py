# SPDX-License-Identifier: Apache-2.0
"""Scalars of a training in an event file, which TensorBoard shows: `tensorboard --logdir <run>`.

The file is a sequence of records: length (uint64), its masked CRC-32C, a protocol buffer Event, its
masked CRC-32C. Only three kinds of field are needed, so they are written here, without a library.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path

POLYNOMIAL = 0x82F63B78  # of CRC-32C, bits reversed
MASK = 0xA282EAD8
VARINT, DOUBLE, BYTES, FLOAT = 0, 1, 2, 5  # protocol buffers' wire types


class EventLog:
    """Appends `tag: value` of a step; a new file for each start of a run, as TensorBoard wants."""

    def __init__(self, folder: str | Path):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns()}.{os.getpid()}"
        self._stream = (folder / name).open("wb")
        self._write(_bytes(3, b"brain.Event:2"))

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        """Values are visible to readers at once."""
        values = b"".join(
            _bytes(1, _bytes(1, tag.encode()) + _key(2, FLOAT) + struct.pack("<f", value))
            for tag, value in scalars.items()
        )
        self._write(_key(2, VARINT) + _varint(step) + _bytes(5, values))

    def close(self) -> None:
        self._stream.close()

    def _write(self, fields: bytes) -> None:
        event = _key(1, DOUBLE) + struct.pack("<d", time.time()) + fields
        length = struct.pack("<Q", len(event))
        self._stream.write(length + _masked(length) + event + _masked(event))
        self._stream.flush()


def crc32c(data: bytes) -> int:
    """CRC with Castagnoli's polynomial."""
    value = 0xFFFFFFFF
    for byte in data:
        value = TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def _table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


TABLE = _table()


def _masked(data: bytes) -> bytes:
    value = crc32c(data)
    rotated = ((value >> 15) | (value << 17)) & 0xFFFFFFFF
    return struct.pack("<I", (rotated + MASK) & 0xFFFFFFFF)


def _bytes(number: int, value: bytes) -> bytes:
    return _key(number, BYTES) + _varint(len(value)) + value


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])

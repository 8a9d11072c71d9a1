# SPDX-License-Identifier: Apache-2.0
"""The event file, read back by protocol buffers' own library."""

import struct

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from mindspore_rnnt.recipe.training.events import EventLog, crc32c

FIELD = descriptor_pb2.FieldDescriptorProto


def event_class():
    """tensorflow.Event as far as scalars go, as published in event.proto and summary.proto."""
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="t", syntax="proto3")

    def message(name, *fields):
        added = file.message_type.add(name=name)
        for number, label, kind, type_name, field in fields:
            added.field.add(
                name=field, number=number, label=label, type=kind, type_name=type_name or None
            )

    one, many = FIELD.LABEL_OPTIONAL, FIELD.LABEL_REPEATED
    message(
        "Value",
        (1, one, FIELD.TYPE_STRING, "", "tag"),
        (2, one, FIELD.TYPE_FLOAT, "", "simple_value"),
    )
    message("Summary", (1, many, FIELD.TYPE_MESSAGE, ".t.Value", "value"))
    message(
        "Event",
        (1, one, FIELD.TYPE_DOUBLE, "", "wall_time"),
        (2, one, FIELD.TYPE_INT64, "", "step"),
        (3, one, FIELD.TYPE_STRING, "", "file_version"),
        (5, one, FIELD.TYPE_MESSAGE, ".t.Summary", "summary"),
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Event"))


def unmasked(value):
    rotated = (value - 0xA282EAD8) & 0xFFFFFFFF
    return ((rotated >> 17) | (rotated << 15)) & 0xFFFFFFFF


def events(path):
    data, found, Event = path.read_bytes(), [], event_class()
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        head, tail = (struct.unpack("<I", data[at : at + 4])[0] for at in (8, 12 + length))
        body = data[12 : 12 + length]
        assert unmasked(head) == crc32c(data[:8]) and unmasked(tail) == crc32c(body)
        found.append(Event.FromString(body))
        data = data[16 + length :]
    return found


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),  # the check value of CRC-32C
        (bytes(32), 0x8A9136AA),  # RFC 3720, B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_the_published_checksums(data, expected):
    assert crc32c(data) == expected


def test_scalars_come_back_with_their_steps(tmp_path):
    log = EventLog(tmp_path / "run")
    log.add(1, {"loss": 12.5, "step (s)": 0.25})
    log.add(300, {"loss": float("inf")})
    (path,) = (tmp_path / "run").iterdir()
    assert "tfevents" in path.name, "TensorBoard looks for that"
    first, *rest = events(path)  # before the file is closed
    log.close()
    assert first.file_version == "brain.Event:2" and first.wall_time > 1.7e9
    values = [{value.tag: value.simple_value for value in item.summary.value} for item in rest]
    assert [item.step for item in rest] == [1, 300]
    assert values == [{"loss": 12.5, "step (s)": 0.25}, {"loss": float("inf")}]


def test_each_start_writes_a_file_of_its_own(tmp_path):
    for _ in range(2):
        EventLog(tmp_path).close()
    assert len(list(tmp_path.iterdir())) == 2

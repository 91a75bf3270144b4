"""FlatBuffers: tables of a schema, as dicts, to bytes and back.

A table is an int32, the distance back to its vtable, and then its fields; the vtable has its own
size, the table's size, and the place of each field in the table, 0 for one that is absent. A field
holds a number, or the distance to what it refers to: another table, or the length and the items of
a vector or of a string.

The reader trusts nothing: each place is checked before it is read, and no more tables and items are
read than there are bytes, so references in circles end.
"""

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

# The kind of a field: the format of a number (of `struct`), "text", "bytes", the name of a table,
# or a vector of one of these; None for a field that is neither written nor read.
Kind = Any


class Vector(NamedTuple):
    item: Kind


# For each table the kinds of its fields, in the order of their numbers.
Schema = Mapping[str, Mapping[str, Kind]]

_NUMBERS = {"?", "b", "h", "H", "I"}
_ABSENT = {**dict.fromkeys(_NUMBERS, 0), "bytes": b""}


def write(schema: Schema, table: str, fields: Mapping[str, Any]) -> bytearray:
    """A table as bytes.

    Arguments:
        schema: the schema.
        table: the name of the table.
        fields: its fields; those that are absent or None are left out.
    """
    writer = _Writer(schema)
    writer.refer(0, table, fields)
    return writer.data


class _Writer:
    """Whatever is referred to follows, so that all distances are positive."""

    def __init__(self, schema: Schema):
        self.schema = schema
        self.data = bytearray(4)

    def refer(self, at: int, kind: Kind, value: Any) -> None:
        """Append a value, and write the distance to it at a place."""
        if isinstance(kind, Vector):
            start = self._append_vector(kind.item, value)
        elif kind in ("text", "bytes"):
            content = value.encode() if kind == "text" else bytes(value)
            start = self._append(struct.pack("<I", len(content)) + content)
            self.data += b"\0"
        else:
            start = self._append_table(self.schema[kind], value)
        struct.pack_into("<I", self.data, at, start - at)

    def _append(self, content: bytes, before: int = 0) -> int:
        """Append bytes, such that those after the first `before` are aligned."""
        self.data += bytes(-(len(self.data) + before) % 4)
        self.data += content
        return len(self.data) - len(content)

    def _append_vector(self, item: Kind, values: Any) -> int:
        length = struct.pack("<I", len(values))
        if item in _NUMBERS:
            return self._append(length + struct.pack(f"<{len(values)}{item}", *values))
        start = self._append(length + bytes(4 * len(values)))
        for number, value in enumerate(values):
            self.refer(start + 4 + 4 * number, item, value)
        return start

    def _append_table(self, kinds: Mapping[str, Kind], fields: Mapping[str, Any]) -> int:
        present = [name for name in kinds if fields.get(name) is not None]
        formats = {name: _inline(kinds[name]) for name in present}
        places, size = {}, 4
        for name in sorted(present, key=lambda name: -struct.calcsize(formats[name])):
            places[name] = size
            size += struct.calcsize(formats[name])
        count = 2 + len(kinds)
        vtable = struct.pack(
            f"<{count}H", 2 * count, size, *[places.get(name, 0) for name in kinds]
        )
        vtable_at = self._append(vtable + bytes(size), before=len(vtable))
        start = vtable_at + len(vtable)
        struct.pack_into("<i", self.data, start, len(vtable))
        for name in present:
            at = start + places[name]
            if kinds[name] in _NUMBERS:
                struct.pack_into(f"<{kinds[name]}", self.data, at, fields[name])
            else:
                self.refer(at, kinds[name], fields[name])
        return start


def _inline(kind: Kind) -> str:
    """The format of a number; of a distance for other kinds."""
    return kind if kind in _NUMBERS else "I"


def read(schema: Schema, table: str, data: bytes) -> dict[str, Any]:
    """The fields of a table.

    Those that are absent are 0 for numbers, empty for vectors and bytes, and None for tables and
    text.

    Raises:
        ValueError: the bytes are not such a table.
    """
    try:
        return _Reader(schema, data).referred(0, table)
    except RecursionError:
        raise ValueError("tables are nested too deeply") from None


class _Reader:
    def __init__(self, schema: Schema, data: bytes):
        self.schema = schema
        self.data = data
        self.left = len(data)  # tables and items that may still be read

    def _number(self, kind: str, at: int) -> Any:
        if not 0 <= at <= len(self.data) - struct.calcsize(kind):
            raise ValueError(f"a reference to byte {at} of {len(self.data)}")
        return struct.unpack_from(f"<{kind}", self.data, at)[0]

    def referred(self, at: int, kind: Kind) -> Any:
        """The value that a distance leads to."""
        start = at + self._number("I", at)
        if isinstance(kind, str) and kind in self.schema:
            return self._table(self.schema[kind], start)
        item = kind.item if isinstance(kind, Vector) else "b"
        size = struct.calcsize(_inline(item))
        count, start = self._number("I", start), start + 4
        if count * size > len(self.data) - start:
            raise ValueError(f"a vector of {count} items at byte {start} of {len(self.data)}")
        if not isinstance(kind, Vector):
            content = self.data[start : start + count]
            return content.decode() if kind == "text" else content
        self._count(count)
        if item in _NUMBERS:
            return [*struct.unpack_from(f"<{count}{item}", self.data, start)]
        return [self.referred(start + 4 * number, item) for number in range(count)]

    def _table(self, kinds: Mapping[str, Kind], start: int) -> dict[str, Any]:
        self._count(1)
        vtable = start - self._number("i", start)
        size = self._number("H", vtable)
        fields = {}
        for number, (name, kind) in enumerate(kinds.items()):
            slot = 4 + 2 * number
            place = self._number("H", vtable + slot) if kind and slot < size else 0
            if not place:
                fields[name] = [] if isinstance(kind, Vector) else _ABSENT.get(kind)
            elif kind in _NUMBERS:
                fields[name] = self._number(kind, start + place)
            else:
                fields[name] = self.referred(start + place, kind)
        return fields

    def _count(self, more: int) -> None:
        self.left -= more
        if self.left < 0:
            raise ValueError("more references than bytes")

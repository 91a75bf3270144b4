"""Messages of protocol buffers: their fields by number, without the schema."""

from collections import defaultdict

# A field is a key, with its number and kind, and then a varint, 4 or 8 bytes, or a length and as
# many bytes: a text, a nested message, or a packed list of varints.

Fields = dict[int, list[int | bytes]]


def fields_of(message: bytes) -> Fields:
    """The fields of a message by number, in order; nested messages are bytes.

    >>> fields_of(bytes([0x08, 0x96, 0x01, 0x12, 0x02]) + b"hi")
    {1: [150], 2: [b'hi']}
    """
    found: defaultdict[int, list[int | bytes]] = defaultdict(list)
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            found[key >> 3].append(value)
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, at = _varint(message, at)
        found[key >> 3].append(message[at : at + size])
        at += size
    return dict(found)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The integer that begins at a byte, seven bits in each, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def number(fields: Fields, field: int) -> int:
    """A field that is an integer, 0 if it is absent."""
    (value,) = fields.get(field, [0])[-1:]
    assert isinstance(value, int)
    return value


def text(fields: Fields, field: int) -> str:
    """A field that is a text, empty if it is absent."""
    return _data(fields, field).decode()


def message(fields: Fields, field: int) -> Fields:
    """A field that is a message, empty if it is absent."""
    return fields_of(_data(fields, field))


def _data(fields: Fields, field: int) -> bytes:
    (value,) = fields.get(field, [b""])[-1:]
    assert isinstance(value, bytes)
    return value


def messages(fields: Fields, field: int) -> list[Fields]:
    """A repeated field of messages."""
    return [fields_of(each) for each in fields.get(field, []) if isinstance(each, bytes)]


def numbers(fields: Fields, field: int) -> list[int]:
    """A repeated field of integers, packed or not."""
    found: list[int] = []
    for value in fields.get(field, []):
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            each, at = _varint(value, at)
            found.append(each)
    return found

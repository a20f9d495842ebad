"""Parse Thrift's compact protocol, as far as Parquet footers and page headers use it."""

from __future__ import annotations

from typing import Any

from ...exceptions import FileFormatError

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
DEEPEST = 16  # nested structs; Parquet has six levels
DAMAGED = "it may be damaged; write it again, with one column per feature"
Fields = dict[int, Any]


class Compact:
    """Parse a struct at the start of some bytes; `place` is where it ends.

    >>> Compact(bytes([0x15, 0x02, 0x15, 0x10, 0x00])).struct()
    {1: 1, 2: 8}
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def struct(self, depth: int = 0) -> Fields:
        """Return the fields by their numbers."""
        if depth > DEEPEST:
            raise FileFormatError(f"a header is nested too deeply: {DAMAGED}")
        fields: Fields = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            # in a struct the kind is the value of a boolean; in a list a byte is
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind < DOUBLE:
            return self._integer()
        if kind == DOUBLE:
            return self._take(8)
        if kind == BINARY:
            return self._take(self._varint())
        if kind in (LIST, SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            if count > len(self._data) - self.place or depth > DEEPEST:
                raise FileFormatError(f"a list claims {count} items: {DAMAGED}")
            return [self._item(head & 15, depth) for _ in range(count)]
        return self._item(kind, depth)

    def _item(self, kind: int, depth: int) -> Any:
        if kind == STRUCT:
            return self.struct(depth + 1)
        if TRUE <= kind <= SET:
            return self._value(kind, depth + 1)
        raise FileFormatError(f"a header holds a value of the unknown kind {kind}: {DAMAGED}")

    def _take(self, count: int) -> bytes:
        start, self.place = self.place, self.place + count
        if self.place > len(self._data):
            raise FileFormatError(f"a header does not end: {DAMAGED}")
        return self._data[start : self.place]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise FileFormatError(f"a header has an endless number: {DAMAGED}")

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

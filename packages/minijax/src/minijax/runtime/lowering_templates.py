"""Templates: the text of an operation, with placeholders for the names and the location.

The text of most operations depends on types and parameters alone. So their lowering rule runs once
for these, and writes a template, which every equation like it fills in.
"""

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from minijax_stage2.shaped_array import Dialect, dialect
from minijax_stage3.lowering import Value

SEPARATOR = "\0"  # of the lines of a template
FIRST = 1_000_000_000  # placeholders are names with numbers that no program reaches
_PLACEHOLDER = re.compile(r"%(1\d{9})")

UNWRITTEN = object()
Templates = dict[Any, Any]


class TextTemplate:
    """Lines of text that stand for any equation of some types and parameters.

    The text is the concatenation of items of a list: the names of the operands, the location, new
    names, and the parts of the text that are always the same.

    Attributes:
        new_names: how many new names there are.
        parts: the parts that are always the same.
        chosen: function from that list to the items in the order of the text.
        outs: for each result the position of its name in that list, and a suffix: `#1`.
        simple: `(begin, operation, comma, types)`, if the text is one operation with one result,
            which takes the operands in order: `%2 = stablehlo.add %0, %1 : tensor<f32>`.
    """

    __slots__ = ("chosen", "new_names", "outs", "parts", "simple")

    def __init__(self, operands: int, lines: Sequence[str], outs: Sequence[Value], new_names: int):
        found = _PLACEHOLDER.split(SEPARATOR.join(lines))
        places = [int(number) - FIRST for number in found[1::2]]
        self.new_names = new_names
        self.parts = found[::2]
        chosen = [operands + 1 + new_names + number // 2 for number in range(len(found))]
        chosen[1::2] = places
        self.chosen = itemgetter(*chosen)
        named = [_PLACEHOLDER.split(x.name) for x in outs]
        self.outs = [(int(number) - FIRST, suffix) for _, number, suffix in named]
        self.simple: tuple[str, str, str, str] | None = None
        in_order = [operands + 1, *range(operands + 1)]
        if (places, self.outs, new_names) == (in_order, [(operands + 1, "")], 1):
            begin, operation, *between, _ = self.parts
            types = between.pop() if between else ""
            comma = between[0] if between else ""
            if between == [comma] * len(between):
                self.simple = begin, operation, comma, types


_known: dict[tuple[Any, str, Dialect], Templates] = {}
_MOST = 16_384


def known_templates(platform: str, indent: str) -> Templates:
    """The templates for a platform, at an indentation, under the current types of numbers.

    None stands for operations that have none: their text depends on the module, too.
    """
    templates = _known.setdefault((platform, indent, dialect()), {})
    if len(templates) > _MOST:
        templates.clear()
    return templates

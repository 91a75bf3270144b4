"""Reductions of segments: elements that belong together, as an array of numbers says."""

from minijax.numpy.segments import segment_max, segment_min, segment_prod, segment_sum

__all__ = [
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
]

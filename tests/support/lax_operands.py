"""Operands that tests of `lax` share, and programs of its functions."""

import jax.numpy as jnp
import numpy as np
from libraries import refused

F32 = np.float32
x = np.array([[3.0, -1.0, 2.0, -1.0], [0.5, 4.0, -2.5, 0.0], [1.0, 2.0, 2.0, 7.0]], F32)
v = np.array([2.5, -np.inf, np.nan, -0.0, 0.0, 1.0, np.inf, -3.0], F32)
i = np.array([[3, -1, 2, 7], [0, 4, -5, 0]], np.int32)
u = np.array([0, 1, 7, 128, 200, 255], np.uint8)
b = np.array([[True, False, True], [True, True, True]])
z = np.array([1 + 2j, 1 - 2j, -3j, 0.5, 1 + 1j], np.complex64)
h = x.astype(jnp.bfloat16)


def with_lax(programs):
    """Functions of a library's `lax` as programs."""
    return [lambda n, lib, program=program: program(lib.lax) for program in programs]


def refusing(programs):
    return map(refused, with_lax(programs))

"""Arrays in files, bytes and text: numpy's functions for Arrays."""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np

from minijax.errors.argument_errors import checking_arguments
from minijax.runtime.array import Array, array
from minijax.runtime.conversion import is_value
from minijax.runtime.dtypes import DTypeLike, bfloat16
from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import dialect

save = np.save
savez = np.savez
array_repr = np.array_repr
array_str = np.array_str
get_printoptions = np.get_printoptions
printoptions = np.printoptions
set_printoptions = np.set_printoptions


@evaluated_by_library
def load(file: IO[bytes] | str | os.PathLike[Any], *args: Any, **kwargs: Any) -> Array:
    """Load a file written by `save` or `savez`: an Array, or numpy's archive. Arguments as numpy's.

    >>> import io
    >>> file = io.BytesIO()
    >>> jnp.save(file, jnp.arange(3))
    >>> _ = file.seek(0)
    >>> jnp.load(file)
    Array([0, 1, 2], dtype=int32)
    """
    found = np.load(file, *args, **kwargs)
    if isinstance(found, np.ndarray) and found.dtype == "V2":  # as numpy's files have bfloat16
        found = found.view(bfloat16)
    return array(found) if isinstance(found, np.ndarray) and is_value(found) else found


@evaluated_by_library
def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """An Array of the numbers in a buffer of bytes. The arguments are numpy's.

    >>> jnp.frombuffer(bytes([1, 2, 3]), dtype=jnp.uint8)
    Array([1, 2, 3], dtype=uint8)
    """
    return array(np.frombuffer(buffer, dtype, count, offset).copy())


@evaluated_by_library
def fromfile(*args: Any, **kwargs: Any) -> Array:
    """Not supported, since it cannot be traced; use `asarray(numpy.fromfile(...))`.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     np.arange(3, dtype=np.int32).tofile(file)
    ...     _ = file.seek(0)
    ...     jnp.asarray(np.fromfile(file, dtype=np.int32))
    Array([0, 1, 2], dtype=int32)
    """
    raise NotImplementedError(
        "fromfile: what a file holds is not known to a program; read it by numpy.fromfile, and "
        "make an Array of it by asarray"
    )


@evaluated_by_library
def fromiter(*args: Any, **kwargs: Any) -> Array:
    """Not supported, as in JAX; use `asarray(numpy.fromiter(...))`.

    >>> jnp.asarray(np.fromiter((i * i for i in range(4)), dtype=np.int32))
    Array([0, 1, 4, 9], dtype=int32)
    """
    raise NotImplementedError(
        "fromiter: an iterator can be read only once, a traced program runs often; read it by "
        "numpy.fromiter, and make an Array of it by asarray"
    )


@evaluated_by_library
@checking_arguments
def fromstring(
    string: str | bytes, dtype: DTypeLike = float, count: int = -1, *, sep: str
) -> Array:
    """An Array of the numbers written in a string. The arguments are numpy's.

    Raises:
        ValueError: the string contains anything but numbers, or fewer than `count`.

    >>> jnp.fromstring("1 2 3", sep=" ")
    Array([1., 2., 3.], dtype=float32)
    """
    dtype = dialect().dtype_of("fromstring", float if dtype is None else dtype)
    try:
        return array(np.fromstring(string, dtype, count, sep=sep))
    except ValueError as error:
        raise ValueError(f"fromstring: cannot read {shown(string)}: {error}") from None


__all__ = [
    "array_repr", "array_str", "frombuffer", "fromfile", "fromiter", "fromstring",
    "get_printoptions", "load", "printoptions", "save", "savez", "set_printoptions",
]  # fmt: skip

"""The base class of sparse arrays."""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

from minijax.lax.composites import composite
from minijax.pytrees.tree_util import register_pytree_node_class


class SparseEfficiencyError(ValueError):
    """A layout was requested that stores much more than the array has."""


class SparseEfficiencyWarning(UserWarning):
    """An operation stores or computes much more than the array has."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """An operation does not run on cuSPARSE; here none does."""


def sparse_primitive(
    name: str,
    function: Callable[..., Any],
    linear: Sequence[bool] | None = (),
    several: bool = False,
) -> Any:
    """The primitive of a function of the arrays that sparse arrays consist of.

    Arguments:
        name: its name.
        function: takes the arrays, and the parameters by keyword.
        linear: for each operand whether the result is linear in it, or None: see `composite`.
        several: whether there are several results.
    """
    primitive: Any = composite(name, function, linear)
    primitive.multiple_results = several
    return primitive


class JAXSparse:
    """The base class of sparse arrays, which are pytrees of the arrays that they consist of.

    Operations that a class lacks raise `NotImplementedError`.
    """

    buffers: ClassVar[tuple[str, ...]] = ()  # the names of the arrays
    settings: ClassVar[tuple[str, ...]] = ()  # of other arguments than the shape
    shape: tuple[int, ...]
    data: Any
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # so that numpy leaves operators to this class

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        register_pytree_node_class(cls)

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """The number of elements that are stored."""
        return int(self.data.shape[0])

    @property
    def size(self) -> int:
        """The number of elements, with those that are not stored."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def T(self) -> Any:
        """The transpose."""
        return self.transpose()

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The arrays, and everything else."""
        arrays = tuple(getattr(self, name) for name in self.buffers)
        return arrays, (self.shape, *(getattr(self, name) for name in self.settings))

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> Any:
        """The inverse of `tree_flatten`; the children may be any objects."""
        new = object.__new__(cls)
        for name, value in zip(("shape", *cls.settings), aux_data, strict=True):
            setattr(new, name, value)
        for name, child in zip(cls.buffers, children, strict=True):
            setattr(new, name, child)
        try:
            # Within vmap the arrays lack batch axes, and what leaves it has more.
            missing = new._axes_of_arrays() - len(new.shape)
            lead = tuple(new.data.shape[: max(missing, 0)])
        except (AttributeError, TypeError, IndexError):  # these are not arrays
            return new
        new.shape = (*lead, *new.shape[max(-missing, 0) :])
        return new

    def _axes_of_arrays(self) -> int:
        """The number of axes of an array that consists of these arrays."""
        return len(self.shape)

    def block_until_ready(self) -> Any:
        """Wait until the arrays are computed; returns `self`."""
        for name in self.buffers:
            getattr(self, name).block_until_ready()
        return self

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            sizes = ", ".join(map(str, self.shape))
            extra = "".join(
                f", {key}={getattr(self, key)}"
                for key in ("n_batch", "n_dense")
                if getattr(self, key, 0)
            )
            return f"{name}({self.dtype}[{sizes}], nse={self.nse}{extra})"
        except (AttributeError, TypeError):  # within a transformation the arrays may be anything
            return f"{name}(<invalid>)"

    def _lacks(self, operation: str) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__}: there is no {operation}; todense() makes an array, which has"
        )

    def todense(self) -> Any:
        """The array with its zeros."""
        self._lacks("todense")

    def transpose(self, axes: Any = None) -> Any:
        """The array with its axes permuted, or reversed."""
        self._lacks("transpose")

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """The sum along axes."""
        self._lacks("sum")

    def __matmul__(self, other: Any) -> Any:
        self._lacks("@")

    def __rmatmul__(self, other: Any) -> Any:
        self._lacks("@")

    def __mul__(self, other: Any) -> Any:
        self._lacks("*")

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        self._lacks("+")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        self._lacks("-")

    __rsub__ = __sub__

    def __neg__(self) -> Any:
        self._lacks("negative")

    def __pos__(self) -> Any:
        return self

    def __getitem__(self, item: Any) -> Any:
        self._lacks("element")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{type(self).__name__}: an array without axes has no len()")
        return self.shape[0]


__all__ = [
    "CuSparseEfficiencyWarning", "JAXSparse", "SparseEfficiencyError", "SparseEfficiencyWarning",
]  # fmt: skip

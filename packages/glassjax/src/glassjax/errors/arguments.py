"""Errors that name the bad argument."""

import functools
import inspect
import numbers
import operator
import os
import typing
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import NoneType, TracebackType, UnionType
from typing import Any

import ml_dtypes
import numpy as np

import glassjax_stage1
import glassjax_stage2
import glassjax_stage3
import glassjax_stage4
import glassjax_watch
from glassjax_stage2 import Tracer
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import has_type
from glassjax_stage2.source import is_machinery, name_of

_PYTHON_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    StopIteration,
    SystemError,
    TypeError,
    UnboundLocalError,
    ValueError,
)
_NO_ARRAY = "expected an array or a number"  # the message of `typeof`, without a name
_VERDICT = "_is_internal"
_RAISE = "RAISE_VARARGS"
_PACKAGES = (glassjax_stage1, glassjax_stage2, glassjax_stage3, glassjax_stage4, glassjax_watch)
_OURS = (
    *(
        os.path.dirname(os.path.abspath(str(file))) + os.sep
        for file in (os.path.dirname(__file__), *(package.__file__ for package in _PACKAGES))
    ),
    "_glassjax_calls.pyx",  # the file name of the extension module's frames
)
_STANDARD_LIBRARY = os.path.dirname(os.__file__)
_INSTALLED = tuple([f"{_STANDARD_LIBRARY}{os.sep}{name}-packages" for name in ("site", "dist")])
_LIBRARIES = tuple(os.path.dirname(str(package.__file__)) + os.sep for package in (np, ml_dtypes))


def blame_argument(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], error: Exception
) -> None:
    """Raise an error that names an argument, if one explains an internal error.

    Arguments:
        function: a public function of this library.
        args, kwargs: its arguments.
        error: its exception. One that our code or the user's raised on purpose needs no
            explanation.

    Raises:
        TypeError: an argument does not fit its annotation, or is not an array if the annotation
            is unspecific.
        ValueError: an argument contains itself, is too large, or has rows of different lengths.
    """
    is_of_array = isinstance(error, TypeError) and str(error).startswith(_NO_ARRAY)
    is_of_python = isinstance(error, _PYTHON_ERRORS) and is_internal(error)
    hints = _hints(function) if is_of_array or is_of_python else None
    if hints is None:
        return
    name = name_of(function)
    given = _given(function, args, kwargs)
    for parameter, value in given:
        if contains_itself(value):
            found = type(value).__name__
            raise ValueError(f"{name}: {parameter} is a {found} that contains itself") from None
    if isinstance(error, RecursionError):  # an argument's attribute may recurse endlessly
        return
    if is_of_array:
        for place, value in _trees_for_arrays(given, hints):
            _, named, remedy = str(error).partition(f" of type {type(value).__name__}. ")
            if named:  # taken apart by then: `error` shows tracers in place of its items
                found = f"{_NO_ARRAY}, found {shown(value)}{named}{remedy}"
                raise TypeError(f"{name}: {place}: {found}") from None
        for parameter, value in given:
            if not _may_be_array(value):
                raise TypeError(f"{name}: {parameter}: {error}") from None
        return
    for parameter, value in given:
        require_fit(name, parameter, value, hints.get(parameter, Any))
    for parameter, value in given:
        if isinstance(value, int) and abs(value) >= 2**31:
            raise ValueError(f"{name}: {parameter} is out of range: {_found(value)}") from None
    for parameter, value in given:
        if hints.get(parameter, Any) is Any and _has_no_numbers(value):
            raise TypeError(f"{name}: {parameter}: expected numbers, found {value.aval}") from None
    for parameter, value in given:
        if hints.get(parameter, Any) is Any and not _may_be_array(value):
            message = f"{name}: {parameter} cannot be {_found(value)}"
            if isinstance(error, ValueError):  # numpy's, of lists whose rows differ in length
                raise ValueError(f"{message}: {error}") from None
            raise TypeError(message) from None


Function = typing.TypeVar("Function", bound=Callable[..., Any])


def checking_arguments(function: Function) -> Function:
    """Decorator: check a function's arguments against its annotations at each call.

    For functions that return functions, where bad arguments would cause errors later.

    Raises:
        TypeError: an argument does not fit its annotation.
    """

    @functools.wraps(function)
    def checking(*args: Any, **kwargs: Any) -> Any:
        hints = hints_of(function)
        for parameter, value in _given(function, args, kwargs):
            require_fit(name_of(function), parameter, value, hints.get(parameter, Any))
        return function(*args, **kwargs)

    return checking  # type: ignore[return-value]


def require_fit(name: str, parameter: str, value: Any, hint: Any) -> None:
    """Raise TypeError unless the argument of a function fits the annotation of its parameter."""
    if not fits(value, hint):
        raise TypeError(
            f"{name}: {parameter} must be {_describe_hint(hint)}, found {_found(value)}"
        ) from None


def require_flags(caller: str, **flags: Any) -> None:
    """Raise TypeError unless each argument has a truth value."""
    for name, flag in flags.items():
        if flag is not True and flag is not False:
            try:
                bool(flag)
            except Exception:
                raise TypeError(f"{caller}: {name} must be a bool, found {_found(flag)}") from None


def require_call(who: str, fun: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Raise TypeError, in the name of `who`, if `fun` does not take these arguments."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):  # a function without a signature
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{who}: {error}; it takes {signature}") from None


def require_hashable(caller: str, **names: Any) -> None:
    """Raise TypeError unless each argument is hashable, as names and cache keys must be."""
    for name, value in names.items():
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"{caller}: {name} must be hashable, such as a string, found {_found(value)}"
            ) from None


@functools.cache
def is_ours(filename: str) -> bool:
    """Return True if a file is one of this library or of a stage."""
    return filename.startswith(_OURS)


def is_internal(error: Exception) -> bool:
    """Return True if neither a `raise` of ours nor the user's code raised the error.

    The first decorated function that it leaves decides; later ones no longer see all frames.
    """
    if _VERDICT not in vars(error):
        vars(error)[_VERDICT] = _has_inner_frames(error)
    verdict: bool = vars(error)[_VERDICT]
    return verdict


def _has_inner_frames(error: Exception) -> bool:
    ours: TracebackType | None = None
    caller: TracebackType | None = None  # the caller of `ours`, if it is also ours
    entry = error.__traceback__
    while entry is not None:
        filename = entry.tb_frame.f_code.co_filename
        if is_ours(filename):
            ours, caller = entry, ours
        elif not _is_of_libraries(filename):
            ours = caller = None
        entry = entry.tb_next
    if ours is None:
        return False
    is_of_value = ours.tb_frame.f_code.co_name == "__getattr__"  # a missing attribute
    if is_of_value and caller is not None and type(error) is AttributeError:
        return True
    return ours.tb_next is not None or not _raises(ours)


def _is_of_libraries(filename: str) -> bool:
    """Return True for libraries that we call, but not for one that calls us."""
    if filename.startswith((*_LIBRARIES, "<")):
        return True
    return filename.startswith(_STANDARD_LIBRARY) and not filename.startswith(_INSTALLED)


def _raises(entry: TracebackType) -> bool:
    import dis

    code = entry.tb_frame.f_code.co_code
    return dis.opname[code[entry.tb_lasti]] == _RAISE


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function of this library."""
    return _hints(function) or {}


@lru_cache(maxsize=256)
def _hints(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The annotations of a function of this library; None for a user function."""
    plain = inspect.unwrap(function)
    if not isinstance(plain, Callable) or not is_machinery[_file_of(plain)]:  # type: ignore[arg-type]
        return None
    try:
        hints = typing.get_type_hints(plain)
    except (NameError, TypeError):
        return {}
    return {name: Any if _is_open(hint) else hint for name, hint in hints.items()}


def _is_open(hint: Any) -> bool:
    """Return True for `ArrayLike` and `DTypeLike`, which only type checkers use.

    The functions themselves check arrays and dtypes.
    """
    members = (typing.get_origin(each) or each for each in typing.get_args(hint))
    return any(member in (np.ndarray, np.dtype) for member in members)


def _file_of(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else code.co_filename


def _given(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """Names and values of the arguments of a call, without the instance of a method."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return []
    kinds = given.signature.parameters
    return [
        (name, value)
        for name, value in given.arguments.items()
        if kinds[name].kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        and value is not kinds[name].default
        and name != "self"  # not passed by users
    ]


def _trees_for_arrays(
    given: list[tuple[str, Any]], hints: Mapping[str, Any]
) -> Iterator[tuple[str, list[Any] | tuple[Any, ...] | dict[Any, Any]]]:
    """Lists and dicts in place of arrays: arguments, and items of those that are sequences."""
    for parameter, value in given:
        if not isinstance(value, list | tuple | dict):
            continue
        if hints.get(parameter, Any) is Any:
            yield parameter, value
            continue
        for i, item in enumerate(value):
            if isinstance(item, list | tuple | dict):
                yield f"{parameter}[{i}]", item


def contains_itself(value: Any) -> bool:
    """Return True if a list, tuple, dict or set contains itself."""
    above: list[int] = []
    left: list[tuple[Any, bool]] = [(value, False)]
    while left:
        x, is_done = left.pop()
        if is_done:
            above.pop()
        elif isinstance(x, list | tuple | dict):
            if id(x) in above:
                return True
            above.append(id(x))
            left.append((x, True))
            left += [(item, False) for item in (x.values() if isinstance(x, dict) else x)]
    return False


# Matching values and annotations


def fits(value: Any, hint: Any) -> bool:
    """Return True if a value may fit the annotation of its parameter.

    >>> fits(3, int | None), fits("abc", int | None), fits([1, "b"], int | Sequence[int])
    (True, False, False)
    """
    origin = typing.get_origin(hint)
    if origin in (typing.Union, UnionType):
        return any(fits(value, each) for each in typing.get_args(hint))
    if hint is None or hint is NoneType:
        return value is None
    if isinstance(hint, typing.TypeVar):
        return hint.__bound__ is None or fits(value, hint.__bound__)
    if hint in _FITS:
        return _FITS[hint](value)
    if origin is typing.Literal:
        choices = typing.get_args(hint)
        return any(value is x or (type(value) is type(x) and value == x) for x in choices)
    if origin is tuple or origin in (Sequence, list, Iterable):
        return _fits_sequence(value, origin, typing.get_args(hint))
    if origin is Callable:
        return callable(value)
    cls = origin or hint
    if cls is Hashable or not isinstance(cls, type) or cls is object:
        return True
    try:
        return isinstance(value, cls)
    except TypeError:  # a protocol without runtime checks
        return True


@lru_cache(maxsize=256)
def is_of_numbers(hint: Any) -> bool:
    """Return True if an annotation admits only numbers, sequences of them, or None.

    >>> is_of_numbers(int | None), is_of_numbers(int | tuple[int, ...]), is_of_numbers(int | str)
    (True, True, False)
    """
    if typing.get_origin(hint) in (typing.Union, UnionType, Sequence, tuple):
        return all(is_of_numbers(each) for each in typing.get_args(hint) if each is not Ellipsis)
    return hint in (bool, int, float, complex, NoneType)


def _is_int(value: Any) -> bool:
    if isinstance(value, Tracer):
        return value.aval.dtype.kind in "iub" and not value.aval.shape
    if isinstance(value, int | numbers.Integral):  # a symbolic size, too
        return True
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _is_number(value: Any) -> bool:
    if isinstance(value, str | bytes):
        return False
    if has_type(value):
        return not getattr(value, "shape", ())
    return _is_int(value)


_FITS: dict[Any, Callable[[Any], bool]] = {
    int: _is_int,
    float: lambda value: _is_number(value) and not isinstance(value, complex | np.complexfloating),
    complex: _is_number,
    bool: lambda value: isinstance(value, bool | np.bool_) or _is_int(value),
    Callable: callable,
    Any: lambda value: True,
}


def _fits_sequence(value: Any, origin: Any, items: tuple[Any, ...]) -> bool:
    if isinstance(value, str | bytes) and str not in items:
        return False
    if origin is Iterable:
        return isinstance(value, Iterable)
    if hasattr(value, "aval") or isinstance(value, np.ndarray):
        shape = getattr(value, "shape", ())
        of = items[0] if items else Any
        if isinstance(of, type) and of not in (*_FITS, Hashable, object):
            return bool(shape) and isinstance(value, of)  # its rows are arrays, too
        return bool(shape) and (int not in items or _dtype_kind(value) in "iu")
    if not isinstance(value, Sequence):
        return False
    if isinstance(value, range):  # may be too long to scan
        return not items or fits(0, items[0])
    if origin is tuple and Ellipsis not in items:
        pairs = zip(value, items, strict=False)
        return len(value) == len(items) and all(fits(x, each) for x, each in pairs)
    return all(fits(x, items[0]) for x in value) if items else True


def _dtype_kind(value: Any) -> str:
    kind: str = value.dtype.kind
    return kind


def _has_no_numbers(value: Any) -> bool:
    """Return True if a value is an array of keys."""
    aval = getattr(value, "aval", None)
    return aval is not None and aval.dtype.names is not None


def _may_be_array(value: Any) -> bool:
    if isinstance(value, list | tuple):
        if any(not _may_be_array(item) for item in value):
            return False
        try:
            np.shape(value)
        except Exception:  # lists of different lengths
            return False
        return True
    if hasattr(value, "to_aval"):  # a type without values
        return False
    return has_type(value) and getattr(value, "dtype", np.dtype(bool)).kind not in "OSUMm"


# Descriptions of annotations

_DESCRIBED: dict[Any, str] = {
    int: "an int",
    float: "a number",
    complex: "a number",
    bool: "a bool",
    str: "a string",
    Any: "an array",
    NoneType: "None",
}


def _describe_hint(hint: Any) -> str:
    """Describe the values that an annotation admits."""
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType):
        words = list(dict.fromkeys(map(_describe_hint, items)))
        return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
    if isinstance(hint, typing.TypeVar):
        return _describe_hint(hint.__bound__)
    if origin is type:
        return "a class"
    if hint in _DESCRIBED:
        return _DESCRIBED[hint]
    if hint is Callable or origin is Callable:
        return "a function"
    if origin is typing.Literal:
        return " or ".join(map(repr, items))
    if origin is tuple and Ellipsis not in items:
        return f"a tuple of {len(items)}: {', '.join(map(_describe_hint, items))}"
    if origin in (tuple, Sequence, list, Iterable):
        if not items or items[0] is Any:
            return "a sequence"
        item_phrase = _describe_hint(items[0])
        plural = item_phrase.removeprefix("an ").removeprefix("a ") + "s"
        return f"a sequence of {plural if ' ' not in plural else 'items, each ' + item_phrase}"
    return f"a {getattr(origin or hint, '__name__', str(hint))}"


def _found(value: Any) -> str:
    return f"{shown(value)} of type {type(value).__name__}"

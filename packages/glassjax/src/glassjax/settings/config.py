"""Settings: their types, and how they are changed."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ContextDecorator, ExitStack, contextmanager
from contextvars import ContextVar
from threading import get_ident
from types import TracebackType, UnionType
from typing import Any, ParamSpec, TypeVar

from glassjax.settings.names import later
from glassjax_stage2.errors import shown

T = TypeVar("T")


@contextmanager
def set_in_context(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a context variable for the block of a `with`."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


# Context managers that can be entered more than once, one block after another or nested.


P = ParamSpec("P")


class ReusableContext(AbstractContextManager[None], ContextDecorator):
    """A context manager and decorator that opens a new block each time."""

    def __init__(self, open_block: Callable[[], AbstractContextManager[None]]):
        self._open_block = open_block
        self._open: list[tuple[int, AbstractContextManager[None]]] = []  # with thread ids

    def __enter__(self) -> None:
        block = self._open_block()
        block.__enter__()
        self._open.append((get_ident(), block))

    def __exit__(
        self,
        cls: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        here = get_ident()
        # This thread's block; another thread's only if it ends a generator.
        last = max(self._open, key=lambda entry: (entry[0] == here, self._open.index(entry)))
        self._open.remove(last)
        return last[1].__exit__(cls, error, traceback)


def reusable_context(function: Callable[P, Iterator[None]]) -> Callable[P, ReusableContext]:
    """Decorator: as `contextlib.contextmanager`, for context managers that can be entered again.

    >>> @reusable_context
    ... def greeting():
    ...     print("hello")
    ...     yield
    >>> greet = greeting()
    >>> with greet, greet:
    ...     pass
    hello
    hello
    """
    open_block = contextmanager(function)

    @functools.wraps(function)
    def reusable(*args: P.args, **kwargs: P.kwargs) -> ReusableContext:
        return ReusableContext(functools.partial(open_block, *args, **kwargs))

    return reusable


# The settings of the library, each declared once with its type, default and meaning.
#
# A setting is read from the environment when glassjax is imported: `compilation_cache_dir` from
# `GLASSJAX_COMPILATION_CACHE_DIR`. Later, `config.update` changes it for the whole process, and
# `config.override` for a block in one thread.


_ENVIRONMENT_PREFIX = "GLASSJAX_"
_JAX_PREFIX = "jax_"  # JAX's names of settings begin with it, and are accepted, too

# JAX's settings without it.
_NOT_PREFIXED = {
    "check_vma", "eager_constant_folding", "jax2tf_associative_scan_reductions",
    "jax2tf_default_native_serialization", "mock_num_gpu_processes",
}  # fmt: skip

_NOT_OVERRIDDEN: Any = object()


class Option:
    """One setting, whose `value` is the current one in this thread."""

    def __init__(self, name: str, kind: Any, default: Any, doc: str):
        self.name = name
        self.kind = _kind_of(kind)
        self.default = default
        self.doc = doc
        self._everywhere = default
        self._here: ContextVar[Any] = ContextVar(name, default=_NOT_OVERRIDDEN)
        variable = _ENVIRONMENT_PREFIX + name.upper()
        if text := os.environ.get(variable):
            self._everywhere = self._parse(f"the environment variable {variable}", text)

    @property
    def value(self) -> Any:
        here = self._here.get()
        return self._everywhere if here is _NOT_OVERRIDDEN else here

    def update(self, value: Any) -> None:
        """Change the setting for the whole process, except in blocks that override it."""
        self._everywhere = self._checked(value)

    @contextmanager
    def override(self, value: Any) -> Iterator[None]:
        """Change the setting for the block of a `with`, in this thread only."""
        value = self._checked(value)
        outside = self._here.get()
        self._here.set(value)
        try:
            yield
        finally:  # without a token, which is invalid if a generator ends in another context
            self._here.set(outside)

    def for_block(self, value: Any) -> ReusableContext:
        """As `override`: a context manager that can be entered again, or a decorator."""
        return ReusableContext(functools.partial(self.override, value))

    def _checked(self, value: Any) -> Any:
        if not self.kind.accepts(value):
            raise self.kind.error(
                f"config: {self.name} is {self.kind.described}, "
                f"found {shown(value)} of type {type(value).__name__}"
            )
        return os.fspath(value) if isinstance(value, os.PathLike) else value

    def update_from_text(self, where: str, text: str) -> None:
        """As `update`, with a text from `where`, which errors name."""
        self.update(self._parse(where, text))

    def _parse(self, where: str, text: str) -> Any:
        try:
            return self.kind.parse(text)
        except ValueError:
            raise ValueError(
                f"{where} has to be {self.kind.described}, found {shown(text)}"
            ) from None


class Switch(Option):
    """A boolean setting that adds work to calls.

    As long as no such setting has ever been on, `Switch.used` is False, and calls check only that.
    """

    used = False

    def __init__(self, *args: Any):
        super().__init__(*args)
        Switch.used |= self.value

    def _checked(self, value: Any) -> Any:
        value = super()._checked(value)
        Switch.used |= bool(value)
        return value


class _Kind:
    """A type of setting: how to recognize, parse and describe its values."""

    def __init__(
        self,
        described: str,
        accepts: Callable[[Any], bool],
        parse: Callable[[str], Any],
        error: type[Exception] = TypeError,
    ) -> None:
        self.described = described
        self.accepts = accepts
        self.parse = parse
        self.error = error  # raised for an invalid value


def _parse_bool(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on", "t", "y"):
        return True
    if text.lower() in ("0", "false", "no", "off", "f", "n"):
        return False
    raise ValueError(text)


def _is_int(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


_KINDS: dict[type, _Kind] = {
    object: _Kind("any value", lambda x: True, str),
    bool: _Kind("true or false", lambda x: isinstance(x, bool), _parse_bool),
    int: _Kind("an int", _is_int, int),
    float: _Kind("a float", lambda x: _is_int(x) or isinstance(x, float), float),
    str: _Kind("a string or None", lambda x: x is None or isinstance(x, str), str),
    os.PathLike: _Kind(
        "a path or None", lambda x: x is None or isinstance(x, str | os.PathLike), str
    ),
}


def _kind_of(kind: type | UnionType | tuple[str | None, ...]) -> _Kind:
    """Return the kind for a type, for a type or None, or for a choice of values."""
    if isinstance(kind, UnionType):
        (single,) = {*kind.__args__} - {type(None)}
        base = _KINDS[single]
        described = base.described.removesuffix(" or None") + " or None"
        return _Kind(described, lambda x: x is None or base.accepts(x), base.parse)
    if isinstance(kind, type):
        return _KINDS[kind]

    def parse(text: str) -> str:
        if text not in kind:
            raise ValueError(text)
        return text

    described = "one of " + ", ".join(map(repr, kind))

    def accepts(x: Any) -> bool:
        return any(type(x) is type(each) and x == each for each in kind)

    return _Kind(described, accepts, parse, ValueError)


# Settings that can be named but are not listed.
_unlisted_options = later("glassjax.settings.options", "options_of_jax")


class Config:
    """All settings. `config.name` is the value of one, and `print(config)` lists them."""

    def __init__(self) -> None:
        self.__dict__["options"] = {}

    def declare(
        self,
        name: str,
        kind: type | tuple[str | None, ...],
        default: Any,
        doc: str,
        option_class: type[Option] = Option,
    ) -> Option:
        """Add a setting.

        Arguments:
            name: its name, without prefix.
            kind: the type of its values: bool, int, float, or os.PathLike; or the allowed strings.
            default: its value unless the environment sets one.
            doc: its description, in a sentence or two.
            option_class: the class that holds its value.

        Raises:
            ValueError: the environment variable of this name cannot be read as `kind`.
        """
        option = self.options[name] = option_class(name, kind, default, doc)
        return option

    def option(self, name: str) -> Option:
        """The setting of this name, which may begin with `jax_`.

        Raises:
            AttributeError: there is none.
        """
        options: dict[str, Option] = self.options
        option = options.get(name.removeprefix(_JAX_PREFIX))
        if option is None:
            option = _unlisted_options().get(name.removeprefix(_JAX_PREFIX))
        if option is None:
            import difflib

            near = difflib.get_close_matches(name.removeprefix(_JAX_PREFIX), options, 1, 0.5)
            remedy = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(options)}"
            raise AttributeError(f"config has no setting {name!r}; {remedy}")
        return option

    def update(self, name: str, value: Any) -> None:
        """Change a setting for the whole process.

        Arguments:
            name: the name of the setting, with or without the prefix `jax_`.
            value: its new value.

        Raises:
            AttributeError: there is no such setting.
            TypeError: the value is not of its type.
        """
        self.option(name).update(value)

    @reusable_context
    def override(self, **values: Any) -> Iterator[None]:
        """Change settings for the block of a `with`, in this thread only.

        Raises:
            AttributeError: there is no setting of such a name.
            TypeError: a value is not of the type of its setting.

        >>> with config.override(enable_compilation_cache=False):
        ...     print(config.enable_compilation_cache)
        False
        """
        with ExitStack() as stack:
            for name, value in values.items():
                stack.enter_context(self.option(name).override(value))
            yield

    @property
    def values(self) -> dict[str, Any]:
        """The values of all settings, by JAX's names.

        >>> config.values["jax_log_compiles"]
        False
        """
        unlisted = _unlisted_options()
        return {
            name if name in _NOT_PREFIXED else _JAX_PREFIX + name: option.value
            for name, option in {**unlisted, **self.options}.items()
        }

    def read(self, name: str) -> Any:
        """The value of a setting, the same as the attribute of this name.

        Raises:
            AttributeError: there is no such setting.
        """
        return self.option(name).value

    def update_from_jax_environment(self) -> None:
        """Take settings from JAX's environment variables, where glassjax's own are not set.

        Raises:
            NotImplementedError: a variable requests an unsupported value.
            ValueError: a variable cannot be read.
        """
        unlisted = _unlisted_options()
        for name, option in {**unlisted, **self.options}.items():
            variable = _JAX_PREFIX.upper() + name.upper()
            text = os.environ.get(variable)
            if text and not os.environ.get(_ENVIRONMENT_PREFIX + name.upper()):
                option.update_from_text(f"the environment variable {variable}", text)

    def parse_flags_with_absl(self) -> None:
        """Take settings from the program's command line, as JAX does with absl.

        `--jax_disable_jit` and `--nojax_disable_jit` switch a setting on and off; others get their
        value from `--jax_platforms=cpu`, or from the next argument. Other arguments are left alone.
        If the program has imported absl, its flags may be read afterwards.

        Raises:
            ValueError: a value cannot be read.
        """
        arguments = iter(sys.argv[1:])
        for argument in arguments:
            if argument == "--":
                break
            flag, separator, text = argument.removeprefix("-").removeprefix("-").partition("=")
            is_negated = flag.startswith("no" + _JAX_PREFIX)
            name = flag.removeprefix("no" if is_negated else "")
            option = self.options.get(name.removeprefix(_JAX_PREFIX))
            if not (argument.startswith("-") and name.startswith(_JAX_PREFIX) and option):
                continue
            if not separator and option.kind is _KINDS[bool]:
                text = "false" if is_negated else "true"
            elif not separator:
                text = next(arguments, "")
            option.update_from_text(f"the flag --{flag}", text)
        flags = getattr(sys.modules.get("absl.flags"), "FLAGS", None)
        if flags is not None and not flags.is_parsed():
            flags(sys.argv[:1])

    @property
    def x64_enabled(self) -> bool:
        """The setting `enable_x64`, under JAX's other name for it."""
        return bool(self.option("enable_x64").value)

    def __getattr__(self, name: str) -> Any:
        return self.option(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"config: settings are changed by config.update({name!r}, {value!r})")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.options]

    def __repr__(self) -> str:
        return "\n".join(f"{name} = {option.value!r}" for name, option in self.options.items())


config = Config()


def _user_cache_directory() -> str | None:
    """Return the operating system's cache directory for this user, or None."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        directory = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        directory = os.path.join(home, "Library", "Caches")
    else:
        directory = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(directory):  # unset, or relative, which the XDG specification forbids
            directory = os.path.join(home, ".cache")
    return os.path.join(directory, "glassjax") if os.path.isabs(directory) else None


config.declare(
    "enable_compilation_cache",
    bool,
    True,
    "Whether programs that XLA has compiled are kept on disk for the next process.",
)
config.declare(
    "compilation_cache_dir",
    os.PathLike,
    _user_cache_directory(),
    "Where they are kept: a directory that only you may write to. None: nowhere.",
)
config.declare(
    "compilation_cache_max_size",
    int,
    2**30,
    "How many bytes they may take; those not used for longest are deleted. -1: any number.",
)
config.declare(
    "persistent_cache_min_compile_time_secs",
    float,
    0.0,
    "Programs that took less time than this to compile are not kept.",
)
config.declare(
    "persistent_cache_min_entry_size_bytes",
    int,
    0,
    "Compiled programs of fewer bytes than this are not kept.",
)
config.declare(
    "log_compiles",
    bool,
    False,
    "Whether to log, as warnings, what is traced and compiled, and how long that took.",
    Switch,
)
config.declare(
    "explain_cache_misses",
    bool,
    False,
    "Whether to log why a jitted function is traced anew.",
)

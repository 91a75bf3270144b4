"""Source maps of a function, for some passes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from minijax.experimental.source_mapper.common import Pass, SourceMapDump
from minijax_stage2.arguments import require_function


def generate_sourcemaps(
    f: Callable[..., Any], passes: Sequence[Pass], **pass_kwargs: Any
) -> Callable[..., Sequence[SourceMapDump]]:
    """Return a function that maps the program of a call of `f` to its source.

    Arguments:
        f: function of arrays and pytrees of arrays.
        passes: the stages of the compilation; `filter_passes` finds them by name.
        pass_kwargs: keyword arguments of the passes.

    Returns:
        A function of the arguments of `f`. It returns a list with a `SourceMapDump` for each pass.

    Raises:
        TypeError: `f` is not a function.

    >>> from minijax.experimental import source_mapper
    >>> passes = source_mapper.filter_passes("jaxpr")
    >>> (dump,) = source_mapper.generate_sourcemaps(jnp.sin, passes)(1.0)
    >>> print(dump.generated_code)
    { lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
    """
    require_function("generate_sourcemaps", f)

    def dumps(*args: Any, **kwargs: Any) -> list[SourceMapDump]:
        compiled: dict[Any, Any] = {}
        found = []
        with TemporaryDirectory() as directory:
            for each in passes:
                if each.compile_fn not in compiled:
                    place = Path(directory, each.name.replace(":", "__"))
                    place.mkdir()
                    compiled[each.compile_fn] = each.compile_fn(
                        str(place), f, args, kwargs, **pass_kwargs
                    )
                found.append(each.generate_dump(compiled[each.compile_fn], **pass_kwargs))
        return found

    return dumps


__all__ = ["generate_sourcemaps"]

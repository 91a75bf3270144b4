"""Tables of small cases: one item for all, which lists the failures."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def is_skip(error: BaseException) -> bool:
    return isinstance(error, pytest.skip.Exception)


def for_each(
    names: str | Sequence[str],
    rows: Iterable[Any],
    ids: Iterable[str] | None = None,
    *,
    skips: Callable[[BaseException], bool] = is_skip,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Calls a test with each row, as `pytest.mark.parametrize` does, but as one item.

    All rows are tried; the item says which of them fail, and how. Fixtures are made once.
    """
    names = [names] if isinstance(names, str) else list(names)
    values = [(row,) if len(names) == 1 else tuple(row) for row in rows]
    labels = [", ".join(map(shown, row)) for row in values] if ids is None else list(ids)
    assert values

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def of_all(*args: Any, **fixtures: Any) -> None:
            failures, skipped = [], []
            for label, row in zip(labels, values, strict=True):
                try:
                    test(*args, **fixtures, **dict(zip(names, row, strict=True)))
                except (Exception, pytest.skip.Exception, pytest.fail.Exception) as error:
                    (skipped if skips(error) else failures).append((label, error))
            if failures:
                said = "\n".join(f"{label}: {_said(error, test)}" for label, error in failures)
                count = f"{len(failures)} of {len(values)} fail"
                raise AssertionError(f"{count}\n{said}") from failures[0][1]
            if len(skipped) == len(values):
                pytest.skip(str(skipped[0][1]))

        signature = inspect.signature(test)
        kept = [p for name, p in signature.parameters.items() if name not in names]
        of_all.__signature__ = signature.replace(parameters=kept)  # where fixtures are looked up
        return of_all

    return decorate


def shown(value: Any) -> str:
    code = getattr(value, "__code__", None)
    if code is not None and value.__name__ == "<lambda>":
        return f"line {code.co_firstlineno}"
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."


def _said(error: BaseException, test: Callable[..., None]) -> str:
    file = inspect.getfile(inspect.unwrap(test))
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    text = "".join(traceback.format_exception_only(error)).strip()
    return f"line {lines[-1]}: {text}" if lines else text

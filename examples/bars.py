"""A bar that shows how far a training is; none, where rich is not installed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(total: int, is_shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Shows a bar of `total` parts, and gives a function that adds one with a text beside it."""
    try:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ModuleNotFoundError:
        is_shown = False
    if not is_shown:
        yield lambda text: None
        return
    columns = TextColumn("training"), BarColumn(), TextColumn("{task.fields[text]}")
    with Progress(*columns, TimeRemainingColumn()) as progress:
        task = progress.add_task("", total=total, text="")
        yield lambda text: progress.update(task, advance=1, text=text)

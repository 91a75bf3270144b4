"""Arguments of jaxlib's client for the CPU, chosen before it is opened."""

from typing import Any

from minijax_stage3.backend import has_client

_options: dict[str, Any] = {"asynchronous": False}


def client_options() -> dict[str, Any]:
    """The arguments of the client."""
    return dict(_options)


def set_client_option(name: str, value: Any) -> None:
    """Choose an argument of the client, such as `asynchronous`.

    Raises:
        RuntimeError: a client with another value exists already.
    """
    if has_client() and _options.get(name) != value:
        raise RuntimeError(
            f"computing has begun, with {name}={_options.get(name)!r}; choose before the first "
            "array"
        )
    _options[name] = value

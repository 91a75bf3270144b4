"""What happens once for each program: tracing, lowering, compiling."""

from collections.abc import Callable
from typing import Any

from benchmarks import programs
from benchmarks.measure import Row, Rows, interleaved, row_of, timed
from benchmarks.programs import Library

PAIRS = 9


def cases() -> dict[str, Callable[[Library], tuple[Callable[..., Any], tuple[Any, ...]]]]:
    """Name of the program -> the function to stage, and its arguments."""

    def chain(lib: Library) -> Any:
        return programs.chain(lib, 1_000), (lib.numpy.asarray(1.0),)

    def mlp(lib: Library) -> Any:
        step = programs.step_of(lib, programs.mlp_loss(lib))
        return step, (programs.mlp_params(lib), programs.mlp_batch(lib))

    def transformer(lib: Library) -> Any:
        loss = programs.transformer_loss(lib, heads=4, length=16)
        params = programs.transformer_params(lib, layers=12, width=32, vocabulary=64)
        return programs.step_of(lib, loss), (params, programs.transformer_batch(lib, 4, 16, 64))

    return {"1,000 operations": chain, "MLP step": mlp, "12-layer transformer step": transformer}


def loss_cases() -> dict[str, Callable[[Library], Any]]:
    """The same without the gradient: what tracing costs by itself."""

    def mlp(lib: Library) -> Any:
        return programs.mlp_loss(lib), (programs.mlp_params(lib), programs.mlp_batch(lib))

    def transformer(lib: Library) -> Any:
        loss = programs.transformer_loss(lib, heads=4, length=16)
        params = programs.transformer_params(lib, layers=12, width=32, vocabulary=64)
        return loss, (params, programs.transformer_batch(lib, 4, 16, 64))

    return {"MLP loss": mlp, "12-layer transformer loss": transformer}


def fresh(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same function as another object, so that no cache knows it."""
    return lambda *args: f(*args)


def run() -> Rows:
    ours, peer = programs.libraries()
    for name, case in {**loss_cases(), **cases()}.items():
        (f, args), (g, peer_args) = case(ours), case(peer)
        yield interleaved(
            f"trace {name}",
            lambda f=f, args=args: ours.core.make_jaxpr(fresh(f))(*args),
            lambda g=g, args=peer_args: peer.core.make_jaxpr(fresh(g))(*args),
            budget=0.15,
            pairs=PAIRS,
        )
    chain_of_1000 = cases()["1,000 operations"]
    (f, args), (g, peer_args) = chain_of_1000(ours), chain_of_1000(peer)
    yield interleaved(
        "trace grad of 1,000 operations",
        lambda: ours.core.make_jaxpr(ours.core.grad(fresh(f)))(*args),
        lambda: peer.core.make_jaxpr(peer.core.grad(fresh(g)))(*peer_args),
        budget=0.15,
        pairs=PAIRS,
    )
    for name, case in cases().items():
        (f, args), (g, peer_args) = case(ours), case(peer)
        yield interleaved(
            f"trace and lower {name}",
            lambda f=f, args=args: ours.core.jit(fresh(f)).lower(*args),
            lambda g=g, args=peer_args: peer.core.jit(fresh(g)).lower(*args),
            budget=0.15,
            pairs=PAIRS,
        )
    for name, case in cases().items():
        yield compilation(name, case(ours), case(peer), ours, peer)


def compilation(name: str, a: Any, b: Any, ours: Library, peer: Library) -> Row:
    pairs = []
    for _ in range(3):
        lowered = [lib.core.jit(fresh(f)).lower(*args) for lib, (f, args) in ((ours, a), (peer, b))]
        pairs.append(tuple(timed(each.compile) for each in lowered))
    return row_of(f"compile {name}", pairs, note="XLA's own time")

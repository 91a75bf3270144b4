"""Fourier transforms, signals and images."""

from fuzzing.search.arguments import Arguments, call
from fuzzing.search.recipes.forms import Recipe, recipes


def fft(a: Arguments, name: str) -> str:
    kinds = "fi" if ".rfft" in name or ".ihfft" in name else "fic"
    x = a.array(kinds, ndims=(1, 3), smallest=1)
    options = a.some(n=lambda: a.number(1, 5), axis=lambda: a.axis(x))
    return call(name, x, **options, **a.some(norm=lambda: repr(a.one_of("ortho", "forward"))))


def fftn(a: Arguments, name: str) -> str:
    kinds = "fi" if ".rfft" in name else "fic"
    x = a.array(kinds, ndims=(2, 3), smallest=1)
    return call(name, x, **a.some(norm=lambda: repr(a.one_of("ortho", "forward"))))


def fftshift(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, a.axes(x))


def fftfreq(a: Arguments, name: str) -> str:
    return call(name, a.number(1, 5), **a.some(d="0.5", dtype=lambda: a.quoted_dtype("f")))


def dct(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 2), smallest=1)
    return call(name, x, **a.some(norm="'ortho'"))


def convolve(ndims: tuple[int, int]) -> Recipe:
    def recipe(a: Arguments, name: str) -> str:
        x = a.array("fi", ndims=ndims, smallest=1, domain="tame")
        y = a.array("fi", shape=tuple(a.number(1, 3) for _ in x.shape), domain="tame")
        return call(name, x, y, **a.some(mode=lambda: repr(a.one_of("same", "valid"))))

    return recipe


def detrend(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 2), smallest=2)
    return call(name, x, **a.some(type="'constant'"))


def spectra(a: Arguments, name: str) -> str:
    x = a.input("float32", (16,), "tame")
    return call(name, x, *([x] if name.endswith("csd") else []), nperseg=8)


def istft(a: Arguments, name: str) -> str:
    x = a.input("complex64", (5, a.number(3, 4)), "tame")
    return call(name, x, nperseg=8, **a.some(noverlap="6", boundary="False"))


def scale_and_translate(a: Arguments, name: str) -> str:
    x = a.array("f", ndims=(1, 2), smallest=1, domain="tame")
    n = x.ndim
    scale, translation = a.input("float32", (n,), "positive"), a.input("float32", (n,), "unit")
    shape = tuple(a.number(1, 4) for _ in range(n))
    method = repr(a.one_of("linear", "cubic", "lanczos3"))
    dims = tuple(range(n))
    return call(name, x, shape, dims, scale, translation, method, **a.some(antialias="False"))


def map_coordinates(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 2), smallest=1)
    shape = a.shape(0, 1)
    places = ", ".join(str(a.array("f", shape=shape)) for _ in x.shape)
    mode = repr(a.one_of("constant", "nearest", "wrap", "mirror", "reflect"))
    return call(name, x, f"[{places}]", a.number(0, 1), mode=mode)


def trapezoid(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 3))
    return call(name, x, axis=a.some_axis(x), **a.some(dx="0.5"))


def resize(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 3), smallest=1)
    method = repr(a.one_of("nearest", "linear", "cubic", "lanczos3"))
    options = a.some(antialias="False")
    return call(name, x, tuple(a.number(1, 4) for _ in x.shape), method, **options)


RECIPES: dict[str, Recipe] = {
    **recipes(
        "jnp.fft",
        [
            (fft, "fft ifft rfft irfft hfft ihfft"),
            (fftn, "fft2 ifft2 fftn ifftn rfft2 rfftn irfft2 irfftn"),
            (fftshift, "fftshift ifftshift"),
            (fftfreq, "fftfreq rfftfreq"),
        ],
    ),
    **recipes(
        "jax.scipy.signal",
        [
            (convolve((1, 2)), "convolve correlate fftconvolve"),
            (convolve((2, 2)), "convolve2d correlate2d"),
            (detrend, "detrend"),
            (spectra, "stft welch csd"),
            (istft, "istft"),
        ],
    ),
    **recipes("jax.scipy.fft", [(dct, "dct idct dctn idctn")]),
    **recipes("jax.scipy.integrate", [(trapezoid, "trapezoid")]),
    **recipes("jax.scipy.ndimage", [(map_coordinates, "map_coordinates")]),
    **recipes("jax.image", [(resize, "resize"), (scale_and_translate, "scale_and_translate")]),
}

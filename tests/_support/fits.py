"""Small data and quick fits that several test files start from."""

import inspect
import warnings

import numpy as np
import pytest

from mkclust import METHODS, MKCDNM
from mkclust.base import KernelClusterer
from mkclust.exceptions import MkclustWarning

SOLVERS = ("authors", "paper", "exact")
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def table(n=40, f=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, f))


def two(n=6):
    """Two views of n samples, by name."""
    rng = np.random.default_rng(0)
    return {"shape": rng.random((n, 2)), "colour": rng.random((n, 3))}


def fit(views, k=3, **settings):
    return MKCDNM(k, random_state=0, **{"n_init": 2} | settings).fit(views)


def fit_digits(views, solver, **settings):
    return fit(views, 10, solver=solver, **settings)


def estimator(name, k, **settings):
    """An estimator with seed 0; a method without kernels takes the settings that it has."""
    if not issubclass(METHODS[name], KernelClusterer):
        given = settings | {"precomputed": settings.get("kernel") == "precomputed"}
        known = inspect.signature(METHODS[name]).parameters
        settings = {key: value for key, value in given.items() if key in known}
    return METHODS[name](k, random_state=0, **settings)


def fit_quietly(name, views, k=3, **settings):
    """A method fitted with seed 0; its own warnings (caps, degenerate data) are no failure here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        return estimator(name, k, **settings).fit(views)


def kernels_with(spectra):
    """Kernels whose leading eigenvectors are the given bases, in this order."""
    kernels = []
    for spectrum in spectra:
        V = spectrum.vectors
        kernels.append((V * np.linspace(2, 1, V.shape[1])) @ V.T)
    return kernels


def fit_kernels(kernels, k, **settings):
    """A fit of kernels as they are."""
    model = MKCDNM(k, kernel="precomputed", center=False, normalize=False, n_init=1, random_state=0)
    return model.set_params(**settings).fit(kernels)

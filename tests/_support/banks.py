"""Kernels of single views, as the tests of kernels make them."""

import pytest

from _support.fits import table
from mkclust.data.views import MultiView
from mkclust.kernels.bank import KERNELS, KernelBank, KernelRecipe
from mkclust.linalg.scaling import centering_of

PARAMS = {"rbf": {"gamma": 0.3}}
every_kernel = pytest.mark.parametrize("name", list(KERNELS))


def bank(views, kernel="gaussian", kernels=False, **settings):
    recipe = KernelRecipe(kernel, PARAMS.get(kernel, {}) if isinstance(kernel, str) else {})
    for name, value in settings.items():
        object.__setattr__(recipe, name, value)
    return KernelBank(MultiView(views, kernels=kernels), recipe)


def random_kernel(n=30, seed=0):
    X = table(n, 12, seed) + 2
    return X @ X.T


def centered_and_normalized(K, center=True, normalize=True):
    """K itself, once both are done to it in place."""
    centering_of(K, center, normalize).apply(K)
    return K

"""What a report is about: a fitted model, and what is known about its samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..agreement.chance import unrelated
from ..base import MultiViewClusterer
from ..data.checksums import joint_checksum, view_checksums
from ..data.views import MultiView
from ..exceptions import InputError
from ..inspection.annotations import Annotations
from ..inspection.choose_k import ChoiceOfK
from ..inspection.explain import Explanation
from ..inspection.markers import Markers
from ..inspection.stability import Stability
from ..inspection.view_influence import ViewInfluence
from ..preprocessing.intake import in_fitted_order

LONGEST = 120  # characters of a name that a page shows


@dataclass(frozen=True)
class Subject:
    """A fitted model with names of its views and samples, and the answers of later questions.

    Attributes
    ----------
    model : MultiViewClusterer
    views, samples : tuple of str
        Names.
    widths : tuple of int or None
        Columns of the views, where the views were given.
    kernels : bool
        Whether the views are kernel matrices.
    classes : (n,) array of str or None
        Known classes.
    notes : tuple of str
        Warnings of the fit.
    remarks : tuple of str
        What a reader decided about the file.
    command : str or None
        The command line that was run.
    checksum : str or None
        SHA-256 of the views, where they were given in memory.
    choice, stability, influence, explanation
        Results of choose_k, stability, view_influence and explain, or None.
    markers, annotations
        Results of markers and compare_annotations, or None.
    """

    model: Any
    views: tuple[str, ...]
    widths: tuple[int, ...] | None
    kernels: bool
    samples: tuple[str, ...]
    classes: np.ndarray | None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    command: str | None = None
    checksum: str | None = None
    choice: ChoiceOfK | None = None
    stability: Stability | None = None
    influence: ViewInfluence | None = None
    explanation: Explanation | None = None
    markers: Markers | None = None
    annotations: Annotations | None = None

    @property
    def labels(self) -> np.ndarray:
        return np.asarray(self.model.labels_)

    @property
    def k(self) -> int:
        """Number of clusters found, which may be smaller than the number asked for."""
        return int(self.labels.max()) + 1

    @property
    def unrelated(self) -> list[str]:
        """Names of the views that agree with no other beyond chance."""
        return [self.views[p] for p in unrelated(self.model)]

    @property
    def certain(self) -> bool:
        """Whether the confidence of every sample is known; some methods have no centers."""
        return bool(self.model._has_membership) and self.k > 1

    def present(self, p: int) -> np.ndarray | None:
        """Which samples a view holds (n,); None where it holds all."""
        presence = getattr(self.model, "presence_", None)
        return None if presence is None else np.asarray(presence)[:, p]


def subject(
    model: MultiViewClusterer,
    views: Any = None,
    classes: Any = None,
    notes: tuple[str, ...] = (),
    command: str | None = None,
    answers: Sequence[Any] = (),
) -> Subject:
    """Collect what a page shows, from a fitted model and, if given, the views it was fitted to."""
    check_is_fitted(model, "labels_")
    names = tuple(map(str, model.view_names_in_))
    n = len(model.labels_)
    data = None if views is None else _checked(model, views)
    if classes is None and data is not None:
        classes = data.labels
    if classes is not None and len(classes := np.asarray(classes)) != n:
        raise InputError(f"{len(classes)} classes for {n} samples")
    index = getattr(model, "sample_names_in_", range(n))
    return Subject(
        model=model,
        views=tuple(map(shortened, names)),
        widths=None if data is None else data.widths,
        kernels=data.kernels if data is not None else model.gives_kernels,
        samples=tuple(shortened(str(name)) for name in index),
        classes=None if classes is None else np.array([shortened(str(c)) for c in classes]),
        notes=notes,
        remarks=() if data is None else data.notes,
        command=command,
        checksum=joint_checksum(view_checksums(data)) if isinstance(data, MultiView) else None,
        **_answered(model, answers),
    )


def _answered(model: Any, answers: Sequence[Any]) -> dict[str, Any]:
    """Return each answer under the name of its field."""
    kinds = {
        "choice": ChoiceOfK, "stability": Stability, "influence": ViewInfluence,
        "explanation": Explanation, "markers": Markers, "annotations": Annotations,
    }  # fmt: skip
    fields = {"choice": getattr(model, "choice_of_k_", None)}
    for answer in answers:
        name = next((name for name, kind in kinds.items() if isinstance(answer, kind)), None)
        if name is None:
            raise InputError(
                "answers must be results of choose_k, explain, stability, view_influence, markers "
                "or compare_annotations, not "
                f"{type(answer).__name__}"
            )
        fields[name] = answer
    return fields


def shortened(name: str) -> str:
    """Cut a name to the length that a page shows.

    >>> len(shortened("x" * 1000))
    120
    """
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _checked(model: Any, views: Any) -> Any:
    """Return views as the model took them, without changing the model."""
    fresh = type(model)(**model.get_params(deep=False))
    return in_fitted_order(model, fresh._checked_views(views))

"""What a report is about: a fitted model and what is known of the samples it was fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import MultiViewClusterer
from ..data.views import MultiView
from ..exceptions import InputError
from ..inspection.choose_k import ChoiceOfK
from ..inspection.influence import ViewInfluence
from ..inspection.stability import Stability

LONGEST = 120  # characters of a name that a page shows


@dataclass(frozen=True)
class Subject:
    """A fitted model with names for its views and samples, and the classes if they are known.

    `widths` are the columns of the views, where the views were given; `notes` are warnings of
    the fit, `remarks` what a reader decided about the file; `command` is what was typed.
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
    choice: ChoiceOfK | None = None
    stability: Stability | None = None
    influence: ViewInfluence | None = None

    @property
    def labels(self) -> np.ndarray:
        return np.asarray(self.model.labels_)

    @property
    def k(self) -> int:
        """Clusters found, which may be fewer than were asked for."""
        return int(self.labels.max()) + 1


def subject(
    model: MultiViewClusterer,
    views: Any = None,
    classes: Any = None,
    notes: tuple[str, ...] = (),
    command: str | None = None,
    answers: Sequence[Any] = (),
) -> Subject:
    """The model with what the views, if given, say about names, widths and classes."""
    check_is_fitted(model, "labels_")
    names = tuple(map(str, model.view_names_in_))
    n = len(model.labels_)
    data = None if views is None else _checked(model, views, names, n)
    if classes is None and data is not None:
        classes = data.labels
    if classes is not None and len(classes := np.asarray(classes)) != n:
        raise InputError(f"{len(classes)} classes for {n} samples")
    index = range(n) if data is None or data.index is None else data.index
    return Subject(
        model=model,
        views=tuple(map(shortened, names)),
        widths=None if data is None else data.widths,
        kernels=data.kernels if data is not None else model.kernel == "precomputed",
        samples=tuple(shortened(str(name)) for name in index),
        classes=None if classes is None else np.array([shortened(str(c)) for c in classes]),
        notes=notes,
        remarks=() if data is None else data.notes,
        command=command,
        **_answered(answers),
    )


def _answered(answers: Sequence[Any]) -> dict[str, Any]:
    """Each answer in the field of its kind."""
    kinds = {"choice": ChoiceOfK, "stability": Stability, "influence": ViewInfluence}
    fields = {}
    for answer in answers:
        name = next((name for name, kind in kinds.items() if isinstance(answer, kind)), None)
        if name is None:
            raise InputError(
                "answers are what choose_k, stability and view_influence return, not "
                f"{type(answer).__name__}"
            )
        fields[name] = answer
    return fields


def shortened(name: str) -> str:
    """A name cut to what a page shows.

    >>> len(shortened("x" * 1000))
    120
    """
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _checked(model: Any, views: Any, names: tuple[str, ...], n: int) -> Any:
    data: Any = views
    if not isinstance(views, MultiView):  # as the model would take it, without touching the model
        data = type(model)(**model.get_params(deep=False))._checked_views(views)
    if len(data) != n or data.names != names:
        raise InputError(
            f"the model was fitted to {n} samples in the views {', '.join(names)}, "
            f"but views has {len(data)} samples in {', '.join(data.names)}"
        )
    return data

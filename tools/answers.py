"""Record the labels of every method on the bundled digits: ``python tools/answers.py``.

tests/test_recorded_answers.py compares with the record, for the oldest and the newest supported
versions of numpy, scipy and scikit-learn. Record again only after an intended change of labels.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from mkclust import METHODS, MultiView, datasets
from mkclust.exceptions import MkclustWarning

RECORD = Path(__file__).resolve().parent.parent / "tests" / "data" / "answers.json"
SOLVERS = ("authors", "paper", "exact")
QUESTIONS = {name: {"method": name} for name in METHODS if name != "mkc-dnm"} | {
    f"mkc-dnm {solver}": {"method": "mkc-dnm", "solver": solver} for solver in SOLVERS
}


def digits() -> MultiView:
    """Return every eighth of the bundled digits: 250 samples, six views, ten classes."""
    return datasets.load_mfeat()[::8]


def fitted(question: str, views: Any) -> Any:
    """Fit the model of one entry of QUESTIONS, with seed 0 and default settings."""
    settings = dict(QUESTIONS[question])
    method = METHODS[settings.pop("method")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)  # iteration limits, as published
        return method(10, random_state=0, **settings).fit(views)


def answer(question: str, views: Any) -> dict[str, Any]:
    """Return the clusters as text, and the dimensions where the method has them."""
    model = fitted(question, views)
    found: dict[str, Any] = {"clusters": as_text(model.labels_)}
    if hasattr(model, "dimensions_"):
        found["dimensions"] = model.dimensions_.tolist()
    return found


def as_text(labels: np.ndarray) -> str:
    """Return the labels as letters, in the order in which the clusters appear.

    >>> as_text(np.array([2, 0, 2, 1]))
    'abac'
    """
    numbers: dict[int, int] = {}
    return "".join(chr(ord("a") + numbers.setdefault(y, len(numbers))) for y in labels.tolist())


if __name__ == "__main__":
    answers = {question: answer(question, digits()) for question in QUESTIONS}
    RECORD.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
    print(f"Written: {RECORD.name}, {len(answers)} answers")

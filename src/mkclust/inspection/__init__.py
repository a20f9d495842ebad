"""Questions that come after the labels: functions of an estimator and its views."""

from .choose_k import ChoiceOfK, choose_k
from .confidence import Confidence, confidence
from .stability import Stability, stability
from .verify import verify
from .view_influence import ViewInfluence, view_influence
from .view_noise import view_noise

__all__ = [
    "ChoiceOfK",
    "Confidence",
    "Stability",
    "ViewInfluence",
    "choose_k",
    "confidence",
    "stability",
    "verify",
    "view_influence",
    "view_noise",
]

"""Questions that come after the labels: functions of an estimator and its views."""

from .annotations import Annotations, compare_annotations
from .choose_k import ChoiceOfK, choose_k
from .confidence import Confidence, confidence
from .markers import Markers, markers
from .stability import Stability, stability
from .verify import verify
from .view_influence import ViewInfluence, view_influence
from .view_noise import view_noise

__all__ = [
    "Annotations",
    "ChoiceOfK",
    "Confidence",
    "Markers",
    "Stability",
    "ViewInfluence",
    "choose_k",
    "compare_annotations",
    "confidence",
    "markers",
    "stability",
    "verify",
    "view_influence",
    "view_noise",
]

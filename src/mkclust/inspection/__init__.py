"""Questions that come after the labels: functions of an estimator and its views."""

from .annotations import Annotations, compare_annotations
from .choose_k import ChoiceOfK, choose_k
from .explain import Alternative, Conflict, Explanation, explain
from .markers import Markers, markers
from .stability import Confidence, Stability, confidence, stability
from .verdict import Verdict, verdict
from .verify import verify
from .view_influence import ViewInfluence, view_influence
from .view_profile import ViewProfile

__all__ = [
    "Alternative", "Annotations", "ChoiceOfK", "Confidence", "Conflict", "Explanation", "Markers",
    "Stability", "Verdict", "ViewInfluence", "ViewProfile", "choose_k", "compare_annotations",
    "confidence", "explain", "markers", "stability", "verdict", "verify", "view_influence",
]  # fmt: skip

"""Questions that come after the labels: functions of an estimator and its views."""

from .alternatives import Alternative, Alternatives, alternatives
from .choose_k import ChoiceOfK, choose_k
from .conflicts import Conflict, conflicts
from .explain import Explanation, explain
from .stability import Stability, stability
from .verify import verify
from .view_influence import ViewInfluence, view_influence
from .view_noise import view_noise
from .view_profile import ViewProfile, view_profile

__all__ = [
    "Alternative",
    "Alternatives",
    "ChoiceOfK",
    "Conflict",
    "Explanation",
    "Stability",
    "ViewInfluence",
    "ViewProfile",
    "alternatives",
    "choose_k",
    "conflicts",
    "explain",
    "stability",
    "verify",
    "view_influence",
    "view_noise",
    "view_profile",
]

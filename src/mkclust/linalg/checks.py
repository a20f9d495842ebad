"""Claims of a fit that were checked, and near ties that were found."""

from __future__ import annotations

from dataclasses import dataclass

TIE = 1e-6  # relative; a decision by less than this may turn out differently on another machine


@dataclass(frozen=True)
class Check:
    """One claim of a fit: the `error` found, and the `limit` up to which the claim holds."""

    claim: str
    error: float
    limit: float

    @property
    def holds(self) -> bool:
        return bool(self.error <= self.limit)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "FAILS"
        return f"{verdict}: {self.claim} (error {self.error:.1e}, limit {self.limit:.0e})"


@dataclass(frozen=True)
class Verification:
    """All claims that were checked, and a sentence for every decision by less than 1e-6."""

    checks: tuple[Check, ...]
    near_ties: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), *(f"near tie: {tie}" for tie in self.near_ties)])

"""The order of the examples in the gallery."""

from pathlib import Path

ORDER = (
    "digits",
    "explain",
    "missing_patients",
    "survival",
    "text",
    "choose_k",
    "noise_view",
    "kernels",
    "large",
    "compare_methods",
)


class InOrder:
    """Sort examples as listed above; others come last, by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> tuple[int, str]:
        name = Path(file).stem.removeprefix("plot_")
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)

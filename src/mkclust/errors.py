"""What can go wrong, said in our own classes so that callers can tell it from anybody else's."""


class InputError(ValueError):
    """The data or a parameter cannot be used; the message names the view and the place."""


class FileFormatError(InputError):
    """A file cannot be read as views; the message names the file and what was found in it."""


class InfeasibleError(InputError):
    """The views agree too little for the overlap constraints, and ``on_infeasible="raise"``."""


class MkclustWarning(UserWarning):
    """Base of every warning this package gives."""


class InfeasibleWarning(MkclustWarning):
    """The overlap constraints could not be met and were relaxed; the message has the numbers."""


class MissingRowsWarning(MkclustWarning):
    """Some views lack samples, which were clustered from the views they have."""


class ConvergenceWarning(MkclustWarning):
    """A method stopped at its cap on iterations, or found another number of clusters than asked."""


class DegenerateWarning(MkclustWarning):
    """The data determine less than was asked: too few directions, too few distinct points."""

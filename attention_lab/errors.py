"""The package's own exceptions: one sentence each, what was wrong, what is allowed, what to do."""


class LabError(Exception):
    """Base of every error this package raises on purpose; its text may be shown to a user."""


class InputError(LabError):
    """An argument is not one of the allowed ones: a mask, a site, a head, an edit, a stage."""


class LimitError(LabError):
    """A text is empty or has more characters or tokens than allowed."""


class ModelError(LabError):
    """A model, its files or its configuration cannot be used."""


class SourceError(LabError):
    """A source of models does not answer or gives something else than was promised."""


class BusyError(LabError):
    """Too many are waiting for the model already; the same request will succeed later."""

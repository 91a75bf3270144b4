"""Arrays of dtypes that libraries define."""


class EArray:
    """Arrays of an `ExtendedDType`; there are none here."""


__all__ = ["EArray"]

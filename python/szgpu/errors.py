"""What can go wrong: one exception for each status of the library."""

# SPDX-License-Identifier: BSD-3-Clause

__all__ = [
    "ArgumentError",
    "BoundError",
    "CancelledError",
    "CapacityError",
    "ChecksumError",
    "CorruptError",
    "DeviceError",
    "Error",
    "MemoryLimitError",
    "NewerVersionError",
    "NoDeviceError",
    "NotAnArchiveError",
    "OutOfMemoryError",
    "FieldChangedError",
    "ShapeError",
    "TrailingBytesError",
    "TruncatedError",
    "UnsupportedError",
]


class Error(Exception):
    """The base of all exceptions that szgpu raises for a status of its library.

    Attributes
    ----------
    status : int
        The number of the status in ``szgpu.h``.
    """

    status: int = -1


class ArgumentError(Error, ValueError):
    """An argument is missing or outside its range."""


class ShapeError(Error, ValueError):
    """The shape is not one to four positive dims of a known type."""


class BoundError(Error, ValueError):
    """The error bound is not a finite positive number."""


class UnsupportedError(Error):
    """This build, or this decoder, does not have what was asked for."""


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory, on the host or on the GPU."""


class CapacityError(Error, ValueError):
    """The output buffer is too small."""


class CorruptError(Error, ValueError):
    """The archive is damaged, cut short or contradicts itself."""


class NotAnArchiveError(CorruptError):
    """The data do not begin as an archive does."""


class NewerVersionError(Error, ValueError):
    """The archive was written by a newer version of the format: use a newer szgpu."""


class TruncatedError(CorruptError):
    """The archive ends before its own size says."""


class TrailingBytesError(CorruptError):
    """There are bytes after the end of the archive."""


class ChecksumError(CorruptError):
    """A checksum does not match."""


class CancelledError(Error):
    """The progress callback asked to stop."""


class NoDeviceError(Error, RuntimeError):
    """There is no usable GPU."""


class DeviceError(Error, RuntimeError):
    """The GPU reported an error."""


class FieldChangedError(Error, RuntimeError):
    """The field changed while it was compressed."""


class MemoryLimitError(Error, MemoryError):
    """The call would take more memory than its limit."""


# In the order of SZGPU_STATUS_LIST, from 1 on.
_BY_STATUS: tuple[type[Error], ...] = (
    ArgumentError,
    ShapeError,
    BoundError,
    UnsupportedError,
    OutOfMemoryError,
    CapacityError,
    NotAnArchiveError,
    NewerVersionError,
    TruncatedError,
    TrailingBytesError,
    ChecksumError,
    CorruptError,
    CancelledError,
    NoDeviceError,
    DeviceError,
    FieldChangedError,
    MemoryLimitError,
)


def of_status(status: int, text: str, sentence: str) -> Error:
    """Make the exception for a status, with the library's sentence if it has one."""
    known = 0 < status <= len(_BY_STATUS)
    error = (_BY_STATUS[status - 1] if known else Error)(sentence or text)
    error.status = status
    return error

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
    "OtherParamsError",
    "OtherProcessError",
    "OutOfMemoryError",
    "FieldChangedError",
    "LockedError",
    "NotASeriesError",
    "SeriesChangedError",
    "ShapeError",
    "SinkFailedError",
    "SourceFailedError",
    "TrailingBytesError",
    "TruncatedError",
    "UnfinishedError",
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
    _remedy: str = "please report this"


class ArgumentError(Error, ValueError):
    """An argument is missing or outside its range."""

    _remedy = "see the arguments' documentation"


class ShapeError(Error, ValueError):
    """The shape is not one to four positive dims of a known type."""

    _remedy = "give the array one to four axes, all longer than 0"


class BoundError(Error, ValueError):
    """The error bound is not a finite positive number."""

    _remedy = "give a finite number above 0"


class UnsupportedError(Error):
    """This build, or this decoder, does not have what was asked for."""

    _remedy = "use a build of szgpu that supports it"


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory, on the host or on the GPU."""

    _remedy = "free some memory, or take the array in parts"


class CapacityError(Error, ValueError):
    """The output buffer is too small."""

    _remedy = "pass a larger out, or none"


class CorruptError(Error, ValueError):
    """The archive is damaged, cut short or contradicts itself."""

    _remedy = "compress the original again"


class NotAnArchiveError(CorruptError):
    """The data are not an szgpu archive."""

    _remedy = "pass the result of szgpu.compress"


class NewerVersionError(Error, ValueError):
    """The archive was written by a newer version of the format: use a newer szgpu."""

    _remedy = "read it with a newer szgpu"


class TruncatedError(CorruptError):
    """The archive is shorter than its header says."""

    _remedy = "replace it with an intact copy"


class TrailingBytesError(CorruptError):
    """There are bytes after the end of the archive."""

    _remedy = "pass it without the bytes that follow it"


class ChecksumError(CorruptError):
    """A checksum does not match."""

    _remedy = "replace it with an intact copy"


class CancelledError(Error):
    """The progress callback asked to stop."""

    _remedy = "call again"


class NoDeviceError(Error, RuntimeError):
    """There is no usable GPU."""

    _remedy = "use backend='cpu'"


class DeviceError(Error, RuntimeError):
    """The GPU reported an error."""

    _remedy = "use backend='cpu'"


class FieldChangedError(Error, RuntimeError):
    """The field changed while it was compressed."""

    _remedy = "compress it when nothing writes to it, or a copy of it"


class MemoryLimitError(Error, MemoryError):
    """The call would take more memory than its limit."""

    _remedy = "give a larger memory_limit"


class SourceFailedError(Error, RuntimeError):
    """The source of a call could not be read."""

    _remedy = "check the file"


class SinkFailedError(Error, RuntimeError):
    """The sink of a call could not be written."""

    _remedy = "check the file and its folder"


class NotASeriesError(CorruptError):
    """The data are not a series of steps."""

    _remedy = "open a file that szgpu.Series made"


class UnfinishedError(CorruptError):
    """The last step of a series is unfinished: its append is running or was interrupted."""

    _remedy = "the next append replaces it"


class LockedError(Error, RuntimeError):
    """Another program is appending to the series."""

    _remedy = "append again when it has closed the series"


class OtherParamsError(Error, ValueError):
    """The archive was not made with these settings."""

    _remedy = "restore it with the settings that it was made with"


class OtherProcessError(Error, RuntimeError):
    """The series was opened by another process, from which this one was forked."""

    _remedy = "open it in the process that uses it"


class SeriesChangedError(Error, RuntimeError):
    """Another program has changed or replaced the file of a series that is open to append."""

    _remedy = "open it again when no other program writes to it"


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
    SourceFailedError,
    SinkFailedError,
    NotASeriesError,
    UnfinishedError,
    LockedError,
    OtherParamsError,
    OtherProcessError,
    SeriesChangedError,
)


for _status, _kind in enumerate(_BY_STATUS, 1):
    _kind.status = _status


def of_status(status: int, text: str, detail: str) -> Error:
    """Make the exception for a status: what is wrong, the library's detail if any, the remedy."""
    known = 0 < status <= len(_BY_STATUS)
    kind = _BY_STATUS[status - 1] if known else Error
    where = f" ({detail.rstrip('.')})" if detail else ""
    error = kind(f"{text}{where}; {kind._remedy}")
    error.status = status
    return error

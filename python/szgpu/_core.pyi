from typing import Any

from .compressor import Progress

version: str
has_cuda: bool
hdf5_filter_id: int
hdf5_other_filter_id: int
other_params: int
lossless: int
most_items: int
outcome_bytes: int

class Request:
    mode: int
    bound: float
    layout: int
    predictor: int
    frame_rows: int
    source: int
    zstd_level: int
    greatest: float
    def set_shape(self, dtype: int, dims: tuple[int, ...]) -> None: ...
    def set_fills(self, fills: tuple[float, ...]) -> None: ...
    def keep_all(self) -> None: ...

class Context:
    note: str
    def __init__(
        self,
        backend: int,
        device: int,
        threads: int,
        decoder: int,
        stream: int,
        memory_limit: int,
    ) -> None: ...
    def capacity(self, request: Request) -> int: ...
    def compress(
        self, request: Request, field: Any, archive: Any, progress: Progress | None
    ) -> int: ...
    def compress_bytes(self, request: Request, field: Any, progress: Progress | None) -> bytes: ...
    def decompress(
        self,
        archive: Any,
        field: Any,
        first_row: int,
        row_count: int,
        level: int,
        region: list[int] | None,
        progress: Progress | None,
    ) -> None: ...
    def takes(self, request: Request) -> bool: ...
    def many_bytes(self, requests: list[Request]) -> int: ...
    def compress_many(
        self,
        requests: list[Request],
        fields: list[Any],
        archives: Any,
        places: list[int],
        outcomes: Any,
        workspace: Any,
        stream: int,
    ) -> None: ...
    def decompress_many(
        self,
        requests: list[Request],
        archives: list[Any],
        fields: list[Any],
        outcomes: Any,
        workspace: Any,
        stream: int,
    ) -> None: ...

class Series:
    def __init__(self, path: bytes, is_append: bool) -> None: ...
    def close(self) -> None: ...
    def count(self) -> int: ...
    def step(self, index: int) -> dict[str, Any]: ...
    def descriptor(self) -> int: ...
    def end(self) -> tuple[int, str, int, dict[str, Any]]: ...
    def append(self, archive: Any, name: bytes, time: float | None) -> None: ...
    def cut(self) -> None: ...

class Environment:
    def __enter__(self) -> None: ...
    def __exit__(self, *exception: Any) -> None: ...

def has_value(dtype: int, value: float) -> bool: ...
def fill_warning(request: Request, field: Any, archive: Any) -> str: ...
def status_text(status: int) -> str: ...
def inspect(archive: Any) -> dict[str, Any]: ...
def inspect_frames(archive: Any, first: int, count: int) -> list[dict[str, Any]]: ...
def level_shape(archive: Any, level: int) -> list[int]: ...

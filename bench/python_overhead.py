"""python_overhead.py - what a call from Python costs beyond the C call that it makes.

SPDX-License-Identifier: BSD-3-Clause

  python3 python_overhead.py [--device cpu|cuda] [--runs 200] [--json FILE]

Needs the package szgpu, as a wheel installs it; with --device cuda also torch and cupy. The C calls
go by ctypes, which takes about a microsecond, to the library in the wheel, with buffers that are
there already, or ("new") with memory that is as new as that of Python's results. They take turns
with the calls from Python, on the same clock; the figures are medians. Then the script times
threads of Python, each with an object of its own that works in one thread. Every result is checked.
"""

import argparse
import ctypes as c
import json
import statistics
import threading
import time
from pathlib import Path

import numpy as np
import szgpu

BACKENDS = {"cpu": 1, "cuda": 2}
MODE_ABS, LAYOUT_TILE = 1, 1
LEGACY_STREAM = 1
BOUND = 1e-3
THREADS = (1, 2, 4, 8)

clock = time.perf_counter_ns


class Shape(c.Structure):
    _fields_ = [("dtype", c.c_int), ("ndim", c.c_int), ("dims", c.c_uint64 * 4)]


class Params(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_size_t),
        ("mode", c.c_int),
        ("layout", c.c_int),
        ("bound", c.c_double),
        ("frame_rows", c.c_uint64),
        ("radius", c.c_uint32),
        ("source", c.c_uint32),
        ("zstd_level", c.c_int),
        ("has_fill", c.c_int),
        ("fill", c.c_double),
        ("without_gaps", c.c_int),
        ("predictor", c.c_int),
    ]


class Options(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_size_t),
        ("backend", c.c_int),
        ("device", c.c_int),
        ("threads", c.c_int),
        ("decoder", c.c_int),
        ("stream", c.c_void_p),
        ("progress", c.c_void_p),
        ("progress_user", c.c_void_p),
        ("memory_limit", c.c_uint64),
    ]


class Library:
    """A ctx of the C library, for fields of one shape."""

    def __init__(self, backend, dims, threads):
        self.c = c.CDLL(str(Path(szgpu.__file__).parent / "lib" / "libszgpu.so"))
        stream = LEGACY_STREAM if backend == "cuda" else None
        options = Options(
            c.sizeof(Options), BACKENDS[backend], 0, threads, 0, stream, None, None, 0
        )
        self.ctx = c.c_void_p()
        self.check(self.c.szgpu_create(c.byref(self.ctx), c.byref(options)))
        self.shape = Shape(0, len(dims), (c.c_uint64 * 4)(*dims))
        self.params = Params(c.sizeof(Params), MODE_ABS, LAYOUT_TILE, BOUND)
        self.used = c.c_size_t()

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"the C library returned the status {status}")

    def compress(self, field, archive, capacity):
        self.check(
            self.c.szgpu_compress(
                self.ctx, c.byref(self.params), c.byref(self.shape), c.c_void_p(field),
                c.c_void_p(archive), c.c_size_t(capacity), c.byref(self.used),
            )
        )

    def decompress(self, archive, archive_bytes, field, field_bytes):
        self.check(
            self.c.szgpu_decompress(
                self.ctx, c.c_void_p(archive), c.c_size_t(archive_bytes), c.c_void_p(field),
                c.c_size_t(field_bytes),
            )
        )


def make_field(mebibytes):
    rows = max(1, int(mebibytes * 64))
    rng = np.random.default_rng(7)
    wave = np.sin(np.linspace(0, 40, rows * 4096, dtype="f4"))
    return (wave + 1e-3 * rng.standard_normal(rows * 4096, "f4")).reshape(rows, 64, 64)


def on_device(array, library):
    if library == "torch":
        import torch

        return torch.from_numpy(array).cuda()
    if library == "cupy":
        import cupy

        return cupy.asarray(array)
    return array


def new(array, library):
    """Memory of the array's size, which the operating system may have to find first."""
    if library == "numpy":
        return np.empty_like(array)
    module = __import__(library)
    if library == "cupy":
        return module.empty(array.shape, "f4")
    return module.empty(array.shape, dtype=module.float32, device="cuda")


def on_host(array, library):
    if library == "torch":
        return array.cpu().numpy()
    return array.get() if library == "cupy" else array


def address(array):
    if hasattr(array, "data_ptr"):
        return array.data_ptr()
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


def by_turns(calls, runs):
    """The median microseconds of each call. A different one begins each run; the first runs do not
    count."""
    times = {name: [] for name in calls}
    names = list(calls)
    for run in range(runs + 5):
        for name in names[run % len(names) :] + names[: run % len(names)]:
            start = clock()
            calls[name]()
            if run >= 5:
                times[name].append((clock() - start) / 1e3)
    return {name: statistics.median(taken) for name, taken in times.items()}


def time_calls(library, mebibytes, runs):
    host = make_field(mebibytes)
    field = on_device(host, library)
    backend = "cpu" if library == "numpy" else "cuda"
    threads = 0 if mebibytes > 1 else 1  # starting threads takes longer than what is to be seen
    mine = szgpu.Compressor(backend=backend, threads=threads)
    bare = Library(backend, host.shape, threads)
    expected = szgpu.Compressor(backend="cpu").compress(host, abs=BOUND)
    room = on_device(np.empty(host.nbytes + (1 << 20), np.uint8), library)
    out = on_device(np.zeros_like(host), library)
    bare_out = on_device(np.zeros_like(host), library)
    archive = on_device(np.frombuffer(expected, np.uint8).copy(), library)

    def restore_by_c(to):
        bare.decompress(address(archive), len(expected), address(to), host.nbytes)

    times = by_turns(
        {
            "compress": lambda: mine.compress(field, abs=BOUND),
            "compress, out=": lambda: mine.compress(field, abs=BOUND, out=room),
            "C compress": lambda: bare.compress(address(field), address(room), room.nbytes),
        },
        runs,
    )
    times |= by_turns(
        {
            "decompress": lambda: mine.decompress(archive),
            "decompress, out=": lambda: mine.decompress(archive, out=out),
            "C decompress": lambda: restore_by_c(bare_out),
            "C decompress, new": lambda: restore_by_c(new(host, library)),
        },
        runs,
    )

    def there_and_back_by_c():
        bare.compress(address(field), address(room), room.nbytes)
        bare.decompress(address(room), bare.used.value, address(result := new(host, library)),
                        host.nbytes)
        return result

    times |= by_turns(
        {
            "there and back": lambda: mine.decompress(mine.compress(field, abs=BOUND)),
            "C there and back": there_and_back_by_c,
        },
        runs,
    )
    assert bare.used.value == len(expected)
    assert on_host(room, library)[: len(expected)].tobytes() == expected
    made = on_host(mine.compress(field, abs=BOUND), library) if library != "numpy" else None
    assert library == "numpy" or made.tobytes() == expected
    for restored in (out, bare_out, mine.decompress(archive)):
        assert abs(on_host(restored, library) - host).max() <= BOUND
    print(f"\n{library}, {host.nbytes >> 10} KiB: microseconds, and what they are more than in C")
    beside = {"compress": "C compress", "compress, out=": "C compress",
              "decompress": "C decompress, new", "decompress, out=": "C decompress",
              "there and back": "C there and back"}
    for name, taken in times.items():
        bare_taken = times[beside.get(name, name)]
        more = "" if name.startswith("C ") else f" {taken - bare_taken:+10.1f}"
        more += "" if name.startswith("C ") else f" {100 * (taken / bare_taken - 1):+7.1f} %"
        print(f"  {name:18} {taken:10.1f}{more}", flush=True)
    return {"library": library, "mebibytes": mebibytes, "microseconds": times}


def time_threads(library, mebibytes, rounds):
    host = make_field(mebibytes)
    backend = "cpu" if library == "numpy" else "cuda"
    expected = szgpu.Compressor(backend="cpu").compress(host, abs=BOUND)
    rows = []
    print(f"\n{library}, threads of Python, each there and back with {mebibytes:g} MiB")
    for count in THREADS:
        wrong = []
        start = threading.Barrier(count + 1)

        def work():
            field = on_device(host, library)
            mine = szgpu.Compressor(threads=1, backend=backend)
            room = on_device(np.empty_like(host), library)
            out = on_device(np.empty_like(host), library)
            room = room.reshape(-1).view(getattr(__import__(library), "uint8"))
            start.wait()
            for _ in range(rounds):
                archive = mine.compress(field, abs=BOUND, out=room)
                mine.decompress(archive, out=out)
            start.wait()
            if on_host(archive, library).tobytes() != expected:
                wrong.append("archive")
            if abs(on_host(out, library) - host).max() > BOUND:
                wrong.append("field")

        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        start.wait()
        begin = clock()
        start.wait()
        seconds = (clock() - begin) / 1e9
        for thread in threads:
            thread.join()
        assert not wrong, wrong
        speed = 2 * rounds * count * host.nbytes / seconds / 1e9
        rows.append({"library": library, "threads": count, "gb_per_s": speed})
        times_one = speed / rows[0]["gb_per_s"]
        print(f"  {count} threads: {speed:7.2f} GB/s, {times_one:5.2f} times one", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--json")
    asked = parser.parse_args()
    libraries = ["numpy"] if asked.device == "cpu" else ["torch", "cupy"]
    calls, threads = [], []
    for library in libraries:
        for mebibytes in (1 / 64, 1, 64):
            runs = asked.runs
            if mebibytes == 64 and library == "numpy":
                runs = max(5, runs // 10)
            calls.append(time_calls(library, mebibytes, runs))
    threads += time_threads(libraries[0], 4, 20)
    if asked.json:
        Path(asked.json).write_text(json.dumps({"calls": calls, "threads": threads}, indent=1))


if __name__ == "__main__":
    main()

"""Series: the arrays of a simulation's steps in one file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import szgpu


def field(step: int, *shape: int, dtype: str = "f4") -> np.ndarray:
    return (np.sin(np.arange(np.prod(shape)) * 0.01) + step).reshape(shape).astype(dtype)


def make(path, count: int = 3) -> list[np.ndarray]:
    arrays = [field(k, 20, 30, 40) for k in range(count)]
    with szgpu.Series(path, "a") as series:
        for k, array in enumerate(arrays):
            series.append(array, abs=1e-3, name=f"step {k}", time=k / 4)
            assert len(series) == k + 1
    return [szgpu.decompress(szgpu.compress(array, abs=1e-3)) for array in arrays]


def test_steps_come_back(tmp_path):
    path = tmp_path / "run.szgs"
    expected = make(path)
    with szgpu.open(path) as series:
        assert isinstance(series, szgpu.Series)
        assert len(series) == 3 and series.end is None
        for k, step in enumerate(series):
            assert step.shape == (20, 30, 40)
            assert np.array_equal(step[...], expected[k])
        assert np.array_equal(series[-1][2:5, :, 7], expected[2][2:5, :, 7])
        assert [len(part) for part in series[1:]] == [20, 20]
        assert [(s.name, s.time) for s in series.steps] == [
            ("step 0", 0.0), ("step 1", 0.25), ("step 2", 0.5)
        ]
        for index in (3, -4):
            with pytest.raises(IndexError, match=f"no step {index}: the series has 3"):
                series[index]
        with pytest.raises(TypeError):
            series["0"]
        kept = series[1]
    with pytest.raises(ValueError, match="the series is closed"):
        len(series)
    assert np.array_equal(kept[0], expected[1][0])
    archive = path.read_bytes()[kept_place(path, 1)]
    assert np.array_equal(szgpu.decompress(archive), expected[1])


def kept_place(path, index: int) -> slice:
    with szgpu.open(path) as series:
        step = series.steps[index]
        return slice(step.archive_offset, step.archive_offset + step.archive_bytes)


def test_steps_may_differ(tmp_path):
    path = tmp_path / "run.szgs"
    arrays = [
        np.asfortranarray(field(0, 30, 20)),
        np.arange(1000, dtype="i2"),
        field(2, 7, dtype="f8"),
        field(3, 64, 64, 64),
    ]
    with szgpu.Series(path, "a") as series:
        for array in arrays:
            series.append(array, lossless=True)
        series.append(arrays[3], rel=1e-3, predictor="interpolation")
        assert np.array_equal(series[0][...], arrays[0])
        assert np.array_equal(series[2][...], arrays[2])
        assert series[4].levels > 0
        assert np.array_equal(series[4].level(1)[...], series[4][::2, ::2, ::2])
        assert [step.time for step in series.steps] == [None] * 5
    with szgpu.Series(path, dtype="i2") as series:
        assert np.array_equal(series[1][...], arrays[1])


def test_the_command_reads_it(tmp_path):
    command = szgpu.build_info()["command"]
    if command is None:
        pytest.skip("this build has no command")
    make(tmp_path / "run.szgs")
    done = subprocess.run([command, "--test", tmp_path / "run.szgs"], capture_output=True, text=True)
    assert done.stdout.endswith("OK, 3 of 3 steps\n"), done


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "run.szgs"
    make(path)
    with szgpu.Series(path, "a") as first:
        with pytest.raises(szgpu.LockedError, match="another program is appending"):
            szgpu.Series(path, "a")
        with szgpu.Series(path) as reader:
            first.append(field(3, 5), abs=1e-3)
            assert len(reader) == 3 and len(first) == 4
    szgpu.Series(path, "a").close()


def test_what_cannot_be_appended_changes_nothing(tmp_path):
    path = tmp_path / "run.szgs"
    make(path)
    before = path.read_bytes()
    with szgpu.Series(path, "a") as series:
        for settings, kind in (
            ({}, ValueError),
            ({"abs": -1}, szgpu.BoundError),
            ({"abs": 1, "name": "x" * 256}, szgpu.ArgumentError),
            ({"abs": 1, "name": "a\0b"}, ValueError),
            ({"abs": 1, "time": float("nan")}, szgpu.ArgumentError),
            ({"abs": 1, "out": bytearray(9)}, TypeError),
        ):
            with pytest.raises(kind):
                series.append(field(0, 9), **settings)
    with szgpu.Series(path) as series, pytest.raises(szgpu.ArgumentError):
        series.append(field(0, 9), abs=1)
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="mode is 'w'"):
        szgpu.Series(path, "w")


def test_an_unfinished_step_is_told_and_replaced(tmp_path):
    path = tmp_path / "run.szgs"
    expected = make(path)
    content = bytearray(path.read_bytes())
    start = content.rindex(b"\x89SZS")
    content[start + 16 : start + 24] = bytes(8)
    path.write_bytes(content)
    with szgpu.open(path) as series:
        assert len(series) == 2
        assert isinstance(series.end, szgpu.UnfinishedError)
        assert "step 2" in str(series.end)
    with szgpu.Series(path, "a") as series:
        series.append(expected[2], lossless=True)
        assert series.end is None and np.array_equal(series[2][...], expected[2])


def test_a_damaged_end_is_told_and_cut_only_if_asked(tmp_path):
    path = tmp_path / "run.szgs"
    make(path)
    path.write_bytes(path.read_bytes()[:-16])
    with szgpu.Series(path, "a") as series:
        assert isinstance(series.end, szgpu.TruncatedError)
        assert "(step 2 (step 2))" in str(series.end)
        with pytest.raises(szgpu.TruncatedError):
            series.append(field(0, 9), abs=1)
        series.cut()
        series.append(field(0, 9), abs=1)
        assert len(series) == 3 and series.end is None


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "a"
    with pytest.raises(FileNotFoundError, match="run.szgs"):
        szgpu.Series(tmp_path / "run.szgs")
    with pytest.raises(IsADirectoryError):
        szgpu.Series(tmp_path, "a")
    for content in (b"any bytes", bytes(4096)):
        path.write_bytes(content)
        with pytest.raises(szgpu.NotASeriesError):
            szgpu.Series(path, "a")
        with pytest.raises(szgpu.NotAnArchiveError):
            szgpu.open(path)
        assert path.read_bytes() == content
    path.write_bytes(szgpu.compress(field(0, 9), abs=1))
    assert isinstance(szgpu.open(path), szgpu.Dataset)
    with pytest.raises(szgpu.NotASeriesError):
        szgpu.Series(path)


def test_a_new_file_without_steps_is_removed(tmp_path):
    szgpu.Series(tmp_path / "run.szgs", "a").close()
    assert not list(tmp_path.iterdir())


WRITER = """
import sys, numpy as np, szgpu
with szgpu.Series(sys.argv[1], "a") as series:
    for k in range(10000):
        series.append(np.full((50, 1000), k, "f4"), lossless=True)
        print(len(series), flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_a_killed_writer_leaves_all_that_it_finished(tmp_path):
    path = tmp_path / "run.szgs"
    for round_ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, os.fspath(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout.readline()
        time.sleep(0.05 * round_)
        writer.kill()
        told = writer.stdout.read().split()
        writer.wait()
        with szgpu.open(path) as series:
            assert len(series) >= int(told[-1] if told else 1)
            assert series.end is None or isinstance(series.end, szgpu.UnfinishedError)
            assert float(series[-1][0, 0]) >= 0


# ---- threads and processes ----


def run_alone(code: str, *arguments: object) -> str:
    """What code prints in a process of its own, which may not crash."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(os.fspath, arguments)],
        capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


THREADS = """
import sys, threading, numpy as np, szgpu
array = np.random.default_rng(1).standard_normal((50, 60, 70)).astype("f4")
series, done, wrong = szgpu.Series(sys.argv[1], "a"), [], []
series.append(array, abs=.01)
def append():
    for _ in range(20):
        series.append(array, abs=.01, name="by a thread")
        done.append(1)
def read():
    while len(done) < 60:
        for step, place in zip(series, series.steps):
            assert step.shape == (50, 60, 70) and place.archive_bytes > 0
        assert series.end is None and len(series) >= 1 and "steps" in repr(series)
        assert np.array_equal(series[-1][3], series[0][3])
def guarded(work):
    try: work()
    except BaseException as error: wrong.append(error)
threads = [threading.Thread(target=guarded, args=(work,)) for work in [append] * 3 + [read] * 2]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
series.close()
with szgpu.open(sys.argv[1]) as reader:
    print(len(done), len(reader), wrong)
"""


def test_threads_share_a_series(tmp_path):
    """Two threads that appended to one series ended the process."""
    assert run_alone(THREADS, tmp_path / "run.szgs") == "60 61 []\n"


CLOSED_MEANWHILE = """
import sys, threading, time, numpy as np, szgpu
array = np.random.default_rng(1).standard_normal((50, 60, 70)).astype("f4")
for k in range(10):
    series, done, errors = szgpu.Series(sys.argv[1], "a"), [], []
    before = len(series)
    def work(call):
        try:
            while True: call()
        except ValueError as error: errors.append(str(error))
    def append():
        series.append(array, lossless=True)
        done.append(1)
    calls = [append, append, lambda: series.steps, lambda: series[:1], lambda: series.end]
    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    [thread.start() for thread in threads]
    time.sleep(.03 * k)
    series.close()
    [thread.join() for thread in threads]
    assert errors == ["the series is closed: open it again"] * 5, errors
    with szgpu.open(sys.argv[1]) if before + len(done) else szgpu.Series(sys.argv[1], "a") as reader:
        assert len(reader) == before + len(done) and reader.end is None
print("whole")
"""


def test_a_close_waits_for_the_calls_of_other_threads(tmp_path):
    """It freed what they were using: SIGSEGV."""
    assert run_alone(CLOSED_MEANWHILE, tmp_path / "run.szgs") == "whole\n"


FORKED = """
import os, sys, threading, numpy as np, szgpu
array, path = np.arange(1000, dtype="f4"), sys.argv[1]
with szgpu.Series(path, "a") as series:
    series.append(array, abs=.01, name="first")
reader = szgpu.open(path)
series = szgpu.Series(path, "a")
fresh = szgpu.Series(path + ".new", "a")
def refused(call):
    try: call()
    except szgpu.OtherProcessError: return True
stop = threading.Event()
def read():
    while not stop.is_set(): series.steps
thread = threading.Thread(target=read)
thread.start()
child = os.fork()
if child == 0:
    calls = [lambda: series.append(array, abs=.01), lambda: series.steps, lambda: len(series),
             lambda: series[0], lambda: series.end, lambda: series.cut(), lambda: reader[0],
             lambda: len(reader)]
    wrong = [k for k, call in enumerate(calls) if not refused(call)]
    for each in (series, reader, fresh): each.close()
    os._exit(len(wrong))
status = os.waitpid(child, 0)[1]
stop.set()
thread.join()
series.append(array, abs=.01, name="by the parent")
try: szgpu.Series(path, "a")
except szgpu.LockedError: print("locked", end=" ")
fresh.append(array, abs=.01)
series.close(), fresh.close()
ends, begun = os.pipe(), os.pipe()
series = szgpu.Series(path, "a")
child = os.fork()
if child == 0:
    os.write(begun[1], b"x")
    os.close(ends[1])
    os.read(ends[0], 1)
    os._exit(0)
os.read(begun[0], 1)
series.close()
szgpu.Series(path, "a").close()  # a child that lives on has no lock
os.close(ends[1])
os.waitpid(child, 0)
with szgpu.open(path) as found, szgpu.open(path + ".new") as other:
    print(status, [step.name for step in found.steps], len(other))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_cannot_use_a_series(tmp_path):
    """Parent and child wrote at one place, and steps vanished."""
    told = run_alone(FORKED, tmp_path / "run.szgs")
    assert told == "locked 0 ['first', 'by the parent'] 1\n"


def test_a_file_that_another_program_changed_is_left(tmp_path):
    path, other = tmp_path / "run.szgs", tmp_path / "other"
    for change in ("removed", "replaced", "longer", "shorter"):
        make(path)
        with szgpu.Series(path, "a") as series:
            if change == "removed":
                path.unlink()
            elif change == "replaced":
                other.write_bytes(b"another's")
                other.rename(path)
            else:
                content = path.read_bytes()
                path.write_bytes(content + b"x" if change == "longer" else content[:-16])
            before = path.read_bytes() if path.exists() else None
            with pytest.raises(szgpu.SeriesChangedError, match="changed or replaced"):
                series.append(field(0, 9), abs=1)
        assert (path.read_bytes() if path.exists() else None) == before
        path.unlink(missing_ok=True)


SHORTER = """
import os, sys, numpy as np, szgpu
path = sys.argv[1]
array = np.random.default_rng(1).random(200000, "f4")
with szgpu.Series(path, "a") as series:
    series.append(array, lossless=True)
with open(path + ".szg", "wb") as file:
    file.write(szgpu.compress(array, lossless=True))
series = szgpu.open(path)
step, archive = series[0], szgpu.open(path + ".szg")
told = []
for name in (path, path + ".szg"):
    os.truncate(name, 5000)
for call in (lambda: series[0], lambda: step[199990:], lambda: archive[199990:], lambda: archive[...]):
    try: call()
    except szgpu.TruncatedError: told.append(1)
print(told)
"""


def test_a_file_that_became_shorter_is_told(tmp_path):
    """Its pages could no longer be read: SIGBUS."""
    assert run_alone(SHORTER, tmp_path / "run.szgs") == "[1, 1, 1, 1]\n"


def test_a_step_is_of_the_file_that_was_opened(tmp_path):
    """Its name may lead to another by then."""
    path, other = tmp_path / "run.szgs", tmp_path / "other.szgs"
    expected = make(path)
    with szgpu.Series(other, "a") as series:
        series.append(field(9, 20, 30, 40), abs=1e-3)
    with szgpu.open(path) as series:
        other.rename(path)
        assert np.array_equal(series[2][...], expected[2])


def test_a_dataset_of_a_closed_series_has_no_lock(tmp_path):
    """Its mapping kept the lock, and nobody could append."""
    path = tmp_path / "run.szgs"
    with szgpu.Series(path, "a") as series:
        series.append(np.ones(10, "f4"), abs=.1)
        step = series[0]
    with szgpu.Series(path, "a") as series:
        series.append(np.zeros(10, "f4"), abs=.1)
    assert step[()].shape == (10,)


AT_EXIT = """
import sys, threading, time
import numpy as np
import szgpu
values = np.random.default_rng(1).random(3_000_000, "f4")
series = szgpu.Series(sys.argv[1], "a")
def work():
    while True:
        szgpu.compress(values, abs=1e-3)
        series.append(values, abs=1e-3)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(.3)
"""


@pytest.mark.parametrize("round_", range(3))
def test_a_daemon_thread_may_be_at_work_at_exit(tmp_path, round_):
    """Python ends such threads by unwinding, at which C++ aborted."""
    done = subprocess.run([sys.executable, "-c", AT_EXIT, tmp_path / "run.szgs"],
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("label, error, words", [
    ({"name": "x" * 256}, ValueError, "has 256 bytes"),
    ({"name": 5}, TypeError, "must be a str"),
    ({"time": float("nan")}, ValueError, "must be finite"),
])
def test_labels_that_a_step_cannot_have(tmp_path, label, error, words):
    with szgpu.Series(tmp_path / "run.szgs", "a") as series:
        with pytest.raises(error, match=words):
            series.append(np.ones(10, "f4"), abs=.1, **label)


@pytest.mark.parametrize("mode", ["r", "a"])
def test_a_path_with_a_null_character(tmp_path, mode):
    """What stood before it was the file."""
    (tmp_path / "other").write_bytes(b"")
    with pytest.raises(ValueError, match="null"):
        szgpu.Series(f"{tmp_path}/other\0.szgs", mode)
    assert (tmp_path / "other").read_bytes() == b""

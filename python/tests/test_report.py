"""The report: its figures against numpy and scipy, what it refuses, and how its page looks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import szgpu

fft = pytest.importorskip("scipy.fft")
signal = pytest.importorskip("scipy.signal")
metrics = pytest.importorskip("skimage.metrics")
pytest.importorskip("matplotlib")

from szgpu.report import __main__ as command  # noqa: E402
from szgpu.report import assembly, figures, samples, sources, statistics  # noqa: E402
from szgpu.report.text import number, share_of_bound  # noqa: E402

RNG = np.random.default_rng(18)
BOUND = 1e-2
MISSED = np.array([0xD4, 0x00, 0x2A])


def smooth(*shape: int, dtype: str = "float32") -> np.ndarray:
    axes = np.meshgrid(*(np.linspace(0, 5, n) for n in shape), indexing="ij")
    return (np.sin(sum(axes)) + 0.05 * RNG.normal(size=shape)).astype(dtype)


def source(array: np.ndarray, slab_rows: int = 1 << 20, bound: float | None = BOUND) -> sources.Source:
    made = sources._of_array("array", array)
    made.slab_rows, made.bound = slab_rows, bound
    return made


def restored(a: np.ndarray, bound: float = BOUND) -> np.ndarray:
    return (a + RNG.uniform(-0.9 * bound, 0.9 * bound, a.shape)).astype(a.dtype)


def compare(a: np.ndarray, b: np.ndarray, slab_rows: int = 1 << 20, bound: float | None = BOUND):
    original, back = source(a, slab_rows), source(b, slab_rows, bound)
    return statistics.error_statistics(original, back, statistics.field_statistics(original))


def save(folder: Path, **arrays: np.ndarray) -> list[str]:
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return [str(folder / f"{name}.npy") for name in arrays]


def archive(folder: Path, a: np.ndarray, name: str = "a.szg", **settings) -> str:
    (folder / name).write_bytes(szgpu.compress(a, **(settings or {"abs": BOUND})))
    return str(folder / name)


# Figures


@pytest.mark.parametrize("shape", [(700,), (37, 50), (17, 20, 23), (5, 6, 7, 8)])
def test_figures_are_those_of_numpy(shape):
    a = smooth(*shape)
    b = restored(a)
    error = b.astype("f8") - a
    found = compare(a, b)
    assert found.value_count == found.valid_count == a.size
    assert found.beyond_count == 0 and found.histogram.sum() == a.size
    assert found.max_error == abs(error).max()
    assert abs(error[found.max_index]) == found.max_error
    assert found.bias == pytest.approx(error.mean(), rel=1e-9)
    assert found.rms_error == pytest.approx(np.sqrt((error**2).mean()), rel=1e-9)
    psnr = metrics.peak_signal_noise_ratio(a.astype("f8"), b.astype("f8"), data_range=np.ptp(a))
    assert found.psnr == pytest.approx(psnr, rel=1e-6)
    for axis, share in enumerate(found.gradient_errors):
        steps, error_steps = np.diff(a.astype("f8"), axis=axis), np.diff(error, axis=axis)
        assert share == pytest.approx(np.sqrt((error_steps**2).sum() / (steps**2).sum()), rel=1e-9)
    counts, _ = np.histogram(error / BOUND, np.linspace(-1, 1, found.histogram.size + 1))
    assert abs(counts - found.histogram).sum() <= 2  # on a bin's edge


@pytest.mark.parametrize("slab_rows", [1, 7, 16])
def test_slabs_give_what_the_whole_gives(slab_rows, monkeypatch):
    a = smooth(33, 10, 12)
    a[3:5] = np.nan
    b = restored(a)
    whole = compare(a, b)
    monkeypatch.setattr(statistics, "CHUNK_VALUES", 240)
    parts = compare(a, b, slab_rows)
    assert (parts.histogram == whole.histogram).all()
    assert (parts.max_error, parts.max_index) == (whole.max_error, whole.max_index)
    assert parts.gradient_errors == pytest.approx(whole.gradient_errors, rel=1e-12)
    assert parts.psnr == pytest.approx(whole.psnr, rel=1e-12)


def test_an_archive_read_by_slabs_gives_what_the_whole_gives(tmp_path, monkeypatch):
    a = smooth(70, 20, 24)
    name = archive(tmp_path, a)
    whole = szgpu.decompress(Path(name).read_bytes())
    monkeypatch.setattr(sources, "SLAB_BYTES", 33 * 20 * 24 * 4)
    opened = sources.open_source(name, type_name=None, dims=None, like=None)
    assert opened.slab_rows == 32
    parts = [part for _, part in statistics.chunks(opened)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_masked_values_count_in_the_bound_only():
    a = smooth(40, 50)
    a[:10] = -9999
    b = restored(a)
    b[:10] = -9999
    original, back = source(a), source(b)
    original.fill = -9999
    of_field = statistics.field_statistics(original)
    assert of_field.masked_count == 500 and of_field.low > -10
    found = statistics.error_statistics(original, back, of_field)
    assert (found.value_count, found.valid_count, found.beyond_count) == (2000, 1500, 0)
    b[0, 0] = -9998
    assert statistics.error_statistics(original, source(b), of_field).beyond_count == 1
    nan = a.copy()
    nan[20, 20] = np.nan
    assert compare(nan, a).beyond_count == 1 and compare(nan, nan).beyond_count == 0


def test_the_bound_is_compared_without_rounding():
    a = np.array([1.0, 1.0, 1.0, 0.0])
    bound = float(np.float64(1.0) - np.float64(2.0**-60))  # 1: the difference rounds onto it
    b = np.array([-(2.0**-60), 2.0**-60, 0.0, np.nan])
    assert statistics.is_beyond(a, b, bound).tolist() == [True, False, False, True]


def test_the_autocorrelation_is_that_of_the_definition():
    error = signal.lfilter([1], [1, -0.7], RNG.normal(size=(40, 60)), axis=1)
    valid = np.ones(error.shape, bool)
    valid[:, 50:] = False
    found = samples.autocorrelation(np.where(valid, error, 0), valid, 1, 10)
    kept = error[:, :50] - error[:, :50].mean()
    direct = [(kept[:, : 50 - k] * kept[:, k:]).mean() / (kept**2).mean() for k in range(11)]
    assert found == pytest.approx(direct, abs=1e-9)
    assert np.isnan(samples.autocorrelation(np.zeros((5, 5)), valid[:5, :5], 0, 3)).all()


def test_the_spectrum_is_that_of_a_periodogram():
    a = RNG.normal(size=1 << 12)
    window = np.hanning(a.size + 2)[1:-1]
    k, power = samples.power_spectrum(a)
    direct = abs(fft.rfft((a - a.mean()) * window)) ** 2 / (window**2).sum()
    assert power[0] == pytest.approx(direct[1])  # the lowest bin holds one wavenumber
    _, power = samples.power_spectrum(RNG.normal(size=(64, 64, 64)))
    assert power[-10:] == pytest.approx(1, abs=0.05)  # white noise has its variance everywhere
    wave = np.sin(2 * np.pi * 0.125 * np.arange(128))[None] * np.ones((64, 1))
    k, power = samples.power_spectrum(wave)
    assert k[power.argmax()] == pytest.approx(0.125, rel=0.1)


def test_ssim_is_that_of_scikit_image():
    a = smooth(50, 60)
    b = restored(a, 0.3)
    original, back = source(a), source(b)
    of_field = statistics.field_statistics(original)
    region = samples.sample_region(original, of_field)
    sample = samples.sample_of(original, back, region)
    _, whole = metrics.structural_similarity(
        a.astype("f8"), b.astype("f8"), data_range=of_field.range, win_size=7, full=True
    )
    assert samples.ssim(sample, of_field.range) == pytest.approx(whole.mean(), rel=1e-9)


def test_numbers_never_round_across_the_bound():
    assert share_of_bound(0.99999) == "0.9999" and share_of_bound(1.0000001) == "1.0001"
    assert [number(x) for x in (0.001, 21.6, -1.2e-7, 0.0, 1e-5)] == [
        "0.001", "21.6", "−1.2 × 10⁻⁷", "0", "10⁻⁵",
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "i4"])
def test_integers_are_compared_as_numbers(dtype, tmp_path):
    limits = np.iinfo(dtype)
    a = (smooth(20, 30, dtype="f8") * 40 + 60).astype(dtype)
    a[0, :2] = limits.min, limits.max  # whose difference no value of the type is
    fields = [a, np.where(a == limits.max, limits.min, a)]
    name = archive(tmp_path, a, abs=3)
    back = sources.open_source(name, type_name=None, dims=None, like=None)
    error = back.read_rows(0, 20).astype("f8") - a
    found = statistics.error_statistics(source(a), back, statistics.field_statistics(source(a)))
    assert (found.bound, found.beyond_count, found.max_error) == (3, 0, abs(error).max())
    assert 0 < found.max_error <= 3 and found.bias == pytest.approx(error.mean(), rel=1e-9)
    missed = compare(*fields, bound=3)
    assert (missed.beyond_count, missed.max_index) == (1, (0, 1))
    assert missed.max_error == float(limits.max) - float(limits.min)


def test_the_fill_value_of_integers_may_be_none_of_theirs():
    a = np.array([0, 5, 255], "u1")
    assert statistics.is_valid(a, -9999.0).all()
    assert statistics.is_valid(a, 255.0).tolist() == [True, True, False]


# The command


def run(*arguments: str) -> tuple[int, str]:
    path = str(Path(szgpu.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "szgpu.report", *arguments],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_the_command_writes_a_page_that_needs_nothing_else(tmp_path):
    a = smooth(20, 40, 50)
    (original,) = save(tmp_path, field=a)
    lossless = archive(tmp_path, a, "l.szg", lossless=True)
    out = tmp_path / "report.html"
    code, text = run(original, archive(tmp_path, a), lossless, "-o", str(out))
    assert code == 0, text
    page = out.read_text("utf-8")
    assert 'class="missed"' not in page and "Both keep all 40,000 values within the bound" in page
    assert re.findall(r'(?:src|href)="(?!data:)', page) == [] and "<script" not in page
    assert page.count("<img") == page.count('alt="') >= 7


def test_raw_files_take_shape_and_type_from_the_archive(tmp_path):
    a = smooth(20, 40, 50)
    a.tofile(tmp_path / "dump.bin")
    out = str(tmp_path / "r.html")
    assert command.main([str(tmp_path / "dump.bin"), archive(tmp_path, a), "-q", "-o", out]) == 0
    a.tofile(tmp_path / "run7_20x40x50.f32")
    found = sources.open_source(
        str(tmp_path / "run7_20x40x50.f32"), type_name=None, dims=None, like=None
    )
    assert found.shape == (20, 40, 50)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_value_beyond_its_bound_is_shown(tmp_path, dtype):
    a = smooth(20, 40, 50, dtype=dtype)
    b = restored(a)
    b[4, 5, 6] = a[4, 5, 6] + 3 * BOUND
    names = save(tmp_path, a=a, b=b)
    text, holds = assembly.build(names[0], names[1:], assembly.Options(bound=BOUND, is_quiet=True))
    assert not holds
    assert "1 of 40,000 values is beyond the bound 0.01" in text and "at [4, 5, 6]" in text
    assert "the plane [4, :, :]" in text
    out = str(tmp_path / "r.html")
    assert command.main([*names, "--bound", "0.01", "-q", "-o", out]) == 4
    assert command.main([*names, "-q", "-o", out]) == 0
    assert "No bound is known" in Path(out).read_text("utf-8")


@pytest.mark.parametrize("shape", [(3000,), (1, 60, 70), (4, 5, 30, 31), (3, 2000)])
def test_every_number_of_axes_has_a_page(tmp_path, shape):
    a = smooth(*shape)
    names = [*save(tmp_path, a=a), archive(tmp_path, a)]
    assert assembly.build(names[0], names[1:], assembly.Options(is_quiet=True))[1]


def test_fill_and_fortran_and_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    a = smooth(20, 30, 40)
    a[:, :9] = 1e20
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["t"] = a
        file["t"].attrs.update(_FillValue=np.float32(1e20), units="K")
    name = archive(tmp_path, np.asfortranarray(a))
    text, holds = assembly.build(f"{tmp_path}/f.h5:/t", [name], assembly.Options(is_quiet=True))
    assert holds and " K · 7,200 not finite or fill (grey)" in text


@pytest.mark.parametrize("rises", [True, False])
def test_axes_are_named_and_north_is_up(tmp_path, rises, monkeypatch):
    """A field from south to north stood on its head, with axes of numbers."""
    h5py = pytest.importorskip("h5py")
    latitudes = np.linspace(-90, 90, 30)[:: 1 if rises else -1]
    a = smooth(4, 1, 30, 40)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        field = file.create_dataset("t", data=a)
        for axis, (name, values) in enumerate(
            {"month": np.arange(4.0), "z": [0.0], "breite": latitudes, "lon": np.arange(40.0)}.items()
        ):
            file[name] = values
            file[name].make_scale(name)
            field.dims[axis].attach_scale(file[name])
        file["breite"].attrs["units"] = "degrees_north"
    name = f"{tmp_path}/f.h5:/t"
    opened = sources.open_source(name, type_name=None, dims=None, like=None)
    assert opened.axis_names == ("month", "breite", "lon") and opened.is_upward == rises
    drawn = []
    monkeypatch.setattr(figures, "as_svg", lambda figure: drawn.append(figure) or b"")
    assembly.build(name, [archive(tmp_path, a)], assembly.Options(is_quiet=True))
    axes = [ax for figure in drawn for ax in figure.axes if ax.images]
    assert len(axes) == 6 + 2 + 1  # of slices, gradients and blocks
    for ax in axes:
        low, high = ax.get_ylim()
        assert (low < high) == rises and ax.images[0].origin == ("lower" if rises else "upper")
    assert (axes[0].get_ylabel(), axes[3].get_xlabel()) == ("breite", "lon")


def test_sz3_stands_beside(tmp_path):
    pytest.importorskip("pysz")
    a = smooth(20, 40, 50)
    names = [*save(tmp_path, a=a), archive(tmp_path, a)]
    text, _ = assembly.build(names[0], names[1:], assembly.Options(with_sz3=True, is_quiet=True))
    assert "SZ3 at 0.01" in text and "Size and quality" in text


# What it refuses


def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: str) -> str:
    out = tmp_path / "r.html"
    assert command.main([*arguments, "-q", "-o", str(out)]) == 1
    text = capsys.readouterr().err
    assert text.count("\n") == 1 and text.startswith("szgpu.report: ") and not out.exists()
    return text


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_values_without_powers_are_told(tmp_path, capsys):
    """Their figures were infinities and NaN."""
    wide = (RNG.random((32, 32)) * 2 - 1) * 1.7e308
    wide[0, :2] = 1.7e308, -1.7e308
    mixed = smooth(32, 32, dtype="float64")
    mixed[3, 4] = 1e300
    save(tmp_path, wide=wide, tiny=wide / 1e308 * 1e-320, plain=smooth(32, 32, dtype="float64"),
         mixed=mixed, large=smooth(32, 32, dtype="float64") * 1e69)
    for name, words in (("wide", "-1.7e+308 to 1.7e+308, are too large"),
                        ("tiny", "are too close together"), ("large", "")):
        back = archive(tmp_path, np.load(tmp_path / f"{name}.npy"), rel=1e-3)
        code = command.main([str(tmp_path / f"{name}.npy"), back, "-qo", str(tmp_path / "r.html")])
        assert (code == 1) == bool(words) and words in capsys.readouterr().err
    names = [str(tmp_path / f"{name}.npy") for name in ("plain", "mixed")]
    assert command.main([*names, "-qo", str(tmp_path / "r.html")]) == 1
    assert "mixed.npy: is off by 1e+300, which is too much" in capsys.readouterr().err


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_fill_value_must_fit(tmp_path, capsys):
    """As float32, 1e300 was an infinity."""
    a = smooth(32, 32)
    names = [*save(tmp_path, a=a), archive(tmp_path, a)]
    assert command.main([*names, "--fill", "1e300", "-qo", str(tmp_path / "r.html")]) == 1
    assert "--fill 1e+300 does not fit float32: correct it" in capsys.readouterr().err
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=a).attrs["_FillValue"] = 1e300  # which no value can be
    names[0] = f"{tmp_path / 'a.h5'}:a"
    assert command.main([*names, "-qo", str(tmp_path / "r.html")]) == 0


LYING = """
import sys, h5py
with h5py.File(sys.argv[1], "r+") as file:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((32, 32))
    words = (1, 3, 0, 0, 0, 2 << 8, 0, 0, 32, 16)
    properties.set_filter(480, h5py.h5z.FLAG_OPTIONAL, words)
    space = h5py.h5s.create_simple((32, 32))
    h5py.h5d.create(file.id, b"words", h5py.h5t.IEEE_F32LE, space, properties)
"""


def test_hdf5_chunks_that_are_too_short_are_not_read(tmp_path, capsys):
    """HDF5 read beyond them."""
    h5py = pytest.importorskip("h5py")
    a = smooth(32, 32)
    back = archive(tmp_path, a)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, mask, more in (("gzip", 1, {"compression": 1}), ("none", 0, {}),
                                 ("shuffle", 2, {"compression": 1, "shuffle": True})):
            for length in (100, 4096, 5000):
                dataset = file.create_dataset(f"{name}{length}", a.shape, "f4", chunks=a.shape, **more)
                dataset.id.write_direct_chunk((0, 0), (a.tobytes() + bytes(904))[:length], mask)
        layout = h5py.VirtualLayout(a.shape, "f4")
        layout[:] = h5py.VirtualSource(".", "gzip100", a.shape)
        file.create_virtual_dataset("virtual", layout)
    # The plugin would write words that are right.
    subprocess.run([sys.executable, "-c", LYING, tmp_path / "a.h5"], check=True,
                   env={**os.environ, "HDF5_PLUGIN_PATH": ""})
    cases = [(f"{name}{n}", f"has an uncompressed chunk of {n} bytes, which should have 4096")
             for name in ("gzip", "none", "shuffle") for n in (100, 5000)]
    cases += [("virtual", "gzip100 has an uncompressed chunk of 100 bytes"),
              ("words", "has cd_values of szgpu that do not match its chunks"),
              ("gzip4096", ""), ("none4096", "")]
    for name, words in cases:
        original = f"{tmp_path / 'a.h5'}:{name}"
        code = command.main([original, back, "-qo", str(tmp_path / "r.html")])
        assert code == bool(words), name
        assert words in capsys.readouterr().err, name


def test_bad_inputs_are_one_sentence(tmp_path, capsys):
    a = smooth(20, 30)
    good, other, nan, constant, whole, double = save(
        tmp_path, a=a, other=smooth(30, 20), nan=a * np.nan, constant=a * 0 + 3,
        whole=np.arange(600, dtype="i8").reshape(20, 30), double=a.astype("f8"),
    )  # fmt: skip
    name = archive(tmp_path, a)
    (tmp_path / "text.szg").write_text("no archive at all, but a line of text")
    (tmp_path / "short.szg").write_bytes(Path(name).read_bytes()[:200])
    damaged = bytearray(Path(name).read_bytes())
    damaged[len(damaged) * 2 // 3] ^= 1
    (tmp_path / "damaged.szg").write_bytes(damaged)
    (tmp_path / "bytes.bin").write_bytes(b"12345")
    (tmp_path / "empty.szg").touch()
    cases = [
        ([good, other], "20x30"),
        ([good, double], "float64"),
        ([good, archive(tmp_path, smooth(3, 4), "small.szg")], "3x4"),
        ([good, str(tmp_path / "text.szg")], "archive"),
        ([good, str(tmp_path / "short.szg")], "short.szg"),
        ([good, str(tmp_path / "damaged.szg")], "damaged.szg"),
        ([good, str(tmp_path / "empty.szg")], "empty"),
        ([good, str(tmp_path / "bytes.bin")], "no archive"),
        ([good, str(tmp_path / "missing")], "missing"),
        ([good, str(tmp_path)], "folder"),
        ([nan, good], "no finite values"),
        ([constant, good], "constant"),
        ([whole, good], "int64"),
        ([whole, archive(tmp_path, np.arange(600, dtype="i4"), "i.szg", lossless=True)], "int64"),
        ([str(tmp_path / "bytes.bin"), good], "-t"),
        ([good, name, "-t", "f33", "--bound", "-1"], "positive"),
        ([good, name, "--plane", "3"], "--plane"),
        ([good], "required"),
        ([good, *[name] * 9], "too many"),
    ]
    for arguments, said in cases:
        assert said in refused(capsys, tmp_path, *arguments), arguments


# How it looks


def screenshot(folder: Path, page: Path) -> np.ndarray:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    picture = folder / "page.png"
    subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--user-data-dir={folder}/profile", f"--screenshot={picture}", "--window-size=1200,4600",
         page.as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(picture).convert("RGB")).astype(int)


@pytest.mark.parametrize("is_missed", [False, True])
def test_the_page_in_a_browser(tmp_path, is_missed):
    a = smooth(20, 60, 90)
    b = restored(a)
    if is_missed:
        b[9, 30, 40] += 5 * BOUND
    names = save(tmp_path, a=a, b=b)
    out = tmp_path / "r.html"
    code = command.main([*names, "--bound", str(BOUND), "-q", "-o", str(out)])
    assert code == (4 if is_missed else 0)
    pixels = screenshot(tmp_path, out)
    assert pixels.shape == (4600, 1200, 3)
    inked = np.flatnonzero((pixels < 200).any(axis=(1, 2)))
    assert 2500 < inked[-1] < 4590  # all parts are there, and the page ends
    assert (np.diff(inked) < 200).all()  # no part is blank
    left = (pixels[:, :20] < 250).any() or (pixels[:, -20:] < 250).any()
    assert not left  # nothing runs over the margins
    red = (abs(pixels - MISSED) < 12).all(axis=-1)
    assert (red[:500].sum() > 100) == is_missed  # the headline
    assert (red[950:1900, 800:].sum() > 30) == is_missed  # circles in the error's pictures
    assert (red[1900:2500].sum() > 30) == is_missed  # the histogram's mark
    if not is_missed:
        assert red.sum() == 0
    colorful = np.ptp(pixels, axis=-1) > 60
    thirds = [colorful[700:1700, i * 400 : (i + 1) * 400].sum() for i in range(3)]
    assert min(thirds) > 5000  # original, restored and error stand side by side

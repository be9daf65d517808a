"""cuda_fields.py - real fields by szgpu -b cpu and -b cuda: the same archives and values.

SPDX-License-Identifier: BSD-3-Clause

  python3 cuda_fields.py SZGPU [--fields DIR] [--only TEXT]

Fields are raw arrays such as wind_132x73x144.f32, or the same compressed (.f32.zst), in DIR, else in
SZGPU_FIELDS, else in ../shared/datasets beside the checkout. Exit code: 0 all are the same, 1 some
differ, 77 no GPU or no fields (for ctest's SKIP_RETURN_CODE); with SZGPU_REQUIRE_GPU in the
environment a missing GPU is a failure.
"""
import argparse
import ctypes
import ctypes.util
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

RUNS = [["-e", "1e-2"], ["-e", "1e-4"], ["-e", "1e-6"], ["-m", "psnr", "-e", "80"],
        ["-e", "1e-4", "--zstd"], ["-e", "1e-3", "--frame", "33"]]
DECODERS = {"tile": ("auto",), "linear": ("gap-array", "chunked", "self-sync", "all-offsets")}  # by layout


def unpacked(path):
    """The contents of a .zst file, by the command zstd or by its library, which szgpu needs too."""
    if shutil.which("zstd"):
        return subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    library.ZSTD_decompress.restype = ctypes.c_size_t
    with open(path, "rb") as file:
        packed = file.read()
    size = library.ZSTD_getFrameContentSize(packed, ctypes.c_size_t(len(packed)))
    room = ctypes.create_string_buffer(size)
    given = library.ZSTD_decompress(room, ctypes.c_size_t(size), packed,
                                    ctypes.c_size_t(len(packed)))
    if given != size:
        raise RuntimeError(f"{path} cannot be unpacked")
    return room.raw


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode(errors="replace").strip()


def must(*command):
    code, said = run(*command)
    if code:
        raise RuntimeError(f"{' '.join(command[:12])}: exit code {code}: {said}")


def is_same(one, other):
    with open(one, "rb") as a, open(other, "rb") as b:
        return a.read() == b.read()


def place_fields(folder, fields, only):
    """Copies the fields in `folder`, unpacked; returns the paths of the copies."""
    paths = []
    for entry in sorted(os.listdir(fields)):
        found = re.fullmatch(r"(.+_\d+(?:x\d+)*\.(?:f32|f64))(\.zst)?", entry)
        if not found or only not in entry:
            continue
        source, path = os.path.join(fields, entry), os.path.join(folder, found[1])
        if found[2]:
            with open(path, "wb") as file:
                file.write(unpacked(source))
        else:
            shutil.copy(source, path)
        paths.append(path)
    return paths


def compare(szgpu, paths, layout, options):
    """Complaints about one set of options; each backend does all fields in one process."""
    complaints = []
    options = ["--layout", layout, *options]
    for backend in ("cpu", "cuda"):
        must(szgpu, "-z", "-q", "-f", "-b", backend, *options, *paths)
        for path in paths:
            os.replace(path + ".szg", f"{path}.{backend}.szg")
    for path in paths:
        if not is_same(path + ".cpu.szg", path + ".cuda.szg"):
            complaints.append(f"{os.path.basename(path)} {' '.join(options)}: other archives")
    restorers = [("cpu", "auto")] + [("cuda", decoder) for decoder in DECODERS[layout]]
    for backend, decoder in restorers:
        archives = [path + ".cpu.szg" for path in paths]
        must(szgpu, "-x", "-q", "-f", "-b", backend, "--decoder", decoder, *archives)
        for path in paths:
            os.replace(path + ".cpu", f"{path}.{backend}.{decoder}")
    for path in paths:
        for decoder in DECODERS[layout]:
            if not is_same(path + ".cpu.auto", f"{path}.cuda.{decoder}"):
                complaints.append(f"{os.path.basename(path)} {' '.join(options)}: {decoder} "
                                  "restores other values")
    return complaints


def check_gpu(szgpu, folder):
    """Ends the program if the backend is not available."""
    path = os.path.join(folder, "try_1.f32")
    with open(path, "wb") as file:
        file.write(bytes(4))
    code, said = run(szgpu, "-z", "-q", "-f", "-b", "cuda", "-e", "1", path)
    if code == 0:
        return
    print(said)
    is_no_gpu = "no usable GPU" in said and not os.environ.get("SZGPU_REQUIRE_GPU")
    sys.exit(77 if is_no_gpu else 1)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    default_fields = os.environ.get("SZGPU_FIELDS") or os.path.join(here, "../../shared/datasets")
    parser = argparse.ArgumentParser(description="real fields by both backends")
    parser.add_argument("szgpu", help="path of szgpu, built with CUDA")
    parser.add_argument("--fields", default=default_fields, help="folder of the real fields")
    parser.add_argument("--only", default="", help="only fields whose name has this in it")
    asked = parser.parse_args()
    szgpu, failed = os.path.abspath(asked.szgpu), 0
    with tempfile.TemporaryDirectory(prefix="cuda_fields_") as folder:
        check_gpu(szgpu, folder)
        if not os.path.isdir(asked.fields):
            print(f"cuda_fields: skipped, the real fields are not in {asked.fields}")
            return 77
        paths = place_fields(folder, asked.fields, asked.only)
        for layout, options in itertools.product(DECODERS, RUNS):
            try:
                complaints = compare(szgpu, paths, layout, options)
            except (OSError, RuntimeError) as problem:
                complaints = [str(problem)]
            failed += len(complaints)
            print(f"{'FAILED' if complaints else 'ok':6} {layout} {' '.join(options)}, "
                  f"{len(paths)} fields", *complaints, sep="\n  ", flush=True)
    print(f"cuda_fields: {failed} failed")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())

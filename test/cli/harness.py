"""harness.py - a folder for each test, in which it runs the szgpu command.

SPDX-License-Identifier: BSD-3-Clause
"""
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

import numpy as np

# What a shell runs in the background ignores this signal, and so would the command.
signal.signal(signal.SIGINT, signal.default_int_handler)

szgpu = None  # the path of the binary, set by test_cli.py

CUDA_DECODERS = ("gap-array", "chunked")
MOST_DEVICE = 2147483647
WHY = r"no usable GPU \(GPU {}: [^\n]+\)"
NOTE = rf"szgpu: note: the CPU does it: {WHY}\n"


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit code {self.code}\nstdout: {self.out!r}\nstderr: {self.err!r}"


def wave(*dims, dtype="<f4"):
    """Smooth values with a range of about 2, no two of them equal."""
    count = int(np.prod(dims))
    values = np.sin(np.arange(count) * 0.05) + np.arange(count) * 1e-6
    return values.reshape(dims).astype(dtype)


class CliTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="szgpu-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return name

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def field(self, name="wave_10x20.f32", dims=(10, 20), dtype="<f4"):
        return self.write(name, wave(*dims, dtype=dtype).tobytes())

    def archive(self, name="wave_10x20.f32", *options, **how):
        """Makes a field and its archive; returns the archive's name."""
        self.field(name, **how)
        self.succeed("-z", "-q", "-e", "1e-3", *options, name)
        return name + ".szg"

    def large_field(self, name):
        """360 MB, so large that -b auto -j 1 takes a GPU: a ramp, for interpolation, and zeros."""
        with open(self.path(name), "wb") as file:
            file.write(np.linspace(0, 100, 1000000, dtype="f4").tobytes())
            file.truncate(360_000_000)
        return name

    def require_cuda(self, is_wanted=True):
        """Skips the test in a build with or without CUDA, whether or not there is a GPU."""
        has_cuda = "\nCUDA: yes\n" in self.succeed("--version").out
        if has_cuda != is_wanted:
            self.skipTest(f"this build has {'' if has_cuda else 'no '}CUDA")

    def environment(self, asan_options="allocator_may_return_null=1"):
        """Hardly more than the options of sanitizers, which other builds ignore. Hides GPUs, so
        that every machine gives the same."""
        kept = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        kept["ASAN_OPTIONS"] = kept.get("ASAN_OPTIONS", "") + ":" + asan_options
        return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "CUDA_VISIBLE_DEVICES": "-1",
                **kept}

    def start(self, *arguments, **how):
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        how.setdefault("env", self.environment())
        return subprocess.Popen([szgpu, *arguments], cwd=self.folder, **how)

    def run_szgpu(self, *arguments, stdin=b"", binary=False, **how):
        """binary: keeps stdout as bytes. stdin: bytes, or None for /dev/null."""
        process = self.start(*arguments, stdin=subprocess.PIPE, **how)
        out, err = process.communicate(stdin, timeout=120)
        decode = lambda text: "" if text is None else text.decode("utf-8", "surrogateescape")
        return Result(process.returncode, out if binary else decode(out), decode(err))

    def succeed(self, *arguments, **how):
        result = self.run_szgpu(*arguments, **how)
        self.assertEqual(result.code, 0, result)
        return result

    def run_block(self, text):
        """Runs lines of a page in bash, with the command in PATH."""
        folder = os.path.dirname(szgpu)
        environment = self.environment()
        environment["PATH"] = folder + os.pathsep + environment["PATH"]
        done = subprocess.run(["bash", "-euo", "pipefail"], input=text.encode(), cwd=self.folder,
                              env=environment, timeout=120, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, text + done.stdout.decode(errors="replace"))

    def succeed_json(self, *arguments):
        lines = self.succeed("--json", *arguments).out.splitlines()
        self.assertEqual(len(lines), 1, lines)
        return json.loads(lines[0], parse_constant=self.fail)

    def snapshot(self):
        """Every name below the folder, with its kind and content."""
        found = {}
        for parent, folders, files in os.walk(self.folder):
            for name in folders + files:
                path = os.path.join(parent, name)
                status = os.lstat(path)
                content = None
                if stat.S_ISREG(status.st_mode):
                    with open(path, "rb") as file:
                        content = hashlib.sha256(file.read()).hexdigest()
                key = os.path.relpath(path, self.folder)
                found[key] = (stat.S_IFMT(status.st_mode), status.st_mtime_ns, content)
                if stat.S_ISDIR(status.st_mode):
                    found[key] = (stat.S_IFMT(status.st_mode),)
        return found

    def assert_refused(self, arguments, code, sentence, **how):
        """One sentence, the exit code, nothing on stdout, no file made or touched."""
        before = self.snapshot()
        result = self.run_szgpu(*arguments, **how)
        self.assertEqual(result.err, f"szgpu: {sentence}\n", result)
        self.assertEqual((result.code, result.out), (code, ""), result)
        self.assertEqual(self.snapshot(), before)

    def wait_for(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def assert_within(self, original, restored, bound):
        difference = np.abs(original.astype("f8") - restored.astype("f8"))
        self.assertLessEqual(difference.max(), bound)

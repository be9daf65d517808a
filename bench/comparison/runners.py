"""runners.py - run a peer once: in a process of its own, in memory, or by commands with files.

SPDX-License-Identifier: BSD-3-Clause

A runner has a name, a kind (lossy or lossless), threads (how many it uses), what the seconds are
of (timing), and measure(field, bound), which gives a Sample or raises PeerFailure.
"""
import multiprocessing
import os
import resource
import shlex
import signal
import string
import subprocess
import tempfile
import time

import numpy as np

from comparison import peers

IN_MEMORY = "in memory"
OWN_SECONDS = "by its own clock"
WHOLE_PROCESS = "whole process, with files"
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
POISON = 0xA5


class PeerFailure(Exception):
    """What went wrong in a peer, in a few words."""


def last_line(printed):
    """': ' and the last line of what a peer printed, if it printed anything."""
    lines = printed.decode(errors="replace").strip().splitlines()
    return ": " + lines[-1] if lines else ""


def title(runner):
    """The name in tables and pictures; a dagger says that its speeds are not those of a call."""
    return runner.name + ("" if runner.timing == IN_MEMORY else " †")


class Sample:
    def __init__(self, seconds, stored_bytes, restored):
        self.compress_seconds, self.decompress_seconds = seconds
        self.stored_bytes, self.restored = stored_bytes, restored


# ---- in memory, in a process of its own ----

def measure_once(peer, values, bound, clock):
    """((seconds to compress, to decompress), bytes, the restored values). Before decompression
    memory of the field's size is poisoned and given back, so that what a peer does not write does
    not look like values."""
    start = clock()
    packed = peer.compress(values, bound)
    middle = clock()
    np.full(values.nbytes, POISON, np.uint8)
    begin = clock()
    restored = peer.decompress(packed, values)
    end = clock()
    return (middle - start, end - begin), len(packed), restored


def serve(connection, log, mode, name, threads, clock_name):
    """What the process of a peer does: it makes the peer, then measures until the pipe closes.
    What the peer prints goes to the file log."""
    log_file = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(log_file, 1)
    os.dup2(log_file, 2)
    entry = next(entry for entry in peers.entries_of(mode) if entry.name == name)
    try:
        peer = entry.make(threads)
    except Exception as error:  # a package may raise anything if its own parts do not fit
        connection.send(f"{type(error).__name__}: {error}")
        return
    connection.send(None)
    values = None
    while True:
        try:
            new_values, bound = connection.recv()
        except EOFError:
            return
        values = values if new_values is None else new_values
        try:
            answer = measure_once(peer, values, bound, CLOCKS[clock_name])
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        connection.send(answer)


class InMemory:
    """A peer of peers.entries_of(mode). After any failure its process ends, and starts again when needed:
    libraries are not always of use after an error."""

    timing = IN_MEMORY

    def __init__(self, entry, mode, threads, clock, timeout):
        self.name, self.kind = entry.name, entry.kind
        self.threads = threads if entry.is_threaded else 1
        self.arguments = mode, entry.name, threads, clock
        self.timeout, self.process, self.field = timeout, None, None
        self.log = tempfile.NamedTemporaryFile(prefix="compare_")
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, daemon=True,
                                       args=(theirs, self.log.name, *self.arguments))
        self.process.start()
        theirs.close()
        self.field = None
        self.answer()

    def answer(self):
        """What the process sends; its failures and those of the peer are raised."""
        try:
            if not self.connection.poll(self.timeout):
                self.close()
                raise PeerFailure(f"it took more than {self.timeout:g} s")
            got = self.connection.recv()
        except (EOFError, ConnectionResetError):
            raise PeerFailure(self.how_it_ended()) from None
        if isinstance(got, str):
            self.close()
            raise PeerFailure(got)
        return got

    def how_it_ended(self):
        self.process.join()
        code, self.process = self.process.exitcode, None
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"its process ended by {how}{last_line(self.log.read())}"

    def measure(self, field, bound):
        if self.process is None:
            self.start()
        self.connection.send((None if self.field is field else field.values, bound))
        self.field = field
        return Sample(*self.answer())

    def close(self):
        if self.process is not None:
            self.process.terminate()
            self.process.join()
            self.process = None


# ---- commands ----

PLACES = ("input", "archive", "output", "bound", "dims", "fastest_first", "ndim", "count", "type",
          "threads", "seconds")


class TemplateError(Exception):
    """A template that is none, in one sentence."""


def parse_template(text):
    """(name, the words of the command that compresses, of the one that restores)."""
    name, equals, commands = text.partition("=")
    if not equals or not name.strip():
        raise TemplateError(f"--peer '{text}' has no name before a '='.")
    lexer = shlex.shlex(commands, posix=True, punctuation_chars=";")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError as error:
        raise TemplateError(f"--peer '{text}': {error}.") from error
    if words.count(";") != 1 or words[0] == ";" or words[-1] == ";":
        raise TemplateError(f"--peer '{text}' must have two commands with a ';' between them.")
    places = set()
    try:
        for word in words:
            places |= {place for _, place, _, _ in string.Formatter().parse(word)
                       if place is not None}
    except ValueError as error:
        raise TemplateError(f"--peer '{text}': {error}; a brace is written {{{{.") from error
    unknown = places - set(PLACES)
    if unknown:
        raise TemplateError(f"--peer '{text}' has the unknown place {{{sorted(unknown)[0]}}}; "
                            f"there are {', '.join(PLACES)}.")
    for place in ("input", "archive", "output"):
        if place not in places:
            raise TemplateError(f"--peer '{text}' does not say where {{{place}}} goes.")
    end = words.index(";")
    return name.strip(), words[:end], words[end + 1:]


class Command:
    """Two commands, which work on files. The seconds are those of the whole process, unless a
    command has {seconds}: a file to which it writes its own."""

    def __init__(self, name, compress, restore, threads, clock, timeout, kind=peers.LOSSY):
        self.name, self.kind, self.threads = name, kind, threads
        self.commands = compress, restore
        self.is_cpu_time, self.timeout = clock == "cpu", timeout
        has_own = all(any("{seconds}" in word for word in words) for words in self.commands)
        self.timing = OWN_SECONDS if has_own else WHOLE_PROCESS

    def words(self, command, places, shape):
        filled = []
        for word in command:
            if word == "{fastest_first}":  # as many words as the field has dims
                filled += [str(dim) for dim in reversed(shape)]
            else:
                filled.append(word.format(**places))
        return filled

    def run(self, words, seconds_file):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=self.timeout, check=False)
        except OSError as error:
            raise PeerFailure(f"{words[0]} cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise PeerFailure(f"it took more than {self.timeout:g} s") from error
        seconds = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise PeerFailure(f"{words[0]} ended with {done.returncode}{last_line(done.stdout)}")
        if os.path.exists(seconds_file):
            return own_seconds(words[0], seconds_file)
        if self.is_cpu_time:
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return seconds

    def measure(self, field, bound):
        with tempfile.TemporaryDirectory(prefix="compare_") as folder:
            path = {name: os.path.join(folder, name)
                    for name in ("archive", "output", "seconds")}
            path["input"] = field.save(folder)
            # {output} ends as the input does, for commands that tell the type by the name.
            path["output"] = os.path.join(folder, f"back_{field.dims()}.{field.kind}")
            places = {**path, "bound": repr(bound), "dims": field.dims(), "type": field.kind,
                      "ndim": field.values.ndim, "count": field.values.size,
                      "threads": self.threads, "fastest_first": ""}
            compress, restore = (self.words(command, places, field.values.shape)
                                 for command in self.commands)
            first = self.run(compress, path["seconds"])
            if not os.path.isfile(path["archive"]):
                raise PeerFailure("it made no archive")
            os.remove(path["input"])  # what is restored comes from the archive alone
            if os.path.exists(path["seconds"]):
                os.remove(path["seconds"])
            second = self.run(restore, path["seconds"])
            if not os.path.isfile(path["output"]):
                raise PeerFailure("it made no output")
            content = np.fromfile(path["output"], np.uint8)
            if content.size != field.values.nbytes:
                raise PeerFailure(f"it restored {content.size} bytes, not {field.values.nbytes}")
            restored = content.view(field.values.dtype).reshape(field.values.shape)
            return Sample((first, second), os.path.getsize(path["archive"]), restored)

    def close(self):
        pass


def own_seconds(command, path):
    with open(path, encoding="utf-8") as file:
        text = file.read().strip()
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise PeerFailure(f"{command} wrote '{text[:40]}' to {{seconds}}")
    return seconds


def szgpu_commands(path, mode, threads, clock, timeout):
    """szgpu by its command, as the entries of the package have it."""
    def one(name, kind, *options):
        pack = [path, "-z", "-q", "-f", "-j", "{threads}", *options, "-o", "{archive}", "{input}"]
        back = [path, "-x", "-q", "-f", "-j", "{threads}", "-o", "{output}", "{archive}"]
        return Command(name, pack, back, threads, clock, timeout, kind)
    bounded = ["-m", "pwrel" if mode == "pwrel" else "abs", "-e", "{bound}"]
    return [one("szgpu", peers.LOSSY, *bounded),
            one("szgpu lorenzo", peers.LOSSY, *bounded, "--predictor", "lorenzo"),
            one("szgpu lossless", peers.LOSSLESS, "-m", "lossless")]

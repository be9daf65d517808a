"""cases_completion.py - completion in bash and zsh, and --help, have every option of the command.

SPDX-License-Identifier: BSD-3-Clause

The options are those of the tables in apps/szgpu/option_names.c, and the values those that the
command lists when it is given a wrong one.
"""
import os
import pty
import re
import select
import shutil
import subprocess
import time

from cases_docs import ROOT
from harness import CliTest

FOLDER = os.path.join(ROOT, "apps", "szgpu", "completion")
WITH_NAMES = ("-m", "-t", "-b", "--layout", "--predictor", "--decoder")


def option_table():
    """Each option, and whether it takes a value: "no", "required" or "optional"."""
    with open(os.path.join(ROOT, "apps", "szgpu", "option_names.c"), encoding="utf-8") as file:
        text = file.read()
    letters = re.search(r'option_letters\[\] = ":([^"]+)"', text)[1]
    found = {f"-{letter}": "required" if colon else "no"
             for letter, colon in re.findall(r"(\w)(:?)", letters)}
    for name, takes in re.findall(r'\{"([\w-]+)", (no|required|optional)_argument', text):
        found["--" + name] = takes
    return found


class Completion(CliTest):
    def names_of(self, option):
        said = self.run_szgpu("-z", option, "no such name", "x").err
        return set(re.search(r"; choose from (.+)\n", said)[1].split())

    def bash(self, *words):
        """What bash offers for the last of these words."""
        script = (f'source "{FOLDER}/szgpu.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  "_szgpu; printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-uc", script, "bash", "szgpu", *words], cwd=self.folder,
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split("\n")) - {""}

    def zsh(self):
        """The specs that zsh's completion gives to _arguments: option, then what follows it."""
        if not shutil.which("zsh"):
            self.skipTest("there is no zsh")
        script = f'words=(szgpu); _arguments() {{ print -rl -- "$@" }}; source "{FOLDER}/_szgpu"'
        done = subprocess.run(["zsh", "-fc", script], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        spec = re.compile(r"^(?:\([^)]*\))?(--?[\w-]+?)(=-)?\[[^]]+\](.*)$", re.MULTILINE)
        return {option: "optional" if equals else "required" if rest else "no"
                for option, equals, rest in spec.findall(done.stdout)}, done.stdout

    def test_the_help_has_every_option(self):
        shown = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", self.succeed("--help").out))
        self.assertEqual(set(option_table()) - shown, {"-h"})

    def test_bash_offers_every_option(self):
        options = option_table()
        self.assertEqual(self.bash("-"), set(options) | {"--zstd="})
        self.assertEqual(self.bash("--me"), {"--memory", "--memory-limit"})
        for option, takes in options.items():
            after = self.bash(option, "-")
            self.assertEqual(after, set() if takes == "required" else self.bash("-"), option)

    def test_bash_offers_names(self):
        for option in WITH_NAMES:
            self.assertEqual(self.bash("-z", option, ""), self.names_of(option), option)

    def test_bash_offers_files(self):
        for name in ("a b.f32", "a b.f32.szg"):
            self.write(name, b"")
        os.mkdir(self.path("all of them"))
        self.assertEqual(self.bash("-z", "a"), {"a b.f32", "a b.f32.szg", "all of them"})
        for option in ("-x", "-l", "--test"):
            self.assertEqual(self.bash(option, "a"), {"a b.f32.szg", "all of them"})
        self.assertEqual(self.bash("-x", "--compare", "a b"), {"a b.f32", "a b.f32.szg"})
        self.assertEqual(self.bash("-z", "-e", ""), set())

    def test_zsh_offers_every_option_and_name(self):
        specs, text = self.zsh()
        self.assertEqual(specs, option_table())
        for option in WITH_NAMES:
            names = re.search(rf"^{option}\[.*:\(([^)]*)\)$", text, re.MULTILINE)[1]
            self.assertEqual(set(names.split()), self.names_of(option), option)

    def test_zsh_completes_on_a_terminal(self):
        self.zsh()  # or skips
        self.write("one.f32.szg", b"")
        self.write("one.f32", b"")
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.environ["TERM"] = "dumb"
            os.execlp("zsh", "zsh", "-f", "-i")
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.waitpid, child, 0)
        os.write(terminal, f"PS1=; fpath=({FOLDER} $fpath); autoload -Uz compinit; compinit -D; "
                 "szgpu() { print -r -- \"[$*]\" }; print rea''dy\n".encode())
        self.read_until(terminal, "ready")
        os.write(terminal, b"szgpu --swe\t1e-3 --pred\tlor\t -x on\t\n")
        self.read_until(terminal, "[--sweep 1e-3 --predictor lorenzo -x one.f32.szg]")
        os.write(terminal, b"exit\n")

    def read_until(self, terminal, wanted):
        text, end = "", time.monotonic() + 60
        while wanted not in text:
            self.assertLess(time.monotonic(), end, text)
            if select.select([terminal], [], [], 1)[0]:
                text += os.read(terminal, 4096).decode(errors="replace")

#!/usr/bin/env python3
"""test_headers.py - the public headers compile without warnings, and all that they are for.

SPDX-License-Identifier: BSD-3-Clause

usage: test_headers.py SOURCE BINARY [--hdf5 FOLDER...] [COMPILER...]

Reads include/ of both folders with gcc and clang, and the compilers given, in every standard that
users have: each header alone, test/install/header.c, and each SZGPU_..._DEFAULTS as a variable in a
file, in a function, in an expression. With the folders of HDF5's headers, separated by colons,
also what szgpu_hdf5.h has for programs that use HDF5. A warning is a failure.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

C = (("c99",), ("c11",), ("c17",), ("c23", "c2x"))  # a standard by its names
CXX = (("c++11",), ("c++14",), ("c++17",), ("c++20",))
CXX17 = ("c++17", "c++20")  # for szgpu.hpp
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow",
         "-Wmissing-field-initializers", "-Werror", "-fsyntax-only"]
LEAST_DEFAULTS = 5


def defaults_of(headers):
    """The macros SZGPU_X_DEFAULTS; each is for the struct szgpu_x."""
    macros = []
    for header in headers:
        with open(header, encoding="utf-8") as file:
            macros += re.findall(r"^#define (SZGPU_\w+_DEFAULTS)\b", file.read(), re.MULTILINE)
    return macros


def use_defaults(names, macros):
    """A source that uses each macro wherever one may stand."""
    lines = [f"#include <{name}>" for name in names]
    for macro in macros:
        struct = macro[:-len("_DEFAULTS")].lower()
        lines += [f"static const {struct} {struct}_of_file = {macro};",
                  f"size_t use_{struct}(void);", f"size_t use_{struct}(void) {{",
                  f"  {struct} local = {macro};", f"  {struct} several[2] = {{{macro}, {macro}}};",
                  "#ifdef __cplusplus", f"  local = {struct} {macro};", "#else",
                  f"  local = ({struct}){macro};", "#endif",
                  f"  return local.struct_bytes + several[1].struct_bytes +"
                  f" {struct}_of_file.struct_bytes;", "}"]
    return "\n".join(lines) + "\n"


def known_standard(compiler, language, names):
    for name in names:
        done = subprocess.run([compiler, f"-std={name}", "-x", language, "-fsyntax-only", "-"],
                              input=b"", capture_output=True, check=False)
        if done.returncode == 0:
            return name
    return None


def main():
    source, binary, *more = sys.argv[1:]
    hdf5 = []
    if more[:1] == ["--hdf5"]:
        hdf5 = [f"-isystem{folder}" for folder in more[1].split(":")]
        more = more[2:]
    include = os.path.join(source, "include")
    made = os.path.join(binary, "include")
    headers = [os.path.join(folder, name) for folder in (include, made)
               for name in sorted(os.listdir(folder)) if name.endswith(".h")]
    names = [os.path.basename(header) for header in headers]
    macros = defaults_of(headers)
    failures, runs = [], 0
    if len(macros) < LEAST_DEFAULTS or "szgpu.h" not in names:
        failures.append(f"only {names} with {macros} were found")
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(source, "test", "install", "header.c")]
        texts = {f"only_{name}": f"#include <{name}>\n" for name in names}
        texts["defaults"] = use_defaults(names, macros)
        if hdf5:
            texts["hdf5"] = "#include <hdf5.h>\n#include <szgpu_hdf5.h>\n"
        for stem, text in texts.items():
            files.append(os.path.join(folder, stem + ".c"))
            with open(files[-1], "w", encoding="utf-8") as file:
                file.write(text)
        cxx17 = [os.path.join(folder, "hpp.cpp")]
        with open(cxx17[0], "w", encoding="utf-8") as file:
            file.write("#include <szgpu.hpp>\n")
        compilers = dict.fromkeys(["gcc", "clang", "g++", "clang++", *more])
        for compiler in compilers:
            if not shutil.which(compiler):
                print(f"skipped: {compiler} is not there")
                continue
            language, standards = ("c++", CXX) if "++" in compiler else ("c", C)
            for standard in standards:
                name = known_standard(compiler, language, standard)
                if not name:
                    print(f"skipped: {compiler} does not know {standard[0]}")
                    continue
                for file in files + (cxx17 if standard[0] in CXX17 else []):
                    done = subprocess.run(
                        [compiler, f"-std={name}", *FLAGS, *hdf5, f"-I{include}", f"-I{made}",
                         "-x", language, file], capture_output=True, text=True, check=False)
                    runs += 1
                    if done.returncode != 0:
                        what = f"{compiler} -std={name} {os.path.basename(file)}"
                        failures.append(f"{what}:\n{done.stderr}")
    print("\n".join(failures) + f"{runs} files were read, {len(failures)} with warnings")
    return 1 if failures or runs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

"""test_layout.py - constants, structs and defaults of szgpu.f90 are those of the headers.

SPDX-License-Identifier: BSD-3-Clause

usage: test_layout.py SOURCE C_COMPILER FORTRAN_COMPILER FOLDER

A C program prints the value of each constant in the headers, and size, place and default of each
member of the structs that szgpu.f90 has. A Fortran program prints the same of a copy of the module's
head in which everything is public. Their lines must be equal.
"""
import os
import pathlib
import re
import subprocess
import sys

SOURCE, CC, FC, FOLDER = sys.argv[1:]
sys.path.insert(0, os.path.join(SOURCE, "scripts"))
import check_abi  # noqa: E402

# Constants of calls that the module does not have.
NOT_HERE = {"SZGPU_MAX_ASYNC_ITEMS", "SZGPU_MAX_CTXS", "SZGPU_MAX_SECTIONS"}
# Those that Fortran, which does not know capitals, would take for procedures.
RENAMED = {"SZGPU_SERIES_READ": "ACCESS_READ", "SZGPU_SERIES_APPEND": "ACCESS_APPEND"}
WITH_DEFAULTS = ("params", "options", "info", "step")

C_HEAD = r"""
#include <stddef.h>
#include <stdio.h>
#include <szgpu_series.h>
static void value(const char *name, const void *at, size_t size) {
  printf("%s default ", name);
  for (size_t i = 0; i < size; i++) printf("%02X", ((const unsigned char *)at)[i]);
  printf("\n");
}
int main(void) {
"""
FORTRAN_HEAD = """
program layout
  use szgpu
  implicit none
  integer(int8), allocatable :: bytes(:)
"""


def declared():
    """(constants by name, members of structs by name), of the headers."""
    constants, structs = {}, {}
    for line in check_abi.declared(check_abi.HEADERS, CC):
        if constant := re.match(r"const _(SZGPU_\w+) = ", line):
            constants[constant[1]] = RENAMED.get(constant[1], constant[1])
        elif struct := re.match(r"type _szgpu_(\w+) struct \{ (\w.*); \}$", line):
            names = [member.split()[0] for member in struct[2].split("; ")]
            structs[struct[1]] = [name for name in names if not name.startswith("Godump")]
    return constants, structs


def programs(constants, structs, here):
    """The two programs' sources."""
    c, declarations, fortran = [C_HEAD], [FORTRAN_HEAD], []
    for name, there in constants.items():
        c.append(f'printf("{name} %d\\n", (int){name});')
        fortran.append(f"  print '(a, 1x, i0)', '{name}', {there}")
    for struct in here:
        start = f"= SZGPU_{struct.upper()}_DEFAULTS" if struct in WITH_DEFAULTS else "= {0}"
        c.append(f"szgpu_{struct} {struct} {start};")
        c.append(f'printf("{struct} %zu\\n", sizeof {struct});')
        declarations.append(f"  type(szgpu_{struct}), target :: {struct}")
        fortran.append(f"  print '(a, 1x, i0)', '{struct}', c_sizeof({struct})")
        for member in structs[struct]:
            place, name = f"{struct}.{member}", f"{struct}%{member}"
            c.append(f'printf("{place} %zu %zu\\n", offsetof(szgpu_{struct}, {member}), '
                     f"sizeof {place});")
            fortran.append(
                f"  print '(a, 2(1x, i0))', '{place}', transfer(c_loc({name}), 0_c_intptr_t) - &\n"
                f"    transfer(c_loc({struct}), 0_c_intptr_t), size(transfer({name}, bytes))")
            if member != "struct_bytes":  # which the calls set
                c.append(f'value("{place}", &{place}, sizeof {place});')
                fortran.append(f"  bytes = transfer({name}, bytes)\n"
                               f"  print '(a, *(z2.2))', '{place} default ', bytes")
    c.append("return 0; }")
    return "\n".join(c), "\n".join(declarations + fortran + ["end program", ""])


def run(*command):
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"test_layout.py: {command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines()


def names(module, table):
    """The words in a table of the module."""
    return re.findall(r"'(\w+)'", re.search(table + r"\(0:\d+\) = (.*?)\]", module, re.DOTALL)[1])


def main():
    folder = pathlib.Path(FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    module = pathlib.Path(SOURCE, "include", "szgpu.f90").read_text(encoding="utf-8")
    public = re.sub(r"^ *private$", "", module.partition("  ! --- Objects")[0], flags=re.M)
    constants, structs = declared()
    here = re.findall(r"^  type, bind\(C\)(?:, public)? :: szgpu_(\w+)$", module, re.MULTILINE)
    missing = [name for name in NOT_HERE if name not in constants]
    for name in NOT_HERE - set(missing):
        del constants[name]
    if missing or len(here) < 7 or len(constants) < 70:
        sys.exit(f"test_layout.py: found {len(constants)} constants, structs {here}, not {missing}")

    c, fortran = programs(constants, structs, here)
    for name, text in (("layout.c", c), ("szgpu.f90", public + "end module\n"), ("layout.f90", fortran)):
        (folder / name).write_text(text, encoding="utf-8")
    run(CC, "-std=c11", f"-I{SOURCE}/include", "-o", "of_c", "layout.c")
    run(FC, "-c", "szgpu.f90", "-o", "module.o")
    run(FC, "-c", "layout.f90", "-o", "layout.o")
    run(FC, "layout.o", "module.o", "-o", "of_fortran")
    of_c, of_fortran = run("./of_c"), run("./of_fortran")
    faults = [f"{'in C' if line in of_c else 'in Fortran'}: {line}"
              for line in sorted(set(of_c) ^ set(of_fortran))]
    header = check_abi.HEADERS[0].read_text(encoding="utf-8")
    dtypes = re.search(r"typedef enum szgpu_dtype \{(.*?)\}", header, re.DOTALL)[1]
    if names(module, "status_names") != re.findall(r"  X\((SZGPU_\w+), \"", header):
        faults.append("status_names differs from SZGPU_STATUS_LIST")
    if names(module, "dtype_names") != re.findall(r"szgpu_(\w+) =", dtypes.lower()):
        faults.append("dtype_names differs from szgpu_dtype")
    print("\n".join(faults + [f"{len(of_c)} lines, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""test_recipes.py - the recipes of packaging/ name options, versions and files that there are.

SPDX-License-Identifier: BSD-3-Clause

usage: test_recipes.py
Spack and conda are not there, so nothing is built here: package.py runs with a stand-in for Spack's
words, and meta.yaml is read as YAML, with a word for each expression of its templates.
"""
import itertools
import pathlib
import re
import sys
import types
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
CMAKE = "\n".join(path.read_text() for path in
                  [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))])
OPTIONS = set(re.findall(r"option\((\w+) ", CMAKE)) | set(re.findall(r"set\((\w+) [^)]*CACHE", CMAKE))
OF_CMAKE = {"CMAKE_BUILD_TYPE", "CMAKE_CUDA_ARCHITECTURES", "HDF5_ROOT"}
LEAST_CMAKE = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", CMAKE)[1]


class Spec:
    """The spec of a build: its variants, and prefixes of dependencies."""

    def __init__(self, variants):
        self.chosen = variants
        self.variants = {name: types.SimpleNamespace(value=value)
                         for name, value in variants.items()}
        self.prefix = "/prefix"

    def __contains__(self, text):
        assert text[0] in "+~", text
        return bool(self.chosen[text[1:]]) == (text[0] == "+")

    def __getitem__(self, name):
        return types.SimpleNamespace(prefix=f"/{name}")


class Package:
    """What Spack's CMakePackage and CudaPackage give to cmake_args."""

    def define(self, name, value):
        text = {True: "ON", False: "OFF"}.get(value, value)
        return f"-D{name}={text}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.spec.chosen[variant])


class Prefix(str):
    def __getattr__(self, name):
        return Prefix(f"{self}/{name}")


def spack_package():
    """The class of package.py, and what its directives said: [word, arguments, options]."""
    said = []
    words = {word: lambda *arguments, word=word, **options: said.append((word, arguments, options))
             for word in ("license", "version", "variant", "depends_on")}
    stand_in = types.ModuleType("spack.package")
    stand_in.__dict__.update(words, CMakePackage=Package, CudaPackage=type("CudaPackage", (), {}))
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = stand_in
    path = ROOT / "packaging" / "spack" / "packages" / "szgpu" / "package.py"
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102
    return names["Szgpu"], said


def conda_recipe():
    text = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    text = re.sub(r"^\{%.*%\}$", "", text, flags=re.MULTILINE)
    return yaml.safe_load(re.sub(r"\{\{ *(\w+)(?:\(\"(\w+)\".*?\))? *\}\}", r"\1 \2", text))


class Spack(unittest.TestCase):
    def test_every_variant_gives_options_of_cmake(self):
        package, said = spack_package()
        variants = [arguments[0] for word, arguments, _ in said if word == "variant"]
        self.assertEqual(variants, ["shared", "hdf5"])
        for values in itertools.product((True, False), repeat=3):
            for archs in (("none",), ("80", "90")):
                made = package()
                made.spec = Spec({**dict(zip([*variants, "cuda"], values)), "cuda_arch": archs})
                args = dict(re.fullmatch(r"-D(\w+)=(.+)", arg).groups() for arg in made.cmake_args())
                self.assertEqual(set(args) - OPTIONS - OF_CMAKE, set())
                self.assertEqual([args[name] == "ON" for name in
                                  ("BUILD_SHARED_LIBS", "SZGPU_HDF5", "SZGPU_CUDA")],
                                 list(values))
                self.assertEqual(args.get("CMAKE_CUDA_ARCHITECTURES"),
                                 "80;90" if values[2] and archs[0] != "none" else None)

    def test_it_depends_on_what_cmake_asks_for(self):
        _, said = spack_package()
        needs = {arguments[0]: options.get("when")
                 for word, arguments, options in said if word == "depends_on"}
        self.assertIn(f"cmake@{LEAST_CMAKE}:", needs)
        for name in ("pkgconfig", "zstd", "xxhash", "c"):
            self.assertIsNone(needs[name])
        cuda = re.search(r"needs CUDA ([\d.]+)", CMAKE)[1]
        self.assertEqual((needs["hdf5@1.10:"], needs[f"cuda@{cuda}:"]), ("+hdf5", "+cuda"))

    def test_the_plugin_is_found(self):
        package, _ = spack_package()
        made, folders = package(), []
        made.spec, made.prefix = Spec({"hdf5": True}), Prefix("/prefix")
        made.setup_run_environment(types.SimpleNamespace(
            prepend_path=lambda name, value: folders.append((name, str(value)))))
        self.assertIn(("HDF5_PLUGIN_PATH", "/prefix/lib/hdf5/plugin"), folders)


class Conda(unittest.TestCase):
    def test_its_expressions_find_the_version(self):
        text = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
        file, pattern = re.search(r"load_file=\"(.+?)\", regex_pattern='(.+?)'", text).groups()
        header = (ROOT / "packaging" / "conda" / file).read_text()
        self.assertRegex(re.search(pattern, header)[1], r"^\d+\.\d+\.\d+$")

    def test_its_script_gives_options_of_cmake(self):
        recipe = conda_recipe()
        names = set(re.findall(r"-D(\w+)=", " ".join(recipe["build"]["script"])))
        self.assertEqual(names - OPTIONS - OF_CMAKE, set())
        self.assertIn("SZGPU_HDF5", names)

    def test_it_depends_on_what_cmake_asks_for(self):
        requirements = conda_recipe()["requirements"]
        self.assertIn(f"cmake >={LEAST_CMAKE}", requirements["build"])
        self.assertLessEqual({"zstd", "xxhash", "hdf5"}, set(requirements["host"]))

    def test_its_files_are_there(self):
        recipe, folder = conda_recipe(), ROOT / "packaging" / "conda"
        self.assertTrue((folder / recipe["source"]["path"] / "CMakeLists.txt").exists())
        self.assertTrue((ROOT / recipe["about"]["license_file"]).exists())
        for name in recipe["test"]["source_files"]:
            self.assertTrue((ROOT / name).exists(), name)


if __name__ == "__main__":
    unittest.main()

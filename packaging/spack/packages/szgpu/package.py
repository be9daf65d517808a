"""package.py - builds szgpu by Spack.

SPDX-License-Identifier: BSD-3-Clause
"""
from spack.package import *


class Szgpu(CMakePackage, CudaPackage):
    """Error-bounded lossy compression of scientific fields, on CPUs and NVIDIA GPUs:
    a C library, a command, and a filter for HDF5 and netCDF-4."""

    license("BSD-3-Clause")

    # A release adds its url and checksum here. main is for `spack dev-build`, in a clone.
    version("main")

    variant("shared", default=True, description="Build a shared library")
    variant("hdf5", default=True, description="Build the filter for HDF5, and read its datasets")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zstd")
    depends_on("xxhash")
    depends_on("hdf5@1.10:", when="+hdf5")
    depends_on("cuda@12.0:", when="+cuda")

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("SZGPU_HDF5", "hdf5"),
            self.define_from_variant("SZGPU_CUDA", "cuda"),
        ]
        archs = self.spec.variants["cuda_arch"].value if "+cuda" in self.spec else ("none",)
        if "none" not in archs:
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(archs)))
        if "+hdf5" in self.spec:
            args.append(self.define("HDF5_ROOT", self.spec["hdf5"].prefix))
        return args

    def setup_run_environment(self, env):
        if "+hdf5" in self.spec:
            env.prepend_path("HDF5_PLUGIN_PATH", self.prefix.lib.hdf5.plugin)
            env.prepend_path("HDF5_PLUGIN_PATH", self.prefix.lib64.hdf5.plugin)

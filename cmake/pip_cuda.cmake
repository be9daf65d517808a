# pip_cuda.cmake - whether pip builds the CUDA backend, and for which GPUs.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sets cuda_default, and CMAKE_CUDA_ARCHITECTURES to those of this machine's GPUs unless the user
# says which. The kernels of one architecture take minutes to compile, so a machine without a GPU
# builds none that it was not asked for.

set(cuda_default OFF)
find_program(SZGPU_NVCC nvcc PATHS /usr/local/cuda/bin DOC "CUDA's compiler")
if(NOT SZGPU_NVCC OR DEFINED SZGPU_CUDA)
  return()
endif()
if(DEFINED CMAKE_CUDA_ARCHITECTURES OR DEFINED ENV{CUDAARCHS})
  set(cuda_default ON)
  return()
endif()

find_program(SZGPU_NVIDIA_SMI nvidia-smi DOC "The program that lists NVIDIA's GPUs")
set(listed "")
if(SZGPU_NVIDIA_SMI)
  execute_process(
    COMMAND ${SZGPU_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE listed ERROR_QUIET)
endif()
string(REGEX MATCHALL "[0-9]+\\.[0-9]" own_architectures "${listed}")
if(own_architectures)
  list(REMOVE_DUPLICATES own_architectures)
  string(REPLACE "." "" own_architectures "${own_architectures}")
  set(cuda_default ON)
  set(CMAKE_CUDA_ARCHITECTURES ${own_architectures})
  message(STATUS "Builds the CUDA backend for this machine's GPUs, ${own_architectures}, which "
                 "takes minutes. For every generation: "
                 "CMAKE_ARGS=-DCMAKE_CUDA_ARCHITECTURES=all-major.")
else()
  message(STATUS "Builds no CUDA backend: nvidia-smi finds no GPU. "
                 "CMAKE_ARGS=-DCMAKE_CUDA_ARCHITECTURES=90 asks for compute capability 9.0, "
                 "=all-major for every generation, which takes long.")
endif()

# cuda.cmake - finds CUDA's compiler and libraries and says for which GPUs to build.
# SPDX-License-Identifier: BSD-3-Clause

if(SZGPU_SANITIZE)
  message(FATAL_ERROR "SZGPU_CUDA and SZGPU_SANITIZE do not go together: the host's sanitizers "
                      "know no GPU. scripts/gpu_check.sh --sanitize runs CUDA's own.")
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(SZGPU_NVCC nvcc PATHS /usr/local/cuda/bin DOC "CUDA's compiler")
  if(NOT SZGPU_NVCC)
    message(FATAL_ERROR "SZGPU_CUDA needs CUDA's compiler, nvcc: install the CUDA toolkit, 12.0 or "
                        "later, or say where it is with -DCMAKE_CUDA_COMPILER=.")
  endif()
  set(CMAKE_CUDA_COMPILER ${SZGPU_NVCC})
endif()

# Builds for one architecture of each generation that nvcc knows, unless the user says which. CMake
# knows all-major since 3.23; before, nvcc gets it as an option.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  if(CMAKE_VERSION VERSION_LESS 3.23)
    set(CMAKE_CUDA_ARCHITECTURES OFF)
    set(SZGPU_CUDA_ARCHITECTURE_FLAGS -arch=all-major)
  else()
    set(CMAKE_CUDA_ARCHITECTURES all-major)
  endif()
  message(STATUS "Builds for every generation of GPUs, which takes 20 minutes and more. "
                 "-DCMAKE_CUDA_ARCHITECTURES=native builds for the GPUs of this machine.")
endif()

enable_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER_ID STREQUAL NVIDIA OR CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
  message(FATAL_ERROR "SZGPU_CUDA needs nvcc 12.0 or later; this is ${CMAKE_CUDA_COMPILER_ID} "
                      "${CMAKE_CUDA_COMPILER_VERSION}.")
endif()
find_package(CUDAToolkit REQUIRED)

# Takes about a third of the space of nvcc's default, which every driver of CUDA 13 can read.
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
  set(SZGPU_CUDA_SIZE_FLAGS --compress-mode=size)
endif()

set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)

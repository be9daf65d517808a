# test_pip_cuda.cmake - what pip builds for GPUs, by what a stand-in for nvidia-smi says.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: cmake -DWORK=FOLDER -P test_pip_cuda.cmake

set(pip_cuda ${CMAKE_CURRENT_LIST_DIR}/../../cmake/pip_cuda.cmake)
file(MAKE_DIRECTORY ${WORK})

# expect(<name> <cuda_default> <architectures> <what nvidia-smi does> [<variable> <value>])
function(expect name wanted wanted_architectures does)
  unset(ENV{CUDAARCHS})
  foreach(program nvcc nvidia-smi)
    file(WRITE ${WORK}/${name}/${program} "#!/bin/sh\n${does}\n")
    file(CHMOD ${WORK}/${name}/${program} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endforeach()
  set(SZGPU_NVCC ${WORK}/${name}/nvcc)
  set(SZGPU_NVIDIA_SMI ${WORK}/${name}/nvidia-smi)
  if(ARGC EQUAL 6)
    set(${ARGV4} ${ARGV5})
  endif()
  include(${pip_cuda})
  if(NOT "${cuda_default}/${CMAKE_CUDA_ARCHITECTURES}" STREQUAL "${wanted}/${wanted_architectures}")
    message(SEND_ERROR "${name}: ${cuda_default} for '${CMAKE_CUDA_ARCHITECTURES}', not ${wanted} "
                        "for '${wanted_architectures}'")
  endif()
endfunction()

expect(one_gpu ON "90" "echo 9.0")
expect(several ON "90;86;120" "printf '9.0\\n8.6\\n9.0\\n12.0\\n'")
expect(no_driver OFF "" "echo 'NVIDIA-SMI has failed' >&2; exit 9")
expect(no_gpu OFF "" "echo 'No devices were found'; exit 6")
expect(asked ON "all-major" "echo 9.0" CMAKE_CUDA_ARCHITECTURES all-major)
expect(asked_without_a_gpu ON "80" "exit 9" CMAKE_CUDA_ARCHITECTURES 80)
expect(said_off OFF "" "echo 9.0" SZGPU_CUDA OFF)

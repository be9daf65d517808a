# functions.cmake - szgpu_add_test, szgpu_register_test, and settings that the tests need.
# SPDX-License-Identifier: BSD-3-Clause

find_package(Threads REQUIRED)
pkg_check_modules(cmocka QUIET IMPORTED_TARGET cmocka)
if(NOT cmocka_FOUND)
  message(FATAL_ERROR "The tests need cmocka: install the package libcmocka-dev, "
                      "or configure with -DSZGPU_TESTS=OFF.")
endif()

# Python tests share no code with the library; they need numpy.
foreach(candidate /usr/bin/python3 python3)
  if(NOT SZGPU_PYTHON)
    execute_process(COMMAND ${candidate} -c "import sys, numpy; print(sys.executable)"
                    OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE
                    RESULT_VARIABLE failed ERROR_QUIET)
    if(failed EQUAL 0)
      set(SZGPU_PYTHON ${python} CACHE FILEPATH "A Python 3 that has numpy")
    endif()
  endif()
endforeach()
if(NOT SZGPU_PYTHON)
  message(FATAL_ERROR "The tests need Python 3 with numpy: install the package python3-numpy, "
                      "or configure with -DSZGPU_TESTS=OFF.")
endif()

# Registers a test with a tier, a time limit, and exit code 77 for "skipped". The limit ends what
# hangs. Tests take minutes at most, so that a machine many times slower does not meet it.
# szgpu_register_test(<name> [LABELS <tier>...] [TIMEOUT <seconds>] [PROCESSORS <count>]
#                     COMMAND <command>...)
function(szgpu_register_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;PROCESSORS" "LABELS;COMMAND")
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 3600)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS}
    SKIP_RETURN_CODE 77)
endfunction()

# A cmocka test of test_<name>.c, linked with the library for tests, so that it can call functions
# that users' libraries hide. With LINK_OPTIONS it has the library's objects itself, because the
# linker wraps calls (-Wl,--wrap) only in objects of the program itself.
# szgpu_add_test(<name> [LABELS <tier>...] [LINK_OPTIONS <option>...]
#                [SOURCES <more>...] [ARGS <argument>...])
function(szgpu_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;LINK_OPTIONS;SOURCES;ARGS")
  add_executable(test_${name} test_${name}.c ${arg_SOURCES})
  target_include_directories(test_${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_options(test_${name} PRIVATE ${SZGPU_FLOAT_FLAGS} ${SZGPU_WARNING_FLAGS})
  target_compile_definitions(test_${name} PRIVATE
    SZGPU_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(test_${name} PRIVATE PkgConfig::cmocka Threads::Threads m)
  if(arg_LINK_OPTIONS)
    target_link_libraries(test_${name} PRIVATE
      szgpu_objects $<TARGET_NAME_IF_EXISTS:CUDA::cudart_static>)
    target_link_options(test_${name} PRIVATE ${arg_LINK_OPTIONS})
  else()
    szgpu_link_for_tests(test_${name})
  endif()
  set_property(TARGET test_${name} PROPERTY LINKER_LANGUAGE C) # even if the library has CUDA
  szgpu_register_test(${name} LABELS ${arg_LABELS}
    COMMAND test_${name} ${arg_ARGS})
endfunction()

# Registers tests again: test_<name> with SZGPU_TEST_LAYOUT=linear.
# szgpu_in_linear_layout(LABELS <tier>... NAMES <name>...)
function(szgpu_in_linear_layout)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "LABELS;NAMES")
  foreach(name ${arg_NAMES})
    szgpu_register_test(${name}_linear LABELS ${arg_LABELS}
      COMMAND test_${name})
    set_tests_properties(${name}_linear PROPERTIES ENVIRONMENT SZGPU_TEST_LAYOUT=linear)
  endforeach()
endfunction()

# Only one test at a time uses the GPU.
# szgpu_use_gpu(<name of a test> [<target>...])
function(szgpu_use_gpu name)
  set_tests_properties(${name} PROPERTIES RESOURCE_LOCK gpu)
  if(ARGN)
    add_dependencies(cuda_tests ${ARGN})
  endif()
endfunction()

# A cmocka test of test_cuda_<name>.c, by the public interface and CUDA's runtime.
# szgpu_add_cuda_backend_test(<name> [LINK_OPTIONS <option>...] [SOURCES <more>...])
function(szgpu_add_cuda_backend_test name)
  szgpu_add_test(cuda_${name} LABELS cuda ${ARGN})
  szgpu_use_gpu(cuda_${name} test_cuda_${name})
endfunction()

# A test of kernels: cuda/test_cuda_<name>.cu, a program without cmocka.
# szgpu_add_cuda_test(<name> [SOURCES <more>...])
function(szgpu_add_cuda_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  add_executable(test_cuda_${name} cuda/test_cuda_${name}.cu ${arg_SOURCES})
  target_include_directories(test_cuda_${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_options(test_cuda_${name} PRIVATE
    "$<$<COMPILE_LANGUAGE:C>:${SZGPU_FLOAT_FLAGS};${SZGPU_WARNING_FLAGS}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:${SZGPU_CUDA_FLAGS}>"
    # gcc 12 gives false warnings about std::vector.
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-array-bounds>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-stringop-overflow,-Wno-stringop-overread>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-free-nonheap-object>")
  target_link_libraries(test_cuda_${name} PRIVATE m)
  szgpu_link_for_tests(test_cuda_${name})
  szgpu_register_test(cuda_${name} LABELS cuda COMMAND test_cuda_${name})
  szgpu_use_gpu(cuda_${name} test_cuda_${name})
endfunction()

# Wraps the allocator, for the test in which the n-th allocation fails.
set(wrap_malloc
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=posix_memalign)

# Wraps CUDA's runtime, for the test in which it fails: all functions that cuda_faults.c has.
set(wrap_cuda)
foreach(function GetDeviceCount GetDevice SetDevice DeviceGetAttribute PointerGetAttributes
    FuncGetAttributes FuncSetAttribute OccupancyMaxActiveBlocksPerMultiprocessor
    OccupancyMaxActiveBlocksPerMultiprocessorWithFlags Malloc Free HostAlloc FreeHost MemGetInfo
    MemcpyAsync MemsetAsync DeviceGetStreamPriorityRange StreamCreateWithFlags
    StreamCreateWithPriority StreamDestroy StreamSynchronize StreamWaitEvent EventCreate
    EventCreateWithFlags EventDestroy EventRecord LaunchKernel LaunchKernelExC GetLastError
    PeekAtLastError)
  list(APPEND wrap_cuda -Wl,--wrap=cuda${function})
endforeach()
list(APPEND wrap_cuda -Wl,--wrap=__cudaGetKernel,--wrap=__cudaLaunchKernel)

# What tests find in their environment unless it is set already. Read when ctest runs, so that the
# environment of the moment decides.
# SZGPU_FIELDS: the real fields, by default in the folder beside the checkout.
# OMP_WAIT_POLICY: with several tests on as many cores, threads that spin while they wait take the
# cores from the other tests, and do so for half the time of some.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/environment.cmake
  "if(NOT DEFINED ENV{SZGPU_FIELDS})\n"
  "  set(ENV{SZGPU_FIELDS} \"${PROJECT_SOURCE_DIR}/../shared/datasets\")\n"
  "endif()\n"
  "if(NOT DEFINED ENV{OMP_WAIT_POLICY})\n"
  "  set(ENV{OMP_WAIT_POLICY} passive)\n"
  "endif()\n")
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
  ${CMAKE_CURRENT_BINARY_DIR}/environment.cmake)

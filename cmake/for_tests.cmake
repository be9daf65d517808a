# for_tests.cmake - the shared library that the programs of tests and benches link.
# SPDX-License-Identifier: BSD-3-Clause
#
# It holds the same objects as the library that users get, but exports every function that has
# external linkage. Linked into each program instead, they would add 24 MB to each in a CUDA build.

find_package(Python3 QUIET COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
  message(FATAL_ERROR "Tests and benches need Python 3: install the package python3, or configure "
                      "with -DSZGPU_TESTS=OFF -DSZGPU_BENCH=OFF.")
endif()

# CUDA's runtime is part of it, and exported too, because library and program must share one.
set(libraries ${szgpu_private_libraries})
set(cuda_runtime)
set(prefixes szg _ZN3szg) # C's names, and those of namespace szg
if(SZGPU_CUDA)
  list(REMOVE_ITEM libraries CUDA::cudart_static)
  list(APPEND libraries ${CMAKE_DL_LIBS} rt)
  set(cuda_runtime --whole-archive $<TARGET_FILE:CUDA::cudart_static>)
  list(APPEND prefixes cuda __cuda)
endif()

# The objects are compiled to hide what is not public, so they are first joined to one object, in
# which it is made visible.
set(joined ${PROJECT_BINARY_DIR}/szgpu_for_tests.o)
set(export_for_tests ${PROJECT_SOURCE_DIR}/cmake/export_for_tests.py)
add_custom_command(OUTPUT ${joined}
  COMMAND ${CMAKE_LINKER} -r -o ${joined} $<TARGET_OBJECTS:szgpu_objects> ${cuda_runtime}
  COMMAND Python3::Interpreter ${export_for_tests} ${joined} ${prefixes}
  DEPENDS $<TARGET_OBJECTS:szgpu_objects> ${export_for_tests}
  COMMAND_EXPAND_LISTS
  VERBATIM)
set_source_files_properties(${joined} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)

add_library(szgpu_for_tests SHARED EXCLUDE_FROM_ALL ${joined})
add_dependencies(szgpu_for_tests szgpu_objects)
set_property(TARGET szgpu_for_tests PROPERTY LINKER_LANGUAGE C)
target_include_directories(szgpu_for_tests INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_include_directories(szgpu_for_tests SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(szgpu_for_tests
  PUBLIC PkgConfig::szgpu_zstd PkgConfig::szgpu_xxhash
  PRIVATE ${libraries})
# Its functions call each other directly, as in the library that users get.
target_link_options(szgpu_for_tests PRIVATE LINKER:-Bsymbolic)

# Links a program with it. The program finds it beside itself, or by the way from one to the other
# in the build: so they can be moved together, to another machine as well.
function(szgpu_link_for_tests program)
  target_link_libraries(${program} PRIVATE szgpu_for_tests)
  set_target_properties(${program} PROPERTIES
    CUDA_RUNTIME_LIBRARY None
    BUILD_RPATH $ORIGIN
    BUILD_RPATH_USE_ORIGIN ON)
endfunction()

# fortran.cmake - the Fortran module szgpu as the target szgpu_fortran, szgpu::fortran for users.
# SPDX-License-Identifier: BSD-3-Clause
#
# Compilers do not read each other's .mod files, so the module's folder is named after the compiler.

string(REGEX MATCH "^[0-9]+" fortran_major "${CMAKE_Fortran_COMPILER_VERSION}")
set(SZGPU_FORTRAN_COMPILER ${CMAKE_Fortran_COMPILER_ID}-${fortran_major})
set(fortran_modules fortran/${SZGPU_FORTRAN_COMPILER})

add_library(szgpu_fortran include/szgpu.f90)
add_library(szgpu::fortran ALIAS szgpu_fortran)
set_target_properties(szgpu_fortran PROPERTIES
  EXPORT_NAME fortran
  Fortran_MODULE_DIRECTORY ${PROJECT_BINARY_DIR}/${fortran_modules}
  POSITION_INDEPENDENT_CODE ON
  VERSION ${SZGPU_ABI}.${PROJECT_VERSION_MINOR}.${PROJECT_VERSION_PATCH}
  SOVERSION ${SZGPU_ABI}
  INSTALL_RPATH "$ORIGIN") # where libszgpu.so is
if(CMAKE_Fortran_COMPILER_ID STREQUAL "GNU")
  set(SZGPU_FORTRAN_FLAGS -std=f2018 -Wall -Wextra $<$<BOOL:${SZGPU_WERROR}>:-Werror>)
  target_compile_options(szgpu_fortran PRIVATE ${SZGPU_FORTRAN_FLAGS})
endif()
target_link_libraries(szgpu_fortran PUBLIC szgpu)
target_include_directories(szgpu_fortran INTERFACE
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/${fortran_modules}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_LIBDIR}/${fortran_modules}>)

install(TARGETS szgpu_fortran EXPORT szgpuFortranTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/${fortran_modules}/szgpu.mod
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/${fortran_modules} COMPONENT development)
install(EXPORT szgpuFortranTargets NAMESPACE szgpu::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/szgpu COMPONENT development)

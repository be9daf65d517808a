# hdf5.cmake - finds HDF5's C headers and says whether the filter plugin is built.
# SPDX-License-Identifier: BSD-3-Clause
#
# SZGPU_HDF5 is the user's choice, SZGPU_HAS_HDF5 the result. Each run of CMake looks again, so that
# it finds an HDF5 installed meanwhile.
#
# The plugin takes types from the headers and links no libhdf5; examples and tests link it, as the
# target szgpu_hdf5. HDF5_ROOT, if set, says where it is. Debian has a serial HDF5 and others for
# MPI: this takes the serial one first, because its hdf5.h needs no mpi.h. The plugin is the same.

# HDF5 asks a plugin for one number, so a second number is a second plugin, made of the same
# sources. Once a number is registered, it will be the first and 480 the second.
set(SZGPU_H5_FILTER_ID 480 CACHE STRING "Number of the HDF5 filter, 256 to 65535")
set(SZGPU_H5_OTHER_FILTER_ID 0 CACHE STRING
    "Number of a second plugin, which reads and writes the same chunks; 0: no second plugin")
set(filter_ids ${SZGPU_H5_FILTER_ID})
if(NOT SZGPU_H5_OTHER_FILTER_ID STREQUAL "0")
  list(APPEND filter_ids ${SZGPU_H5_OTHER_FILTER_ID})
endif()
foreach(filter_id IN LISTS filter_ids)
  if(NOT filter_id MATCHES "^[1-9][0-9]*$" OR filter_id LESS 256 OR filter_id GREATER 65535)
    message(FATAL_ERROR "The number of an HDF5 filter is '${filter_id}', which is not 256 to "
                        "65535: lower ones are HDF5's own.")
  endif()
endforeach()
if(SZGPU_H5_FILTER_ID EQUAL SZGPU_H5_OTHER_FILTER_ID)
  message(FATAL_ERROR "SZGPU_H5_OTHER_FILTER_ID is SZGPU_H5_FILTER_ID; give another number, or 0.")
endif()
# Without HDF5 too, because the command needs its cd_values.
configure_file(include/szgpu_hdf5.h.in include/szgpu_hdf5.h @ONLY)

set(SZGPU_HDF5 AUTO CACHE STRING
    "Build the HDF5 filter plugin, libh5zszgpu: ON, OFF, or AUTO, where HDF5 is found")
set_property(CACHE SZGPU_HDF5 PROPERTY STRINGS AUTO ON OFF)
set(SZGPU_HAS_HDF5 OFF)
string(TOUPPER "${SZGPU_HDF5}" hdf5_asked)
if(NOT SZGPU_HDF5 AND NOT hdf5_asked STREQUAL "AUTO")
  return()
endif()

add_library(szgpu_hdf5 INTERFACE)
if(NOT HDF5_ROOT AND NOT DEFINED ENV{HDF5_ROOT})
  foreach(module hdf5-serial hdf5)
    if(NOT SZGPU_HDF5_VERSION)
      unset(szgpu_${module}_FOUND CACHE) # or else CMake would not look again
      pkg_check_modules(szgpu_${module} QUIET IMPORTED_TARGET ${module})
      if(szgpu_${module}_FOUND)
        set(SZGPU_HDF5_VERSION ${szgpu_${module}_VERSION})
        set(SZGPU_HDF5_INCLUDE_DIRS ${szgpu_${module}_INCLUDE_DIRS})
        target_link_libraries(szgpu_hdf5 INTERFACE PkgConfig::szgpu_${module})
      endif()
    endif()
  endforeach()
endif()
if(NOT SZGPU_HDF5_VERSION)
  find_package(HDF5 QUIET COMPONENTS C)
  if(HDF5_FOUND)
    set(SZGPU_HDF5_VERSION ${HDF5_VERSION})
    set(SZGPU_HDF5_INCLUDE_DIRS ${HDF5_C_INCLUDE_DIRS})
    target_include_directories(szgpu_hdf5 SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
    target_compile_definitions(szgpu_hdf5 INTERFACE ${HDF5_C_DEFINITIONS})
    target_link_libraries(szgpu_hdf5 INTERFACE ${HDF5_C_LIBRARIES})
  endif()
endif()

if(SZGPU_HDF5_VERSION AND SZGPU_HDF5_VERSION VERSION_GREATER_EQUAL 1.10.5)
  set(SZGPU_HAS_HDF5 ON)
elseif(hdf5_asked STREQUAL "AUTO")
  message(STATUS "No HDF5, 1.10.5 or later: the filter plugin is not built (package libhdf5-dev)")
else()
  message(FATAL_ERROR "SZGPU_HDF5 needs the C headers of HDF5, 1.10.5 or later: install the "
                      "package libhdf5-dev, or set HDF5_ROOT.")
endif()

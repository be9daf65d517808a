# deb.cmake - Debian packages, by cpack: one for each component of the installation.
# SPDX-License-Identifier: BSD-3-Clause
#
# scripts/make_deb.sh configures, builds and packs. Debian's folders are in deb_folders.cmake.

set(deb_revision 1)
set(deb_library libszgpu${SZGPU_ABI})
set(deb_command szgpu)
set(deb_hdf5 hdf5-filter-plugin-szgpu)
set(deb_development libszgpu-dev)

# --- Files that Debian asks for -----------------------------------------------------------------

function(szgpu_gzip source target)
  execute_process(COMMAND gzip -9nc ${source} OUTPUT_FILE ${target} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(files ${PROJECT_BINARY_DIR}/debian)
file(MAKE_DIRECTORY ${files})
execute_process(COMMAND date -R OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${files}/changelog
  "szgpu (${PROJECT_VERSION}-${deb_revision}) unstable; urgency=medium\n\n"
  "  * Version ${PROJECT_VERSION}, as szgpu's CHANGELOG.md describes it.\n\n"
  " -- ${SZGPU_DEB_MAINTAINER}  ${date}\n")
szgpu_gzip(${files}/changelog ${files}/changelog.Debian.gz)

# The licence's text as Debian's copyright files have it: indented, with dots on empty lines.
file(STRINGS LICENSE licence)
list(POP_FRONT licence title empty)
string(REGEX MATCH "Copyright \\(c\\) ([^;]+)" copyright "${licence}")
set(holder ${CMAKE_MATCH_1})
file(READ LICENSE licence)
string(REGEX REPLACE "^[^\n]*\n\n[^\n]*\n\n" "" licence "${licence}")
string(REGEX REPLACE "\n\n" "\n.\n" licence "${licence}")
string(REGEX REPLACE "\n(.)" "\n \\1" licence " ${licence}")
file(WRITE ${files}/copyright
  "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
  "Upstream-Name: szgpu\n\n"
  "Files: *\nCopyright: ${holder}\nLicense: BSD-3-clause\n${licence}")

foreach(component library command hdf5 development)
  install(FILES ${files}/copyright ${files}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${deb_${component}} COMPONENT ${component})
endforeach()
szgpu_gzip(${PROJECT_SOURCE_DIR}/CHANGELOG.md ${files}/changelog.gz)
install(FILES ${files}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
szgpu_gzip(${PROJECT_BINARY_DIR}/szgpu.1 ${files}/szgpu.1.gz)
install(FILES ${files}/szgpu.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)

# Debian's HDF5 for each MPI looks into a folder of its own. One plugin serves them all.
foreach(mpi openmpi mpich)
  file(MAKE_DIRECTORY ${files}/${mpi})
  file(CREATE_LINK ../../serial/plugins/libh5zszgpu.so ${files}/${mpi}/libh5zszgpu.so SYMBOLIC)
  install(FILES ${files}/${mpi}/libh5zszgpu.so
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/hdf5/${mpi}/plugins COMPONENT hdf5)
endforeach()

# --- What cpack is told -------------------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR szgpu)
set(CPACK_COMPONENTS_ALL library command hdf5 development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_COMMAND_DEPENDS library)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${deb_revision})
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${SZGPU_DEB_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}) # for the command's library
# cpack can write shlibs itself, but no trigger.
file(WRITE ${files}/shlibs "libszgpu ${SZGPU_ABI} ${deb_library} (>= ${PROJECT_VERSION})\n")
file(WRITE ${files}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${files}/shlibs ${files}/triggers)

set(what "szgpu is an error-bounded lossy compressor for scientific fields: you say
how far a value may be off, and szgpu makes the field as small as it can
within that bound.")
function(szgpu_describe component section title details)
  string(TOUPPER ${component} name)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${deb_${component}} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_COMPONENT_${name}_DESCRIPTION "${title}\n${what}\n\n${details}" PARENT_SCOPE)
endfunction()
szgpu_describe(library libs "error-bounded compression of scientific fields - library"
  "This package has the shared library.")
szgpu_describe(command science "error-bounded compression of scientific fields - command"
  "This package has the command szgpu and the documentation.")
szgpu_describe(hdf5 science "error-bounded compression of scientific fields - HDF5 filter"
  "This package has the filter with which HDF5 and netCDF-4 read and write
compressed datasets.")
szgpu_describe(development libdevel "error-bounded compression of scientific fields - headers"
  "This package has the headers, and what CMake and pkg-config need.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libzstd-dev, libxxhash-dev") # pkg-config looks
set(CPACK_DEBIAN_HDF5_PACKAGE_ENHANCES libhdf5-103-1)
include(CPack)

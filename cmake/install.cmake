# install.cmake - what is installed, and where.
# SPDX-License-Identifier: BSD-3-Clause

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/szgpu)
configure_package_config_file(cmake/szgpuConfig.cmake.in szgpuConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(szgpuConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# pkg-config finds the prefix from the place of szgpu.pc, so that the tree can be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
  file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
  set(pc_prefix "\${pcfiledir}/${pc_prefix}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# A program that links the static library also needs what the library calls; one that links the
# shared library does not. So pkg-config --libs is enough for either.
string(JOIN " " pc_libs_called -pthread -lm ${pc_libs_cuda})
if(BUILD_SHARED_LIBS)
  set(pc_libs "")
  set(pc_libs_private "${pc_libs_called}")
  set(pc_requires Requires.private)
else()
  set(pc_libs " ${pc_libs_called}")
  set(pc_libs_private "")
  set(pc_requires Requires)
endif()
configure_file(cmake/szgpu.pc.in szgpu.pc @ONLY)

file(RELATIVE_PATH bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
if(NOT SZGPU_PYTHON_PACKAGE) # a wheel has folders of its own
  set_target_properties(szgpu_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
endif()

# Components, which are packages of their own where cpack makes packages: library, command, hdf5
# (apps/hdf5/CMakeLists.txt) and development.
install(TARGETS szgpu EXPORT szgpuTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development)
# szgpu.f90 is there for every Fortran compiler, also without SZGPU_FORTRAN.
install(FILES include/szgpu.h include/szgpu_series.h include/szgpu.hpp include/szgpu.f90
  ${PROJECT_BINARY_DIR}/include/szgpu_hdf5.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT szgpuTargets NAMESPACE szgpu::
  DESTINATION ${package_dir} COMPONENT development)
install(FILES
  ${PROJECT_BINARY_DIR}/szgpuConfig.cmake
  ${PROJECT_BINARY_DIR}/szgpuConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/szgpu.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(TARGETS szgpu_cli COMPONENT command)
set(SZGPU_ZSH_COMPLETION_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
    "Where the completion for zsh is installed")
configure_file(apps/szgpu/szgpu.1.in szgpu.1 @ONLY)
install(FILES apps/szgpu/completion/szgpu.bash RENAME szgpu
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT command)
install(FILES apps/szgpu/completion/_szgpu
  DESTINATION ${SZGPU_ZSH_COMPLETION_DIR} COMPONENT command)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
if(NOT SZGPU_DEB) # deb.cmake has these in Debian's form
  install(FILES ${PROJECT_BINARY_DIR}/szgpu.1
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
  install(FILES LICENSE CHANGELOG.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
endif()

if(SZGPU_HAS_HDF5)
  # lib/, lib64/ or lib/x86_64-linux-gnu/: whoever is to set the variable reads it here.
  install(CODE "
    get_filename_component(plugins \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
    get_filename_component(plugins \"${SZGPU_H5_PLUGIN_DIR}\" ABSOLUTE BASE_DIR \"\${plugins}\")
    message(STATUS \"HDF5 finds the filter by HDF5_PLUGIN_PATH=\${plugins}\")" COMPONENT hdf5)
endif()

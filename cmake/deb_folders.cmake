# deb_folders.cmake - how Debian builds and where it installs.
# SPDX-License-Identifier: BSD-3-Clause

execute_process(COMMAND dpkg-architecture -qDEB_HOST_MULTIARCH
  OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(CMAKE_INSTALL_PREFIX /usr)
set(CMAKE_INSTALL_LIBDIR lib/${multiarch})
set(CMAKE_SKIP_INSTALL_RPATH ON)
set(BUILD_SHARED_LIBS ON)
# Where Debian's HDF5 looks without HDF5_PLUGIN_PATH, and zsh.
set(SZGPU_H5_PLUGIN_DIR lib/${multiarch}/hdf5/serial/plugins)
set(SZGPU_ZSH_COMPLETION_DIR share/zsh/vendor-completions)
set(SZGPU_DEB_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>" CACHE STRING
    "Name and address of who makes the packages")

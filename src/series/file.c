/* file.c - a file as the store of a series: locked while it is appended to.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE /* flock */
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bytes.h"
#include "series/series.h"

enum { LARGEST_PIECE_BYTES = 1 << 30 }; /* Linux takes at most 2 GiB - 4 KiB per call */

static int note_error(szg_series_file *file) {
  file->error_number = errno;
  return 1;
}

static int read_file(void *user, uint64_t offset, void *bytes, size_t byte_count,
                     size_t *got_bytes) {
  szg_series_file *const file = user;
  for (*got_bytes = 0; *got_bytes < byte_count;) {
    size_t const piece = szg_min_u64(byte_count - *got_bytes, LARGEST_PIECE_BYTES);
    ssize_t const got =
        pread(file->descriptor, (uint8_t *)bytes + *got_bytes, piece, (off_t)(offset + *got_bytes));
    if (got == 0) break;
    if (got < 0 && errno != EINTR) return note_error(file);
    if (got > 0) *got_bytes += (size_t)got;
  }
  return 0;
}

static int write_file(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  szg_series_file *const file = user;
  for (size_t done = 0; done < byte_count;) {
    size_t const piece = szg_min_u64(byte_count - done, LARGEST_PIECE_BYTES);
    ssize_t const written =
        pwrite(file->descriptor, (const uint8_t *)bytes + done, piece, (off_t)(offset + done));
    if (written < 0 && errno != EINTR) return note_error(file);
    if (written > 0) done += (size_t)written;
  }
  return 0;
}

/* Some file systems have nothing to sync. */
static int sync_file(void *user) {
  szg_series_file *const file = user;
  if (fsync(file->descriptor) == 0 || errno == EINVAL || errno == ENOSYS) return 0;
  return note_error(file);
}

static int cut_file(void *user, uint64_t byte_count) {
  szg_series_file *const file = user;
  return ftruncate(file->descriptor, (off_t)byte_count) == 0 ? 0 : note_error(file);
}

/* Puts the name of a file that was made on disk, as far as its folder can be opened and synced. */
static void sync_folder(const char *path) {
  char folder[4096];
  const char *const slash = strrchr(path, '/');
  size_t const chars = slash ? (size_t)(slash - path) + 1 : 0;
  if (chars >= sizeof folder) return;
  memcpy(folder, path, chars);
  folder[chars] = '\0';
  int const descriptor = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  (void)fsync(descriptor);
  close(descriptor);
}

/* True if the file was made. */
static bool open_to_append(szg_series_file *file, const char *path) {
  file->descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (file->descriptor >= 0 || errno != ENOENT) return false;
  file->descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file->descriptor >= 0) return true;
  if (errno == EEXIST) file->descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
  return false;
}

/* File systems that have no locks are used without. */
static szgpu_status lock(szg_series_file *file) {
  if (flock(file->descriptor, LOCK_EX | LOCK_NB) == 0) return SZGPU_OK;
  if (errno == EWOULDBLOCK) return SZGPU_LOCKED;
  if (errno == ENOSYS || errno == ENOTSUP || errno == EOPNOTSUPP) return SZGPU_OK;
  (void)note_error(file);
  return SZGPU_SINK_FAILED;
}

/* Opens the file and takes the lock; a file that was made is removed again if it gets no step. Only
 * whoever has the lock may do that, because another may have begun to append. */
static szgpu_status open_and_lock(szgpu_series *series, const char *path) {
  szg_series_file *const file = &series->file;
  size_t const path_bytes = strlen(path) + 1;
  char *const copy = szg_allocate_zeroed(path_bytes);
  SZG_REQUIRE(copy, SZGPU_OUT_OF_MEMORY);
  memcpy(copy, path, path_bytes);
  bool const is_made = open_to_append(file, path);
  series->has_file = file->descriptor >= 0;
  if (!series->has_file) (void)note_error(file);
  szgpu_status const status = series->has_file ? lock(file) : SZGPU_SINK_FAILED;
  if (status == SZGPU_OK && is_made) {
    sync_folder(path);
    file->path_to_remove = copy;
  } else {
    szg_free(copy);
  }
  return status;
}

static szgpu_status open_to_read(szgpu_series *series, const char *path) {
  szg_series_file *const file = &series->file;
  file->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  series->has_file = file->descriptor >= 0;
  if (series->has_file) return SZGPU_OK;
  (void)note_error(file);
  return SZGPU_SOURCE_FAILED;
}

szgpu_status szg_series_file_open(szgpu_series *series, const char *path,
                                  szgpu_series_access access, uint64_t *byte_count) {
  szg_series_file *const file = &series->file;
  bool const is_append = access == SZGPU_SERIES_APPEND;
  struct stat status;
  SZG_TRY(is_append ? open_and_lock(series, path) : open_to_read(series, path));
  if (fstat(file->descriptor, &status) != 0) {
    (void)note_error(file);
    return is_append ? SZGPU_SINK_FAILED : SZGPU_SOURCE_FAILED;
  }
  SZG_REQUIRE(S_ISREG(status.st_mode), SZGPU_BAD_ARGUMENT);
  *byte_count = (uint64_t)status.st_size;
  series->store = (szgpu_store){.read = read_file,
                                .write = is_append ? write_file : NULL,
                                .sync = is_append ? sync_file : NULL,
                                .cut = is_append ? cut_file : NULL,
                                .user = file};
  return SZGPU_OK;
}

void szg_series_file_close(szg_series_file *file, bool has_steps) {
  if (file->path_to_remove && !has_steps) unlink(file->path_to_remove);
  szg_free(file->path_to_remove);
  close(file->descriptor);
}

szg_file_pages szg_series_file_map(const szgpu_series *series, uint64_t offset,
                                   uint64_t byte_count) {
  szg_file_pages const none = {0};
  if (!series->has_file || byte_count > PTRDIFF_MAX / 2) return none;
  uint64_t const page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t const before = offset % page_bytes;
  size_t const mapped_bytes = (size_t)(byte_count + before);
  void *const pages = mmap(NULL, mapped_bytes, PROT_READ, MAP_PRIVATE, series->file.descriptor,
                           (off_t)(offset - before));
  if (pages == MAP_FAILED) return none;
  return (szg_file_pages){pages, mapped_bytes, (const uint8_t *)pages + before};
}

void szg_series_file_unmap(const szg_file_pages *mapping) {
  munmap(mapping->pages, mapping->page_bytes);
}

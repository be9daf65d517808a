/* file.c - a file as the store of a series: locked while it is appended to.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE /* flock */
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
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
    if (written == 0) errno = EIO; /* POSIX knows no such answer; asking again might have no end */
    if (written == 0) return note_error(file);
    if (written < 0) continue;
    done += (size_t)written;
    if (offset + done > file->byte_count) file->byte_count = offset + done;
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
  if (ftruncate(file->descriptor, (off_t)byte_count) != 0) return note_error(file);
  file->byte_count = byte_count;
  return 0;
}

/* ---- what others may have done to the file ---- */

/* A file that was only moved is still the one that its users have. */
szg_file_change szg_series_file_change(szg_series_file *file) {
  struct stat own, there;
  if (fstat(file->descriptor, &own) != 0) {
    (void)note_error(file);
    return SZG_FILE_FAILED;
  }
  bool const is_there = stat(file->path, &there) == 0;
  if (is_there && (there.st_dev != own.st_dev || there.st_ino != own.st_ino))
    return SZG_FILE_REPLACED;
  if (own.st_nlink == 0) return SZG_FILE_REMOVED;
  if ((uint64_t)own.st_size != file->byte_count) return SZG_FILE_WRITTEN;
  return is_there ? SZG_FILE_AS_EVER : SZG_FILE_MOVED;
}

/* ---- opening ---- */

/* File systems that have no locks are used without. */
static szgpu_status lock(szg_series_file *file) {
  if (flock(file->descriptor, LOCK_EX | LOCK_NB) == 0) return SZGPU_OK;
  if (errno == EWOULDBLOCK) return SZGPU_LOCKED;
  /* NOLINTNEXTLINE(misc-redundant-expression): the last two are equal on Linux, not everywhere */
  if (errno == ENOSYS || errno == ENOTSUP || errno == EOPNOTSUPP) return SZGPU_OK;
  (void)note_error(file);
  return SZGPU_SINK_FAILED;
}

/* Only a file has a size that is known. */
static szgpu_status note_size(szg_series_file *file) {
  struct stat status;
  if (fstat(file->descriptor, &status) != 0) {
    (void)note_error(file);
    return SZGPU_SOURCE_FAILED;
  }
  SZG_REQUIRE(S_ISREG(status.st_mode), SZGPU_BAD_ARGUMENT);
  file->byte_count = (uint64_t)status.st_size;
  return SZGPU_OK;
}

/* Opens the file, which it makes if it is not there, and takes the lock. SZGPU_SERIES_CHANGED:
 * another program has removed it meanwhile, so that what is locked has no name. */
static szgpu_status try_to_lock(szg_series_file *file, const char *path) {
  file->descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
  file->is_made = file->descriptor < 0 && errno == ENOENT;
  if (file->is_made) file->descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file->descriptor < 0) {
    bool const is_passing = file->is_made && errno == EEXIST; /* another has made it meanwhile */
    if (is_passing) errno = ENOENT; /* or it is a link that leads nowhere */
    (void)note_error(file);
    return is_passing ? SZGPU_SERIES_CHANGED : SZGPU_SINK_FAILED;
  }
  szgpu_status const status = lock(file);
  if (status != SZGPU_OK) file->is_made = false; /* it is not ours to remove */
  SZG_TRY(status);
  bool const has_path = realpath(path, file->path) != NULL;
  SZG_TRY(note_size(file));
  return has_path && szg_series_file_change(file) == SZG_FILE_AS_EVER ? SZGPU_OK
                                                                      : SZGPU_SERIES_CHANGED;
}

static void close_descriptor(szg_series_file *file) {
  if (file->descriptor >= 0) close(file->descriptor);
  file->descriptor = -1;
}

/* Only whoever has the lock may remove a file, so what a lock was taken of may be gone by then. */
static szgpu_status open_and_lock(szg_series_file *file, const char *path) {
  enum { MOST_TRIES = 1000 }; /* a link that leads nowhere would have no end */
  szgpu_status status = SZGPU_SERIES_CHANGED;
  file->path = szg_allocate_zeroed(PATH_MAX);
  SZG_REQUIRE(file->path, SZGPU_OUT_OF_MEMORY);
  for (int i = 0; i < MOST_TRIES && status == SZGPU_SERIES_CHANGED; i++) {
    close_descriptor(file);
    status = try_to_lock(file, path);
  }
  if (status == SZGPU_OK) file->error_number = 0; /* of earlier tries */
  return status == SZGPU_SERIES_CHANGED ? SZGPU_SINK_FAILED : status;
}

static szgpu_status open_to_read(szg_series_file *file, const char *path) {
  file->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file->descriptor >= 0) return note_size(file);
  (void)note_error(file);
  return SZGPU_SOURCE_FAILED;
}

szgpu_status szg_series_file_open(szgpu_series *series, const char *path,
                                  szgpu_series_access access) {
  szg_series_file *const file = &series->file;
  bool const is_append = access == SZGPU_SERIES_APPEND;
  series->has_file = true;
  file->descriptor = -1;
  series->store = (szgpu_store){.read = read_file,
                                .write = is_append ? write_file : NULL,
                                .sync = is_append ? sync_file : NULL,
                                .cut = is_append ? cut_file : NULL,
                                .user = file};
  return is_append ? open_and_lock(file, path) : open_to_read(file, path);
}

/* Removes a file that this series has made, if it is as this series knows it. */
static void remove_file(szg_series_file *file) {
  if (szg_series_file_change(file) == SZG_FILE_AS_EVER) unlink(file->path);
}

/* Forked processes, programs that are just being started and copies of the descriptor share the
 * lock, so closing the descriptor alone would not end it. Only the owner may end it. */
void szg_series_file_close(szg_series_file *file, bool is_owner, bool has_steps) {
  if (is_owner && file->path && file->is_made && !has_steps) remove_file(file);
  if (is_owner && file->path) (void)flock(file->descriptor, LOCK_UN);
  szg_free(file->path);
  file->path = NULL;
  close_descriptor(file);
}

/* ---- more than a store has ---- */

/* A folder cannot be synced alone if it may not be read, or if the file was moved elsewhere. */
szgpu_status szg_series_file_sync_name(szg_series_file *file) {
  bool const is_moved = szg_series_file_change(file) == SZG_FILE_MOVED;
  char folder[PATH_MAX];
  size_t const chars = (size_t)(strrchr(file->path, '/') - file->path) + 1;
  memcpy(folder, file->path, chars);
  folder[chars] = '\0';
  int const descriptor = is_moved ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (is_moved || (descriptor < 0 && errno == EACCES)) {
    sync();
    return SZGPU_OK;
  }
  bool const is_synced =
      descriptor >= 0 && (fsync(descriptor) == 0 || errno == EINVAL || errno == ENOSYS);
  if (!is_synced) (void)note_error(file);
  if (descriptor >= 0) close(descriptor);
  return is_synced ? SZGPU_OK : SZGPU_SINK_FAILED;
}

void szg_series_file_extend(szg_series_file *file, uint64_t byte_count) {
  if (ftruncate(file->descriptor, (off_t)byte_count) == 0) file->byte_count = byte_count;
}

szg_file_pages szg_series_file_map(const szgpu_series *series, uint64_t offset,
                                   uint64_t byte_count) {
  szg_file_pages const none = {0};
  struct stat status;
  if (!series->has_file || byte_count > PTRDIFF_MAX / 2) return none;
  /* Pages behind the end of a file that was cut could be mapped, but not read. */
  if (fstat(series->file.descriptor, &status) != 0 || (uint64_t)status.st_size < offset ||
      (uint64_t)status.st_size - offset < byte_count)
    return none;
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

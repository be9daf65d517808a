/* faults.c - a library for LD_PRELOAD that makes a call to the system or the allocator fail.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * SZGPU_TEST_FAULT=SORT:N:HOW:CALLER:FD, for instance write:3:28:own:5; a comma and a second fault
 * may follow. The N-th call of that sort
 * fails with the errno HOW, or every call if N is 0. If HOW is 0, it reads or writes half of what
 * it should; if HOW is negative, the process gets the signal -HOW first. CALLER is "own", which
 * counts calls from the program itself, "any", or a part of the name of a library, which counts
 * those from there. A byte is written to FD when the call is met.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_FAULTS = 2 };

static struct fault {
  char sort[16], caller[16];
  int how, met_descriptor;
  long calls_left; /* 0: no fault, or not any more */
  bool is_every_call;
} faults[MOST_FAULTS];

__attribute__((constructor)) static void read_faults(void) {
  const char *text = getenv("SZGPU_TEST_FAULT");
  for (int i = 0; text && *text; i++) {
    struct fault fault = {.how = 0};
    int read_chars = 0;
    if (i == MOST_FAULTS ||
        sscanf(text, "%15[a-z]:%ld:%d:%15[a-z0-9]:%d%n", fault.sort, &fault.calls_left, &fault.how,
               fault.caller, &fault.met_descriptor, &read_chars) != 5)
      abort();
    fault.is_every_call = fault.calls_left == 0;
    faults[i] = fault;
    text += read_chars;
    text += *text == ',';
  }
}

/* Whether the caller is one of those whose calls are counted. */
static bool is_counted(const struct fault *fault, void *caller) {
  Dl_info of_caller, of_program;
  if (strcmp(fault->caller, "any") == 0) return true;
  if (!dladdr(caller, &of_caller)) return false;
  if (strcmp(fault->caller, "own") != 0) return strstr(of_caller.dli_fname, fault->caller) != NULL;
  return dladdr((void *)getauxval(AT_PHDR), &of_program) &&
         of_caller.dli_fbase == of_program.dli_fbase;
}

/* The kernel's own files are opened for what a call can do without: no fault meets that. */
static __thread bool is_opening_kernels;

static bool is_met(struct fault *fault, const char *sort, void *caller) {
  if (is_opening_kernels) return false;
  bool const is_armed =
      fault->is_every_call || __atomic_load_n(&fault->calls_left, __ATOMIC_RELAXED) > 0;
  if (!is_armed || strcmp(sort, fault->sort) != 0) return false;
  if (!is_counted(fault, caller)) return false;
  return fault->is_every_call || __atomic_sub_fetch(&fault->calls_left, 1, __ATOMIC_RELAXED) == 0;
}

/* What the call that is about to be made must do: an errno, 0 for half of its work, or -1: as
 * usual. */
static int fault_of(const char *sort, void *caller) {
  int how = -1;
  for (int i = 0; i < MOST_FAULTS; i++) {
    if (!is_met(&faults[i], sort, caller)) continue;
    syscall(SYS_write, faults[i].met_descriptor, "!", 1);
    if (faults[i].how < 0)
      raise(-faults[i].how);
    else
      how = faults[i].how;
  }
  if (how >= 0) errno = how;
  return how;
}

/* Wraps a function: `failed` is what it returns if it fails. */
#define WRAP(sort, type, function, parameters, arguments, failed) \
  type function parameters;                                       \
  type function parameters {                                      \
    static type(*real) parameters;                                \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #function);     \
    int const how = fault_of(sort, __builtin_return_address(0));  \
    return how < 0 ? (real arguments) : (failed);                 \
  }

/* A function that transfers bytes, which may also do half of its work. */
#define WRAP_TRANSFER(sort, function, parameters, arguments)     \
  ssize_t function parameters;                                   \
  ssize_t function parameters {                                  \
    static ssize_t(*real) parameters;                            \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #function);    \
    int const how = fault_of(sort, __builtin_return_address(0)); \
    if (how > 0) return -1;                                      \
    if (how == 0) bytes = (bytes + 1) / 2;                       \
    return real arguments;                                       \
  }

FILE *fopen(const char *path, const char *mode) {
  static FILE *(*real)(const char *, const char *);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "fopen");
  is_opening_kernels = strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
  FILE *const file = real(path, mode);
  is_opening_kernels = false;
  return file;
}

WRAP_TRANSFER("read", read, (int file, void *to, size_t bytes), (file, to, bytes))
WRAP_TRANSFER("write", write, (int file, const void *from, size_t bytes), (file, from, bytes))
WRAP_TRANSFER("pread", pread, (int file, void *to, size_t bytes, off_t at), (file, to, bytes, at))
WRAP_TRANSFER("pread", pread64, (int file, void *to, size_t bytes, off64_t at),
              (file, to, bytes, at))

WRAP_TRANSFER("pwrite", pwrite, (int file, const void *from, size_t bytes, off_t at),
              (file, from, bytes, at))
WRAP_TRANSFER("pwrite", pwrite64, (int file, const void *from, size_t bytes, off64_t at),
              (file, from, bytes, at))

WRAP("ftruncate", int, ftruncate, (int file, off_t bytes), (file, bytes), -1)
WRAP("ftruncate", int, ftruncate64, (int file, off64_t bytes), (file, bytes), -1)
WRAP("flock", int, flock, (int file, int how_to), (file, how_to), -1)
WRAP("open", int, open, (const char *path, int flags, mode_t mode), (path, flags, mode), -1)
WRAP("open", int, open64, (const char *path, int flags, mode_t mode), (path, flags, mode), -1)
WRAP("fstat", int, fstat, (int file, struct stat *status), (file, status), -1)
WRAP("fstat", int, fstat64, (int file, struct stat64 *status), (file, status), -1)
WRAP("stat", int, stat, (const char *path, struct stat *status), (path, status), -1)
WRAP("stat", int, stat64, (const char *path, struct stat64 *status), (path, status), -1)
WRAP("lseek", off_t, lseek, (int file, off_t at, int from), (file, at, from), -1)
WRAP("lseek", off64_t, lseek64, (int file, off64_t at, int from), (file, at, from), -1)
WRAP("fsync", int, fsync, (int file), (file), -1)
WRAP("close", int, close, (int file), (file), (real(file), errno = how, -1))
WRAP("link", int, link, (const char *from, const char *to), (from, to), -1)
WRAP("link", int, renameat2,
     (int from_folder, const char *from, int to_folder, const char *to, unsigned flags),
     (from_folder, from, to_folder, to, flags), -1)
WRAP("unlink", int, unlink, (const char *path), (path), -1)
WRAP("rename", int, rename, (const char *from, const char *to), (from, to), -1)
WRAP("fchmod", int, fchmod, (int file, mode_t mode), (file, mode), -1)
WRAP("fchown", int, fchown, (int file, uid_t user, gid_t group), (file, user, group), -1)
WRAP("mmap", void *, mmap,
     (void *at, size_t bytes, int protection, int flags, int file, off_t from),
     (at, bytes, protection, flags, file, from), (void *)-1)
WRAP("mmap", void *, mmap64,
     (void *at, size_t bytes, int protection, int flags, int file, off64_t from),
     (at, bytes, protection, flags, file, from), (void *)-1)

#ifndef WITHOUT_MEMORY /* sanitizers have an allocator of their own */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

void *malloc(size_t bytes) {
  return fault_of("malloc", __builtin_return_address(0)) < 0 ? __libc_malloc(bytes) : NULL;
}

void *calloc(size_t count, size_t bytes) {
  return fault_of("malloc", __builtin_return_address(0)) < 0 ? __libc_calloc(count, bytes) : NULL;
}

void *realloc(void *memory, size_t bytes) {
  return fault_of("malloc", __builtin_return_address(0)) < 0 ? __libc_realloc(memory, bytes) : NULL;
}

WRAP("malloc", char *, strdup, (const char *text), (text), NULL)
WRAP("malloc", char *, strndup, (const char *text, size_t most), (text, most), NULL)
#endif

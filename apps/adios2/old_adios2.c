/* old_adios2.c - whether the ADIOS2 that calls is too old for this plugin.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* dl_iterate_phdr, memmem */
#include "old_adios2.h"

#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static const char sign[] = "PluginEngineInterfaceERNS_4core2IO"; /* as C++ mangles it */

struct question {
  uintptr_t address;
  bool is_old;
};

static bool holds(const struct dl_phdr_info *object, uintptr_t address) {
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *const part = &object->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && address - object->dlpi_addr - part->p_vaddr < part->p_memsz)
      return true;
  }
  return false;
}

static int look(struct dl_phdr_info *object, size_t size, void *user) {
  struct question *const question = user;
  (void)size;
  if (!holds(object, question->address)) return 0;
  for (int i = 0; i < object->dlpi_phnum && !question->is_old; i++) {
    const ElfW(Phdr) *const part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_R) || part->p_flags & PF_W) continue;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the loader states addresses as integers */
    const void *const bytes = (const void *)(uintptr_t)(object->dlpi_addr + part->p_vaddr);
    question->is_old = memmem(bytes, part->p_filesz, sign, sizeof sign - 1) != NULL;
  }
  return 1;
}

bool is_old_adios2(const void *address) {
  /* One that was found new: a reader asks for each block, and the search takes milliseconds. */
  static _Atomic(uintptr_t) new_one;
  struct question question = {(uintptr_t)address, false};
  if (atomic_load(&new_one) == question.address) return false;
  dl_iterate_phdr(look, &question);
  if (!question.is_old) atomic_store(&new_one, question.address);
  return question.is_old;
}

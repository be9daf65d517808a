/* stream_readers.h - every CPU decoder of the linear layout, with one thread and with three.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_STREAM_READERS_H
#define SZG_TEST_STREAM_READERS_H

#include <stdbool.h>

#include "archive_edit.h"
#include "support.h"

enum { READER_THREAD_COUNTS = 2, READER_DECODERS = 6 };

extern szgpu_decoder const reader_decoders[READER_DECODERS]; /* the first is AUTO */
extern szgpu_ctx *readers[READER_DECODERS][READER_THREAD_COUNTS];

/* Set-up and tear-down for cmocka's groups. */
int make_readers(void **state);
int destroy_readers(void **state);

/* Whether the decoder uses or checks the gap array. */
bool looks_at_gaps(szgpu_decoder decoder);

szgpu_status reader_decompress(szgpu_ctx *reader, const test_archive *archive, void *field,
                               size_t field_bytes);

/* Restores the whole field and one slab, and compares both with the field. */
void assert_reads(szgpu_ctx *reader, const test_archive *archive, const szgpu_shape *shape,
                  const uint8_t *field, test_random *random);

/* Corrects the checksums; each decoder that reads such archives must refuse this one. */
void assert_all_refuse(test_archive *archive, size_t field_bytes);

/* Moves bits from one tile's size to its neighbour's, which keeps the sum of the sizes. */
void assert_shifted_tile_sizes_refused(const test_archive *sound, int tile_count,
                                       size_t field_bytes);

/* Flips up to three bits of a section's first byte_count bytes. */
void flip_bits_of_section(test_archive *archive, uint32_t section, uint64_t byte_count,
                          test_random *random);

/* Decoders that check the same things all refuse, or all restore the same. True: they restore. */
bool all_agree(test_archive *archive, size_t field_bytes);

#endif

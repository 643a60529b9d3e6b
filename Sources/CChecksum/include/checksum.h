// CRC32C (Castagnoli) by the processor's instructions.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Whether this processor has the instruction; if not, the others must not be called.
int regent_crc32c_supported(void);

/// Goes on with a checksum, without the complements at its begin and end.
uint32_t regent_crc32c(uint32_t crc, const uint8_t *at, size_t count);

/// The same by the instruction for eight bytes alone, whatever wider ones there are.
uint32_t regent_crc32c_words(uint32_t crc, const uint8_t *at, size_t count);

/// Has a SIGBUS in `regent_crc32c_mapped` end that reading, and nothing else; not 0 where that cannot be. To be called once.
int regent_guard_mappings(void);

/// The whole checksum of bytes of a mapped file; 0 where they could not all be read.
int regent_crc32c_mapped(uint32_t *crc, const uint8_t *at, size_t count);

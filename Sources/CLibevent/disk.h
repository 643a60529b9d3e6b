// The Linux calls of the disk store that Swift's Glibc module does not show, and CRC32C by the processor's instruction.
#pragma once
#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// Opens or makes a file below a folder, following no link and never leaving the folder. Never waits for a pipe's peer.
static inline int regent_open_in(int folder, const char *path, int flags, unsigned mode) {
  struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
                         .mode = (flags & O_CREAT) ? mode : 0,
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

// Reads what is in the page cache; EAGAIN where the disk would be waited for (RWF_NOWAIT, Linux 4.14).
static inline long regent_read_ready(int file, void *start, size_t count, long offset) {
  struct iovec piece = {.iov_base = start, .iov_len = count};
  return syscall(SYS_preadv2, file, &piece, 1UL, offset, 0L, 0x8);
}

// How many pages of a part of a file are in the page cache (cachestat, Linux 6.5); less than 0 where that cannot be told.
static inline long regent_cached_pages(int file, uint64_t offset, uint64_t count) {
  uint64_t range[2] = {offset, count}, found[5] = {0};
  return syscall(451, file, range, found, 0) == 0 ? (long)found[0] : -1;
}

// Sends a part of a file from the page cache, without copying it into the process.
static inline long regent_send_file(int socket, int file, long offset, size_t count) {
  return syscall(SYS_sendfile, socket, file, &offset, count);
}

// Sets bytes of the disk aside. With `keep_size`, beyond the end of the file and without moving it.
static inline int regent_allocate(int file, int keep_size, long offset, long count) {
  return (int)syscall(SYS_fallocate, file, keep_size ? 1 : 0, offset, count);
}

static inline long regent_random(void *start, size_t count) { return syscall(SYS_getrandom, start, count, 0); }

static inline uint64_t regent_word(const uint8_t *at) {
  uint64_t word;
  memcpy(&word, at, 8);
  return word;
}

#if defined(__x86_64__)

typedef long long regent_pair __attribute__((vector_size(16)));
#define REGENT_CRC __attribute__((target("sse4.2,pclmul")))

// SSE4.2 (bit 20) and PCLMULQDQ (bit 1) of CPUID leaf 1, register ECX.
static inline int regent_crc32c_supported(void) {
  unsigned a = 1, b, c = 0, d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (c >> 20 & 1) && (c >> 1 & 1);
}

REGENT_CRC static inline uint32_t regent_crc32c_serial(uint32_t crc, const uint8_t *at, size_t count) {
  for (; count >= 8; at += 8, count -= 8) crc = (uint32_t)__builtin_ia32_crc32di(crc, regent_word(at));
  for (; count; at++, count--) crc = __builtin_ia32_crc32qi(crc, *at);
  return crc;
}

REGENT_CRC static inline uint64_t regent_carryless(uint32_t a, uint32_t b) {
  regent_pair x = {(long long)a, 0}, y = {(long long)b, 0};
  regent_pair product = (regent_pair)__builtin_ia32_pclmulqdq128(x, y, 0);
  return (uint64_t)product[0];
}

// Three streams of `third` bytes at once, as the instruction takes three cycles and one may start in each; then the first
// two are moved to where the third ends (Gopal et al., "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction",
// 2011). `once` and `twice` are x^(8 third - 33) and x^(16 third - 33) modulo the polynomial, reflected.
REGENT_CRC static inline uint32_t regent_crc32c_three(
  uint32_t crc, const uint8_t *at, size_t third, uint32_t once, uint32_t twice) {
  uint64_t one = crc, two = 0, three = 0;
  for (const uint8_t *end = at + third; at < end; at += 8) {
    one = __builtin_ia32_crc32di(one, regent_word(at));
    two = __builtin_ia32_crc32di(two, regent_word(at + third));
    three = __builtin_ia32_crc32di(three, regent_word(at + 2 * third));
  }
  uint64_t moved = regent_carryless((uint32_t)one, twice) ^ regent_carryless((uint32_t)two, once);
  return (uint32_t)three ^ (uint32_t)__builtin_ia32_crc32di(0, moved);
}

REGENT_CRC static inline uint32_t regent_crc32c(uint32_t crc, const uint8_t *at, size_t count) {
  for (; count >= 3 * 8192; at += 3 * 8192, count -= 3 * 8192)
    crc = regent_crc32c_three(crc, at, 8192, 0x54a86326u, 0x1dc403ccu);
  for (; count >= 3 * 256; at += 3 * 256, count -= 3 * 256)
    crc = regent_crc32c_three(crc, at, 256, 0xb9e02b86u, 0xdd7e3b0cu);
  return regent_crc32c_serial(crc, at, count);
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

static inline int regent_crc32c_supported(void) { return (getauxval(AT_HWCAP) >> 7) & 1; }

__attribute__((target("crc"))) static inline uint32_t regent_crc32c(uint32_t crc, const uint8_t *at, size_t count) {
  for (; count >= 8; at += 8, count -= 8) crc = __builtin_arm_crc32cd(crc, regent_word(at));
  for (; count; at++, count--) crc = __builtin_arm_crc32cb(crc, *at);
  return crc;
}

#else

static inline int regent_crc32c_supported(void) { return 0; }
static inline uint32_t regent_crc32c(uint32_t crc, const uint8_t *at, size_t count) { return crc; }

#endif

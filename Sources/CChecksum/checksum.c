// CRC32C by the processor's instructions, and over a mapped file's bytes, which may go away while they are read.

#include "checksum.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

static uint64_t regent_word(const uint8_t *at) {
  uint64_t word;
  memcpy(&word, at, 8);
  return word;
}

#if defined(__x86_64__)

typedef long long regent_pair __attribute__((vector_size(16)));
#define REGENT_CRC __attribute__((target("sse4.2,pclmul")))

static int has_words, has_wide;

static void regent_cpuid(unsigned leaf, unsigned *a, unsigned *b, unsigned *c, unsigned *d) {
  *a = leaf, *c = 0;
  __asm__ volatile("cpuid" : "+a"(*a), "=b"(*b), "+c"(*c), "=d"(*d));
}

// CPUID leaf 1, register ECX: SSE4.2 (bit 20), PCLMULQDQ (1), OSXSAVE (27); leaf 7, EBX: AVX512F (16), ECX: VPCLMULQDQ (10).
// XCR0 says whether the system keeps the wide registers: SSE, AVX and AVX-512 state (bits 1, 2, 5, 6, 7).
__attribute__((constructor)) static void regent_look_at_processor(void) {
  unsigned a, b, c, d;
  regent_cpuid(0, &a, &b, &c, &d);
  unsigned last = a;
  regent_cpuid(1, &a, &b, &c, &d);
  has_words = (c >> 20 & 1) && (c >> 1 & 1);
  if (!has_words || last < 7 || !(c >> 27 & 1)) return;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  regent_cpuid(7, &a, &b, &c, &d);
  has_wide = (low & 0xe6) == 0xe6 && (b >> 16 & 1) && (c >> 10 & 1);
}

int regent_crc32c_supported(void) { return has_words; }

REGENT_CRC static uint32_t regent_crc32c_serial(uint32_t crc, const uint8_t *at, size_t count) {
  for (; count >= 8; at += 8, count -= 8) crc = (uint32_t)__builtin_ia32_crc32di(crc, regent_word(at));
  for (; count; at++, count--) crc = __builtin_ia32_crc32qi(crc, *at);
  return crc;
}

REGENT_CRC static uint64_t regent_carryless(uint32_t a, uint32_t b) {
  regent_pair x = {(long long)a, 0}, y = {(long long)b, 0};
  regent_pair product = (regent_pair)__builtin_ia32_pclmulqdq128(x, y, 0);
  return (uint64_t)product[0];
}

// Three streams of `third` bytes at once, as the instruction takes three cycles and one may start in each; then the first
// two are moved to where the third ends (Gopal et al., "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction",
// 2011). `once` and `twice` are x^(8 third - 33) and x^(16 third - 33) modulo the polynomial, reflected.
REGENT_CRC static uint32_t regent_crc32c_three(
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

// What is verified comes from the page cache, and so mostly from memory and not from the processor's caches: short streams
// are one run of lines for it, and what comes 4 KiB further on is asked for meanwhile.
REGENT_CRC uint32_t regent_crc32c_words(uint32_t crc, const uint8_t *at, size_t count) {
  enum { third = 256, whole = 3 * third, ahead = 4096 };
  for (; count >= whole; at += whole, count -= whole) {
    // Only a hint, which may go beyond the bytes.
    for (size_t line = 0; line < whole; line += 64) __builtin_prefetch((const char *)at + ahead + line);
    crc = regent_crc32c_three(crc, at, third, 0xb9e02b86u, 0xdd7e3b0cu);
  }
  return regent_crc32c_serial(crc, at, count);
}

#define REGENT_WIDE __attribute__((target("avx512f,vpclmulqdq,sse4.2")))

// What four 16-byte lanes become where their bytes are as far on as the two factors say, and what is there.
REGENT_WIDE static __m512i regent_folded(__m512i lanes, __m512i factors, __m512i there) {
  __m512i first = _mm512_clmulepi64_epi128(lanes, factors, 0x00);
  __m512i second = _mm512_clmulepi64_epi128(lanes, factors, 0x11);
  return _mm512_ternarylogic_epi64(first, second, there, 0x96);
}

// Four times 64 bytes at once are folded onto those 256 bytes further on, and in the end onto the last 64 (Gopal et al.,
// "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", 2009). The factors for n bits further on are
// x^(n + 31) and x^(n - 33) modulo the polynomial, reflected.
REGENT_WIDE static uint32_t regent_crc32c_wide(uint32_t crc, const uint8_t *at, size_t count) {
  enum { step = 64, whole = 4 * step, ahead = 4096 };
  const __m512i far = _mm512_broadcast_i32x4(_mm_set_epi64x(0xb9e02b86, 0xdcb17aa4));
  const __m512i near = _mm512_broadcast_i32x4(_mm_set_epi64x(0x9e4addf8, 0x740eef02));
  __m512i lanes[4];
  for (int n = 0; n < 4; n++) lanes[n] = _mm512_loadu_si512(at + n * step);
  lanes[0] = _mm512_xor_si512(lanes[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
  for (at += whole, count -= whole; count >= whole; at += whole, count -= whole) {
    for (int n = 0; n < 4; n++) {
      // Only a hint, as above.
      __builtin_prefetch((const char *)at + ahead + n * step);
      lanes[n] = regent_folded(lanes[n], far, _mm512_loadu_si512(at + n * step));
    }
  }
  for (int n = 1; n < 4; n++) lanes[n] = regent_folded(lanes[n - 1], near, lanes[n]);
  uint8_t last[step];
  _mm512_storeu_si512(last, lanes[3]);
  return regent_crc32c_serial(regent_crc32c_serial(0, last, step), at, count);
}

uint32_t regent_crc32c(uint32_t crc, const uint8_t *at, size_t count) {
  return has_wide && count >= 512 ? regent_crc32c_wide(crc, at, count) : regent_crc32c_words(crc, at, count);
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

int regent_crc32c_supported(void) { return (getauxval(AT_HWCAP) >> 7) & 1; }

__attribute__((target("crc"))) uint32_t regent_crc32c_words(uint32_t crc, const uint8_t *at, size_t count) {
  for (; count >= 8; at += 8, count -= 8) crc = __builtin_arm_crc32cd(crc, regent_word(at));
  for (; count; at++, count--) crc = __builtin_arm_crc32cb(crc, *at);
  return crc;
}

uint32_t regent_crc32c(uint32_t crc, const uint8_t *at, size_t count) { return regent_crc32c_words(crc, at, count); }

#else

int regent_crc32c_supported(void) { return 0; }
uint32_t regent_crc32c(uint32_t crc, const uint8_t *at, size_t count) { return crc; }
uint32_t regent_crc32c_words(uint32_t crc, const uint8_t *at, size_t count) { return crc; }

#endif

// MARK: Bytes that may go away

// A file that is cut, or a page that the device cannot read, is a SIGBUS for whoever reads the mapping. Where it is this
// thread, in regent_crc32c_mapped, the reading ends; anywhere else it is what it was before.
static __thread volatile sig_atomic_t is_reading;
static __thread sigjmp_buf way_out;
static struct sigaction others;

static void bytes_are_gone(int signal, siginfo_t *info, void *context) {
  if (is_reading) {
    is_reading = 0;
    // The way out leads around the return from this handler, which would set the mask back.
    pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, 0);
    siglongjmp(way_out, 1);
  }
  // Memory that may be about to fail is no fault of anybody yet.
  if (info->si_code == BUS_MCEERR_AO) return;
  sigaction(SIGBUS, &others, 0);
  // A fault comes again by itself; what somebody sent does not.
  if (info->si_code <= 0) raise(signal);
}

int regent_guard_mappings(void) {
  struct sigaction own = {.sa_sigaction = bytes_are_gone, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigemptyset(&own.sa_mask);
  return sigaction(SIGBUS, &own, &others);
}

int regent_crc32c_mapped(uint32_t *crc, const uint8_t *at, size_t count) {
  if (sigsetjmp(way_out, 0)) return 0;
  is_reading = 1;
  atomic_signal_fence(memory_order_seq_cst);
  uint32_t sum = regent_crc32c(UINT32_MAX, at, count);
  atomic_signal_fence(memory_order_seq_cst);
  is_reading = 0;
  *crc = ~sum;
  return 1;
}

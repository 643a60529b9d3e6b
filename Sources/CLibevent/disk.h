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

// Whether all pages of a mapped file's bytes are in the page cache. `start` is the beginning of a page.
static inline int regent_is_resident(const char *start, size_t count, size_t page) {
  unsigned char pages[256];
  while (count > 0) {
    size_t piece = count < page * sizeof pages ? count : page * sizeof pages;
    size_t found = (piece + page - 1) / page;
    if (syscall(SYS_mincore, start, piece, pages) != 0) return 0;
    unsigned char all = 1;
    for (size_t index = 0; index < found; index++) all &= pages[index];
    if (!(all & 1)) return 0;
    start += piece, count -= piece;
  }
  return 1;
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

// libevent's event core alone: loops, timers, signals. None of evhttp, evdns, bufferevent, evbuffer.
// Below it the few Linux calls that Swift's Glibc module does not show.
#pragma once
// First of all: event-config.h defines _GNU_SOURCE, with which fd_set would differ from the one in Glibc's module,
// and a clean build fails when both modules meet.
#include <sys/select.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

static inline int regent_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int accept4(int, struct sockaddr *__restrict, socklen_t *__restrict, int);
static inline int regent_accept(int listener) {
  return accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline int regent_socket(int family, int kind) {
  return socket(family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

// Works where /proc is hidden. By system call, as _GNU_SOURCE would give this module another fd_set than Glibc's.
static inline int regent_available_cores(void) {
  unsigned long set[128] = {0};
  long size = syscall(SYS_sched_getaffinity, 0, sizeof set, set);
  int count = 0;
  for (long word = 0; word * (long)sizeof set[0] < size; word++) count += __builtin_popcountl(set[word]);
  return count > 0 ? count : 1;
}

int pthread_setname_np(pthread_t, const char *);
static inline void regent_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

// Asks the processor to fetch the first cache lines of a piece of memory that is about to be read, all at once.
static inline void regent_prefetch(const char *start, size_t count) {
  for (size_t offset = 0; offset < count; offset += 64) __builtin_prefetch(start + offset);
}

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

// Opens a file below a folder, following no link and never leaving the folder.
static inline int regent_open_beneath(int folder, const char *path) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

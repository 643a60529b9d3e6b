// libevent's event core alone: loops, timers, signals. None of evhttp, evdns, bufferevent, evbuffer.
// Below it the few Linux calls that Swift's Glibc module does not show.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
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
#include <sched.h>

// Works where /proc is hidden.
static inline int regent_available_cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int pthread_setname_np(pthread_t, const char *);
static inline void regent_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

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

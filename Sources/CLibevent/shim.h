// libevent's event core alone: loops, timers, signals. None of evhttp, evdns, bufferevent, evbuffer.
#pragma once
#include <event2/event.h>
#include <event2/event_struct.h>

/*
 * etcd_http.h - etcd's JSON gateway, version 3.4 and later, over libcurl: requests that wait, from one thread at a
 * time. Each asks the servers in turn, beginning with the one that answered last.
 */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct etcd_http;

NODISCARD int etcd_http_open(const char *servers, const char *key, struct etcd_http **out, struct cellar_error *error);
void etcd_http_close(struct etcd_http *http);
/* INVALID, UNSUPPORTED: another version; UNREACHABLE. */
NODISCARD int etcd_http_version(struct etcd_http *http, struct cellar_error *error);
/* Which etcd it is, as the last answer said. */
uint64_t etcd_http_cluster(const struct etcd_http *http);
/*
 * The key as it is (not an old copy: a quorum was asked). *value: free() it; NULL: it is not there, *revision 0.
 */
NODISCARD int etcd_http_read(struct etcd_http *http, char **value, size_t *bytes, uint64_t *revision,
                             struct cellar_error *error);
/*
 * Writes the value if the key's last change is `revision` (0: it is not there). *swapped: it was. UNREACHABLE: whether
 * it was written is not known.
 */
NODISCARD int etcd_http_swap(struct etcd_http *http, uint64_t revision, const char *value, bool *swapped,
                             struct cellar_error *error);
/* From any thread: what is under way, and what follows, ends soon with UNREACHABLE. */
void etcd_http_stop(struct etcd_http *http);

/*
 * fabric_shm_wire.h - what compute-node and memory-node processes tell each other over a Unix socket (SOCK_SEQPACKET:
 * the kernel keeps message boundaries). One message has one size; magic and version stand first and never move.
 *
 *   compute node                       memory node
 *   ATTACH cn, cns, opening        ->
 *                                  <-  ATTACHED shape, with the descriptors of its segments; or REFUSED code, text
 *   (the connection stays open: its hang-up tells either side that the other is gone)
 *   MAILBOXES, with a descriptor   ->  the mailbox segment that this pool's compute nodes use: to be handed out from
 *                                      now on
 *   DETACH                         ->  before an orderly hang-up
 *   LIFE cn, cns, life             ->  on a connection of its own: which life its indexes are from now on
 *                                  <-  LIVING; or REFUSED code, text
 *   FENCE cn, life                 ->  on a connection of its own
 *                                  <-  FENCED, when that process is dead, or of a later life; or REFUSED code, text
 */
#pragma once

#include "err.h"

#include <stdint.h>
#include <sys/un.h>

#define FABRIC_SHM_WIRE_MAGIC 0x6d687343u /* "Cshm" */
#define FABRIC_SHM_WIRE_VERSION 5         /* changes with this file and with the mailbox segment's layout */
#define FABRIC_SHM_WIRE_FDS 2             /* the region; and the mailbox segment, where one is known */

enum fabric_shm_wire_kind {
    FABRIC_SHM_ATTACH = 1,
    FABRIC_SHM_ATTACHED,
    FABRIC_SHM_FENCE,
    FABRIC_SHM_FENCED,
    FABRIC_SHM_DETACH,
    FABRIC_SHM_REFUSED,
    FABRIC_SHM_MAILBOXES,
    FABRIC_SHM_LIFE,
    FABRIC_SHM_LIVING,
};

struct fabric_shm_message_wire {
    uint32_t magic;         /*   0..3 */
    uint16_t version, kind; /*   4..7 */
    int32_t code;           /*   8..11  REFUSED: CELLAR_x */
    uint32_t cn, cns;       /*  12..19  ATTACH: the indexes claimed; FENCE: cn, and cns 1: only if it is dead */
    uint32_t node;          /*  20..23  ATTACHED, and all below */
    uint32_t mn_count, cn_count;
    uint32_t fresh;   /*  32..35  1: unwritten, and no other process attached was told so */
    uint32_t adopted; /* ATTACHED: 1: the mailbox segment is one that a compute node has brought */
    uint64_t bytes;   /*  40..47 */
    uint64_t seed;    /*  48..55  equal on all memory nodes of one pool */
    uint64_t opening; /*  56..63  ATTACH, LIFE: which opening of that process it is, random */
    uint64_t life;    /*  64..71  LIFE; ATTACH: that it is already, else 0; FENCE: the last one, 0: any */
    char text[184];   /*  72..255 REFUSED */
};
_Static_assert(sizeof(struct fabric_shm_message_wire) == 256, "a fixed size");

enum fabric_shm_wire_result {
    FABRIC_SHM_WIRE_GOT,
    FABRIC_SHM_WIRE_NONE,
    FABRIC_SHM_WIRE_HUNG_UP,
    FABRIC_SHM_WIRE_GARBAGE
};

/* Fills in magic and version. 0, or CELLAR_SYSTEM when the other side cannot take it now. */
NODISCARD int fabric_shm_wire_send(int socket, struct fabric_shm_message_wire *message, const int *fds,
                                   uint32_t fd_count);
/*
 * Receives one message, and up to FABRIC_SHM_WIRE_FDS descriptors (-1: none) into fds unless that is NULL. NONE:
 * nothing there now, or not within the socket's timeout. GARBAGE: not a message; of another version if message->magic
 * is right.
 */
enum fabric_shm_wire_result fabric_shm_wire_receive(int socket, struct fabric_shm_message_wire *message, int *fds);
NODISCARD int fabric_shm_wire_address(struct sockaddr_un *address, const char *path, struct cellar_error *error);

/*
 * fabric_verbs_wire.h - what the two ends of a connection say to each other before there is one: the private data of
 * rdma_cm's requests, acceptances and rejections. Pure bytes, no verbs: tested without a device.
 *
 * Every question is a connection request of 56 bytes, and every answer but two is a rejection: HELLO is rejected with
 * a cookie, and the request proper then carries that cookie and a proof (an HMAC over the request) that its sender
 * knows the secret. Nothing is kept for an asker that only said HELLO: the cookie is a MAC over the time and the
 * asker's address under a key that only its maker knows.
 */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stdint.h>

#define FABRIC_VERBS_WIRE_MAGIC 0x434c5602u /* "CLV" and the version of this file */
#define FABRIC_VERBS_SECRET_MAX 256
#define FABRIC_VERBS_COOKIE_MS 5000 /* a cookie is good for so long, once */
#define FABRIC_VERBS_TEXT_BYTES 48
#define FABRIC_VERBS_REPLAYS 4096 /* requests admitted within the life of a cookie */

enum fabric_verbs_kind {
    FABRIC_VERBS_HELLO = 1, /* rejected with a cookie */
    FABRIC_VERBS_ATTACH,    /* a process: accepted with the shape of the pool */
    FABRIC_VERBS_CONNECT,   /* a worker: accepted with the address and key of the region */
    FABRIC_VERBS_FENCE,     /* rejected with the result */
    FABRIC_VERBS_LIFE,      /* a process: which life its compute nodes are from now on; rejected with the result */
    FABRIC_VERBS_MESSAGES,  /* from a worker to one of another compute node: accepted with its counter */
};

enum fabric_verbs_flags {
    FABRIC_VERBS_ONLY_DEAD = 1,   /* FENCE */
    FABRIC_VERBS_FRESH = 2,       /* ATTACH's answer, and all below */
    FABRIC_VERBS_LINE_ATOMIC = 4, /* by the memory node's device */
    FABRIC_VERBS_NATIVE = 8,      /* masked atomics go to the device as such */
    FABRIC_VERBS_SOFTWARE = 16,   /* the device is a kernel's emulation */
    FABRIC_VERBS_WIDE = 32,       /* and so do those on 16 bytes; never without NATIVE */
    FABRIC_VERBS_BLANK = 64,      /* the memory node was not written to yet */
};

struct fabric_verbs_request_wire {
    uint32_t magic;   /*   0..3 */
    uint8_t kind, cn; /*   4..5   the asker's; ATTACH: the first it claims */
    uint16_t worker;  /*   6..7   the asker's; FENCE, LIFE: the upper half of the life */
    uint8_t other,
        flags; /*   8..9   ATTACH, LIFE: how many it claims; FENCE: the one to fence; MESSAGES: the receiver's cn */
    /*
     * 10..11 ATTACH: where this process takes MESSAGES; MESSAGES: the receiver's worker; FENCE, LIFE: the lower half
     */
    uint16_t port;
    uint32_t fingerprint; /*  12..15  of the layouts, folded */
    uint64_t incarnation; /*  16..23  of the process, random */
    uint32_t nonce;       /*  24..27  random: no two requests are the same */
    uint32_t cookie_ms;   /*  28..31 */
    uint64_t cookie;      /*  32..39 */
    uint8_t proof[16];    /*  40..55  HMAC under the secret of all before it */
};
_Static_assert(sizeof(struct fabric_verbs_request_wire) == 56, "the most that a request of rdma_cm carries");

/* A life of FENCE or LIFE: incarnations have 28 bits (members.h). */
static inline uint32_t fabric_verbs_life(const struct fabric_verbs_request_wire *request)
{
    return (uint32_t)request->worker << 16 | request->port;
}
static inline void fabric_verbs_life_set(struct fabric_verbs_request_wire *request, uint64_t life)
{
    request->worker = (uint16_t)(life >> 16);
    request->port = (uint16_t)life;
}

struct fabric_verbs_reply_wire {
    uint32_t magic;           /*   0..3 */
    uint16_t kind;            /*   4..5   of the request */
    int16_t code;             /*   6..7   0 or CELLAR_x */
    uint8_t proof[16];        /*   8..23  HMAC under the secret of the request's proof and of all but this */
    uint64_t instance;        /*  24..31  of the answering process, random: a memory node started anew has another */
    uint64_t cookie;          /*  32..39  HELLO */
    uint32_t cookie_ms;       /*  40..43 */
    uint32_t rkey;            /*  44..47  CONNECT: of the region; MESSAGES: of the counter */
    uint64_t base;            /*  48..55  its address */
    uint64_t bytes;           /*  56..63  ATTACH: of each memory node */
    uint64_t seed;            /*  64..71 */
    uint64_t directory;       /*  72..79  ATTACH: address of the directory of compute nodes */
    uint32_t directory_rkey;  /*  80..83 */
    uint16_t node, mn_count;  /*  84..87 */
    uint16_t cn_count, flags; /*  88..91 */
    uint32_t slot;            /*  92..95  MESSAGES: what to sign messages with */
    char text[FABRIC_VERBS_TEXT_BYTES]; /*  96..143 why not */
};
_Static_assert(sizeof(struct fabric_verbs_reply_wire) == 144, "a rejection of rdma_cm carries 148 bytes");

/* Where the process of a compute node takes messages; the directory has one for each. Port 0: there is none. */
struct fabric_verbs_directory_wire {
    uint8_t address[16]; /*   0..15  IPv6, or IPv4 mapped into it */
    uint16_t port;       /*  16..17  in host order */
    uint8_t zero[14];
};
_Static_assert(sizeof(struct fabric_verbs_directory_wire) == 32, "two to a line");

/* A message as it travels. */
struct fabric_verbs_message_wire {
    uint32_t slot;      /*   0..3   as the receiver's acceptance said */
    uint8_t from_cn;    /*   4 */
    uint8_t size_bytes; /*   5      of what follows the header */
    uint16_t from_worker;
    uint8_t bytes[64];
};
_Static_assert(sizeof(struct fabric_verbs_message_wire) == 72, "inline on most devices");

struct fabric_verbs_secret {
    uint8_t bytes[FABRIC_VERBS_SECRET_MAX];
    uint32_t count;
};

/* Reads the file, without a newline at its end; of NULL the secret is empty. Refuses a file that others may read. */
NODISCARD int fabric_verbs_secret_read(struct fabric_verbs_secret *secret, const char *path,
                                       struct cellar_error *error);

/* What a process that answers keeps: its own key, and the proofs that it has admitted lately. */
struct fabric_verbs_judge {
    struct fabric_verbs_secret secret;
    uint8_t key[32];
    uint64_t instance;
    uint32_t fingerprint;
    uint32_t next;
    struct {
        uint32_t at_ms;
        uint8_t proof[16];
    } admitted[FABRIC_VERBS_REPLAYS];
};

uint32_t fabric_verbs_fold(uint64_t fingerprint);
void fabric_verbs_prove(const struct fabric_verbs_secret *secret, struct fabric_verbs_request_wire *request);
/* The answer to HELLO from that address. */
void fabric_verbs_challenge(const struct fabric_verbs_judge *judge, const uint8_t address[16], uint32_t now_ms,
                            struct fabric_verbs_reply_wire *reply);
/*
 * Is the request one of ours: its version, cookie, proof and fingerprint, and seen for the first time? 0, or
 * CELLAR_x with a text for the asker in *reply. now_ms is a clock of this process that wraps.
 */
NODISCARD int fabric_verbs_admit(struct fabric_verbs_judge *judge, const struct fabric_verbs_request_wire *request,
                                 uint32_t bytes, const uint8_t address[16], uint32_t now_ms,
                                 struct fabric_verbs_reply_wire *reply);
/* Signs an answer to that request, filling in what all answers have. */
void fabric_verbs_sign(const struct fabric_verbs_judge *judge, const struct fabric_verbs_request_wire *request,
                       struct fabric_verbs_reply_wire *reply);
/* Is it an answer to that request by one that knows the secret? */
bool fabric_verbs_signed(const struct fabric_verbs_secret *secret, const struct fabric_verbs_request_wire *request,
                         const struct fabric_verbs_reply_wire *reply);

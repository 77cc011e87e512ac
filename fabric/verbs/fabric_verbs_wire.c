/* fabric_verbs_wire.c - cookies, proofs, and which requests are admitted. */
#include "fabric_verbs_wire.h"
#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int fabric_verbs_secret_read(struct fabric_verbs_secret *secret, const char *path, struct cellar_error *error)
{
    struct stat status;
    *secret = (struct fabric_verbs_secret){0};
    if (!path) return 0;
    FILE *file = descriptor_stream(descriptor_high(open(path, O_RDONLY | O_CLOEXEC)), "r");
    if (!file) return err_set(error, CELLAR_SYSTEM, "cannot read the secret %.120s: %s", path, strerror(errno));
    bool open_to_others = fstat(fileno(file), &status) != 0 || (status.st_mode & 077) != 0;
    size_t count = fread(secret->bytes, 1, sizeof secret->bytes, file);
    bool longer = fgetc(file) != EOF;
    (void)fclose(file);
    if (open_to_others) return err_set(error, CELLAR_INVALID, "others can read the secret %.120s; do chmod 600", path);
    while (count > 0 && (secret->bytes[count - 1] == '\n' || secret->bytes[count - 1] == '\r')) count--;
    if (longer || count < 16)
        return err_set(error, CELLAR_INVALID,
                       "the secret %.120s needs 16 to %d bytes; make one with: head -c 32 /dev/urandom | base64", path,
                       FABRIC_VERBS_SECRET_MAX);
    secret->count = (uint32_t)count;
    return 0;
}

/* HMAC-SHA-256 under a key of any length; what is used of it says `bytes`. */
static void authenticate(const void *key, size_t key_bytes, const void *message, size_t count, void *proof,
                         size_t bytes)
{
    crypto_auth_hmacsha256_state state;
    uint8_t digest[crypto_auth_hmacsha256_BYTES];
    (void)crypto_auth_hmacsha256_init(&state, key, key_bytes);
    (void)crypto_auth_hmacsha256_update(&state, message, count);
    (void)crypto_auth_hmacsha256_final(&state, digest);
    memcpy(proof, digest, bytes);
}

uint32_t fabric_verbs_fold(uint64_t fingerprint) { return (uint32_t)(fingerprint ^ fingerprint >> 32); }

static void prove(const struct fabric_verbs_secret *secret, const struct fabric_verbs_request_wire *request,
                  uint8_t proof[16])
{
    authenticate(secret->bytes, secret->count, request, offsetof(struct fabric_verbs_request_wire, proof), proof, 16);
}

void fabric_verbs_prove(const struct fabric_verbs_secret *secret, struct fabric_verbs_request_wire *request)
{
    prove(secret, request, request->proof);
}

static uint64_t cookie_of(const struct fabric_verbs_judge *judge, const uint8_t address[16], uint32_t made_ms)
{
    uint8_t bytes[20];
    uint64_t cookie;
    memcpy(bytes, address, 16);
    memcpy(bytes + 16, &made_ms, sizeof made_ms);
    authenticate(judge->key, sizeof judge->key, bytes, sizeof bytes, &cookie, sizeof cookie);
    return cookie;
}

void fabric_verbs_challenge(const struct fabric_verbs_judge *judge, const uint8_t address[16], uint32_t now_ms,
                            struct fabric_verbs_reply_wire *reply)
{
    *reply = (struct fabric_verbs_reply_wire){.magic = FABRIC_VERBS_WIRE_MAGIC,
                                              .kind = FABRIC_VERBS_HELLO,
                                              .instance = judge->instance,
                                              .cookie = cookie_of(judge, address, now_ms),
                                              .cookie_ms = now_ms};
}

static int refuse(struct fabric_verbs_reply_wire *reply, int code, const char *text)
{
    reply->code = (int16_t)code;
    snprintf(reply->text, sizeof reply->text, "%s", text);
    return code;
}

/* Once only: a request that was overheard is worth nothing. */
static int remember(struct fabric_verbs_judge *judge, const uint8_t proof[16], uint32_t now_ms,
                    struct fabric_verbs_reply_wire *reply)
{
    static const uint8_t none[16];
    for (uint32_t i = 0; i < FABRIC_VERBS_REPLAYS; i++)
        if (memcmp(judge->admitted[i].proof, proof, 16) == 0)
            return refuse(reply, CELLAR_INVALID, "this request was made before");
    uint32_t at = judge->next % FABRIC_VERBS_REPLAYS;
    bool used = memcmp(judge->admitted[at].proof, none, 16) != 0;
    if (used && now_ms - judge->admitted[at].at_ms <= FABRIC_VERBS_COOKIE_MS)
        return refuse(reply, CELLAR_FULL, "too many connections within seconds");
    judge->admitted[at].at_ms = now_ms;
    memcpy(judge->admitted[at].proof, proof, 16);
    judge->next++;
    return 0;
}

int fabric_verbs_admit(struct fabric_verbs_judge *judge, const struct fabric_verbs_request_wire *request,
                       uint32_t bytes, const uint8_t address[16], uint32_t now_ms,
                       struct fabric_verbs_reply_wire *reply)
{
    uint8_t proof[16];
    if (bytes < sizeof *request || request->magic != FABRIC_VERBS_WIRE_MAGIC)
        return refuse(reply, CELLAR_MISMATCH, "another version; use one build everywhere");
    uint64_t cookie = cookie_of(judge, address, request->cookie_ms);
    if (now_ms - request->cookie_ms > FABRIC_VERBS_COOKIE_MS || sodium_memcmp(&cookie, &request->cookie, sizeof cookie))
        return refuse(reply, CELLAR_INVALID, "the cookie is not of here and now");
    prove(&judge->secret, request, proof);
    if (sodium_memcmp(proof, request->proof, sizeof proof))
        return refuse(reply, CELLAR_INVALID, "the secret is another one");
    if (request->fingerprint != judge->fingerprint)
        return refuse(reply, CELLAR_MISMATCH, "other layouts; use one build everywhere");
    return remember(judge, request->proof, now_ms, reply);
}

static void sign(const struct fabric_verbs_secret *secret, const struct fabric_verbs_request_wire *request,
                 const struct fabric_verbs_reply_wire *reply, uint8_t proof[16])
{
    struct fabric_verbs_reply_wire plain = *reply;
    uint8_t bytes[16 + sizeof plain];
    memset(plain.proof, 0, sizeof plain.proof);
    memcpy(bytes, request->proof, 16);
    memcpy(bytes + 16, &plain, sizeof plain);
    authenticate(secret->bytes, secret->count, bytes, sizeof bytes, proof, 16);
}

void fabric_verbs_sign(const struct fabric_verbs_judge *judge, const struct fabric_verbs_request_wire *request,
                       struct fabric_verbs_reply_wire *reply)
{
    reply->magic = FABRIC_VERBS_WIRE_MAGIC;
    reply->kind = request->kind;
    reply->instance = judge->instance;
    sign(&judge->secret, request, reply, reply->proof);
}

bool fabric_verbs_signed(const struct fabric_verbs_secret *secret, const struct fabric_verbs_request_wire *request,
                         const struct fabric_verbs_reply_wire *reply)
{
    uint8_t proof[16];
    if (reply->magic != FABRIC_VERBS_WIRE_MAGIC || reply->kind != request->kind) return false;
    sign(secret, request, reply, proof);
    return sodium_memcmp(proof, reply->proof, sizeof proof) == 0;
}

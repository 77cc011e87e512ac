/* folder.c - the file that names a durable folder. */
#include "folder.h"

#include "must.h"

#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(struct folder) == 88, "folder");

union block {
    struct folder folder;
    uint8_t bytes[FOLDER_BYTES];
};

static uint64_t checksum_of(const union block *block)
{
    union block copy = *block;
    copy.folder.checksum = 0;
    return XXH3_64bits(&copy, sizeof copy);
}

static int refused(struct cellar_error *error, int rc)
{
    bool full = rc == ENOSPC || rc == EDQUOT;
    return err_set(error, full ? CELLAR_FULL : CELLAR_SYSTEM, "durable folder: %s: %s", FOLDER_FILE, strerror(rc));
}

/* A file of ours that a crash amid the first use has left half made has no name but with this end. */
static int file_see(void *arg, const char *name)
{
    const char *part = strstr(name, ".part");
    if (strcmp(name, "lost+found") == 0 || (part && !part[5])) return 0;
    *(bool *)arg = true;
    return 0;
}

static int other_see(void *arg, const char *name) { return strcmp(name, FOLDER_FILE) ? file_see(arg, name) : 0; }

static int first_use(struct disk *disk, struct cellar_error *error)
{
    bool any = false;
    int rc = disk->ops->list(disk, file_see, &any);
    if (rc) return refused(error, rc);
    if (any) return err_set(error, CELLAR_INVALID, "durable folder: it is not empty, and no folder of Cellar's");
    return CELLAR_NOT_FOUND;
}

static int block_judge(const union block *block, uint64_t fingerprint, struct cellar_error *error)
{
    static const union block zeros;
    const struct folder *folder = &block->folder;
    if (memcmp(block, &zeros, sizeof zeros) == 0) return CELLAR_NOT_FOUND; /* its first use was cut off */
    if (folder->magic != FOLDER_MAGIC || folder->checksum != checksum_of(block))
        return err_set(error, CELLAR_CORRUPT, "durable folder: %s, offset 0: this is no such file, or is damaged",
                       FOLDER_FILE);
    if (folder->version != FOLDER_VERSION)
        return err_set(error, CELLAR_MISMATCH, "durable folder: it has format %u, and this build reads format %u",
                       folder->version, FOLDER_VERSION);
    if (folder->fingerprint != fingerprint)
        return err_set(error, CELLAR_MISMATCH, "durable folder: it was written by a build with another layout");
    return 0;
}

/* Of a first use: the power failed as its one sector was written, and the folder has nothing else. */
static bool cut_off(struct disk *disk, const union block *block)
{
    bool others = false;
    const uint8_t *rest = block->bytes + DISK_SECTOR;
    if (rest[0] || memcmp(rest, rest + 1, sizeof *block - DISK_SECTOR - 1)) return false;
    return disk->ops->list(disk, other_see, &others) == 0 && !others;
}

int folder_read(struct disk *disk, uint64_t fingerprint, struct folder *folder, struct cellar_error *error)
{
    union block block;
    uint64_t bytes;
    int file, rc = disk->ops->open(disk, FOLDER_FILE, &file, &bytes);
    if (rc == ENOENT) return first_use(disk, error);
    if (rc) return refused(error, rc);
    if (bytes != sizeof block)
        rc = err_set(error, CELLAR_CORRUPT, "durable folder: %s has not %d bytes", FOLDER_FILE, FOLDER_BYTES);
    else if ((rc = disk->ops->read(disk, file, &block, sizeof block, 0)))
        rc = refused(error, rc);
    disk->ops->close(disk, file);
    if (!rc) rc = block_judge(&block, fingerprint, error);
    if (rc == CELLAR_CORRUPT && bytes == sizeof block && cut_off(disk, &block)) rc = CELLAR_NOT_FOUND;
    if (!rc) *folder = block.folder;
    return rc;
}

int folder_make(struct disk *disk, struct folder *folder, struct cellar_error *error)
{
    union block block = {.folder = *folder};
    uint64_t bytes;
    int file, rc = disk->ops->create(disk, FOLDER_FILE, sizeof block, false);
    if (rc && rc != EEXIST) return refused(error, rc);
    if ((rc = disk->ops->open(disk, FOLDER_FILE, &file, &bytes))) return refused(error, rc);
    block.folder.magic = FOLDER_MAGIC;
    block.folder.version = FOLDER_VERSION;
    block.folder.checksum = checksum_of(&block);
    rc = disk->ops->write(disk, file, &block, DISK_SECTOR, 0); /* the rest is zero as it was made */
    if (!rc) rc = disk->ops->sync(disk, file);
    disk->ops->close(disk, file);
    *folder = block.folder;
    return rc ? refused(error, rc) : 0;
}

static int log_see(void *arg, const char *name)
{
    *(bool *)arg = *(bool *)arg || strncmp(name, "wal-", 4) == 0;
    return 0;
}

int folder_logged(struct disk *disk, bool *logged, struct cellar_error *error)
{
    *logged = false;
    int rc = disk->ops->list(disk, log_see, logged);
    return rc ? refused(error, rc) : 0;
}

/*
 * disk_real.c - real files. Names are synced with their folder, for a file whose name is lost is lost. New files that
 * are synced part by part are written with zeros, as a sync of blocks that were only reserved has to write the file
 * system's journal, too; they get their name when they are whole.
 */
#include "disk_real.h"
#include "descriptor.h"

#include "pwrite_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define ZEROS_BYTES (512u << 10)
#define PART ".part"

struct disk_real {
    struct disk disk;
    int folder;
    bool look;
};

static struct disk_real *real_of(struct disk *disk) { return (struct disk_real *)disk; }

/* Whether writes go past the kernel's cache, where the file system can do that. */
static bool directly(int file, bool direct)
{
    int flags = fcntl(file, F_GETFL), wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
    return flags >= 0 && (flags == wanted || fcntl(file, F_SETFL, wanted) == 0) && direct;
}

/* A sync then has little left to do, and no copy is made; the sync is as needed: a disk has caches, too. */
static int real_write(struct disk *disk, int file, const void *from, size_t bytes, uint64_t offset)
{
    bool whole = !(((uintptr_t)from | bytes | offset) % DISK_BLOCK);
    (void)disk;
    int rc = directly(file, whole) ? pwrite_all(file, from, bytes, (off_t)offset) : EINVAL;
    if (rc != EINVAL) return rc;
    (void)directly(file, false);
    return pwrite_all(file, from, bytes, (off_t)offset);
}

static int zeros_make(struct disk *disk, int file, uint64_t bytes, bool written)
{
    static const uint8_t zeros[ZEROS_BYTES] __attribute__((aligned(DISK_BLOCK)));
    int rc = file_limit(bytes);
    if (!rc) rc = posix_fallocate(file, 0, (off_t)bytes); /* a full disk says so before anything is written */
    for (uint64_t at = 0; !rc && written && at < bytes; at += ZEROS_BYTES)
        rc = real_write(disk, file, zeros, bytes - at < ZEROS_BYTES ? bytes - at : ZEROS_BYTES, at);
    return rc;
}

static int real_create(struct disk *disk, const char *name, uint64_t bytes, bool written)
{
    int folder = real_of(disk)->folder;
    char part[DISK_NAME_MAX + sizeof PART];
    snprintf(part, sizeof part, "%s" PART, name);
    (void)unlinkat(folder, part, 0); /* of a process that was killed amid this */
    int file = descriptor_high(openat(folder, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file < 0) return errno;
    int rc = zeros_make(disk, file, bytes, written);
    if (!rc && fsync(file)) rc = errno;
    close(file);
    if (!rc && linkat(folder, part, folder, name, 0)) rc = errno;
    (void)unlinkat(folder, part, 0);
    if (!rc && fsync(folder)) rc = errno;
    return rc;
}

static int real_open(struct disk *disk, const char *name, int *file, uint64_t *bytes)
{
    struct stat about;
    int access = real_of(disk)->look ? O_RDONLY | O_NONBLOCK : O_RDWR;
    *file = descriptor_high(openat(real_of(disk)->folder, name, access | O_NOFOLLOW | O_CLOEXEC));
    if (*file < 0) return errno;
    int rc = fstat(*file, &about) ? errno : S_ISREG(about.st_mode) ? 0 : EINVAL;
    if (rc)
        close(*file);
    else
        *bytes = (uint64_t)about.st_size;
    return rc;
}

static void real_close(struct disk *disk, int file)
{
    (void)disk;
    close(file);
}

static int real_read(struct disk *disk, int file, void *to, size_t bytes, uint64_t offset)
{
    (void)disk;
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(file, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? errno : EIO;
        done += (size_t)got;
    }
    return 0;
}

static int real_sync(struct disk *disk, int file)
{
    (void)disk;
    return fdatasync(file) ? errno : 0; /* interrupted is failed, too: not asked again */
}

static int real_rename(struct disk *disk, const char *from, const char *to)
{
    int folder = real_of(disk)->folder;
    return renameat(folder, from, folder, to) || fsync(folder) ? errno : 0;
}

static int real_remove(struct disk *disk, const char *name)
{
    int folder = real_of(disk)->folder;
    return unlinkat(folder, name, 0) || fsync(folder) ? errno : 0;
}

static int real_list(struct disk *disk, int (*each)(void *arg, const char *name), void *arg)
{
    int copy = descriptor_high(openat(real_of(disk)->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), rc = 0;
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (!folder) {
        rc = errno;
        if (copy >= 0) close(copy);
        return rc;
    }
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(folder);
        if (!entry) {
            rc = errno;
            break;
        }
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        rc = each(arg, entry->d_name);
        if (rc) break;
    }
    closedir(folder);
    return rc;
}

static const struct disk_ops real_ops = {.create = real_create,
                                         .open = real_open,
                                         .close = real_close,
                                         .read = real_read,
                                         .write = real_write,
                                         .sync = real_sync,
                                         .rename = real_rename,
                                         .remove = real_remove,
                                         .list = real_list};

bool disk_real_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Its name is its parent's to keep. 0 or an errno. */
static int parent_sync(const char *path)
{
    char *whole = realpath(path, NULL); /* it may end in a dot, or be a link */
    if (!whole) return errno;
    int folder = descriptor_high(open(dirname(whole), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int rc = folder < 0 || fsync(folder) ? errno : 0;
    if (folder >= 0) close(folder);
    free(whole);
    return rc;
}

/*
 * The parent of one that is there is synced, too: the process that made it may have been killed before that. Where it
 * is not ours to read, or of a kind that has no syncs, another one has made the folder. One that is to be there and is
 * not is found by the opening.
 */
int disk_real_make(const char *path, bool existing, struct cellar_error *error)
{
    int rc = existing ? EEXIST : mkdir(path, 0700) ? errno : 0;
    bool there = rc == EEXIST;
    if (!rc || there) rc = parent_sync(path);
    if (!rc || (there && (rc == EACCES || rc == EINVAL)) || (existing && rc == ENOENT)) return 0;
    return err_set(error, CELLAR_SYSTEM, "%s: %s", path, strerror(rc));
}

int disk_real_number(const struct disk_real *disk, uint64_t number[2], struct cellar_error *error)
{
    struct stat about;
    if (fstat(disk->folder, &about)) return err_set(error, CELLAR_SYSTEM, "folder: %s", strerror(errno));
    uint64_t of[6] = {about.st_dev,
                      about.st_ino,
                      (uint64_t)about.st_ctim.tv_sec,
                      (uint64_t)about.st_ctim.tv_nsec,
                      (uint64_t)getpid(),
                      (uint64_t)about.st_mtim.tv_nsec};
    XXH128_hash_t hash = XXH3_128bits(of, sizeof of);
    number[0] = hash.low64;
    number[1] = hash.high64;
    return 0;
}

static int folder_open(const char *path, bool look, struct disk_real **disk, struct cellar_error *error)
{
    *disk = NULL;
    int folder = descriptor_high(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder < 0) return err_set(error, CELLAR_SYSTEM, "%s: %s", path, strerror(errno));
    int rc = 0;
    if (flock(folder, (look ? LOCK_SH : LOCK_EX) | LOCK_NB))
        rc = errno == EWOULDBLOCK ? err_set(error, CELLAR_EXISTS, "%s is in use by another process", path)
                                  : err_set(error, CELLAR_SYSTEM, "%s: flock: %s", path, strerror(errno));
    else if (faccessat(folder, ".", R_OK | X_OK | (look ? 0 : W_OK), AT_EACCESS))
        rc = err_set(error, CELLAR_SYSTEM, "%s: %s", path, strerror(errno));
    struct disk_real *made = rc ? NULL : malloc(sizeof *made);
    if (!rc && !made) rc = err_set(error, CELLAR_NOMEM, "no memory for a folder");
    if (rc) {
        close(folder);
        return rc;
    }
    *made = (struct disk_real){.disk.ops = &real_ops, .folder = folder, .look = look};
    *disk = made;
    return 0;
}

int disk_real_open(const char *path, struct disk_real **disk, struct cellar_error *error)
{
    return folder_open(path, false, disk, error);
}

int disk_real_look(const char *path, struct disk_real **disk, struct cellar_error *error)
{
    return folder_open(path, true, disk, error);
}

struct disk *disk_real_disk(struct disk_real *disk) { return &disk->disk; }

void disk_real_close(struct disk_real *disk)
{
    if (!disk) return;
    close(disk->folder);
    free(disk);
}

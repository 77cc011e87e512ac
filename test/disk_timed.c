#include "disk_timed.h"

#include "must.h"

#include <string.h>

static struct disk_timed *timed_of(struct disk *disk) { return (struct disk_timed *)disk; }

static void pass(struct disk_timed *timed, int file, uint64_t ns)
{
    struct durable *durable = timed->durable;
    if (!durable) return;
    struct durable_thread *thread = timed->of_keeper[file] ? &durable->keeper : &durable->nodes[timed->node].agent;
    if (!thread->ep || !thread->running) return; /* an opening, or a close */
    uint64_t end_ns = fabric_now_ns(thread->ep) + ns;
    while (fabric_now_ns(thread->ep) < end_ns) fabric_idle(thread->ep, end_ns);
}

static int timed_create(struct disk *disk, const char *name, uint64_t bytes, bool written)
{
    struct disk *below = timed_of(disk)->below;
    return below->ops->create(below, name, bytes, written);
}

static int timed_open(struct disk *disk, const char *name, int *file, uint64_t *bytes)
{
    struct disk_timed *timed = timed_of(disk);
    int rc = timed->below->ops->open(timed->below, name, file, bytes);
    must(rc || *file < DISK_TIMED_FILES);
    if (!rc) timed->of_keeper[*file] = strncmp(name, "checkpoint", 10) == 0;
    return rc;
}

static void timed_close(struct disk *disk, int file)
{
    struct disk *below = timed_of(disk)->below;
    below->ops->close(below, file);
}

static int timed_read(struct disk *disk, int file, void *to, size_t bytes, uint64_t offset)
{
    struct disk *below = timed_of(disk)->below;
    return below->ops->read(below, file, to, bytes, offset);
}

static int timed_write(struct disk *disk, int file, const void *from, size_t bytes, uint64_t offset)
{
    struct disk *below = timed_of(disk)->below;
    return below->ops->write(below, file, from, bytes, offset);
}

static int timed_sync(struct disk *disk, int file)
{
    struct disk_timed *timed = timed_of(disk);
    pass(timed, file, timed->sync_ns / 2);
    int rc = timed->below->ops->sync(timed->below, file);
    pass(timed, file, timed->sync_ns / 2);
    return rc;
}

static int timed_rename(struct disk *disk, const char *from, const char *to)
{
    struct disk *below = timed_of(disk)->below;
    return below->ops->rename(below, from, to);
}

static int timed_remove(struct disk *disk, const char *name)
{
    struct disk *below = timed_of(disk)->below;
    return below->ops->remove(below, name);
}

static int timed_list(struct disk *disk, int (*each)(void *arg, const char *name), void *arg)
{
    struct disk *below = timed_of(disk)->below;
    return below->ops->list(below, each, arg);
}

static const struct disk_ops timed_ops = {.create = timed_create,
                                          .open = timed_open,
                                          .close = timed_close,
                                          .read = timed_read,
                                          .write = timed_write,
                                          .sync = timed_sync,
                                          .rename = timed_rename,
                                          .remove = timed_remove,
                                          .list = timed_list};

void disk_timed_init(struct disk_timed *timed, struct disk *below, uint64_t sync_ns)
{
    *timed = (struct disk_timed){.disk = {&timed_ops}, .below = below, .sync_ns = sync_ns};
}

/*
 * forgetful.c - a file system (FUSE) that forgets what was not synced when the power fails: for powerloss.c.
 *
 *     forgetful FOLDER MOUNT SEED [lies]
 *
 * FOLDER keeps what was synced (unsynced.h). With `lies` syncs of files do nothing.
 *
 * Says `mounted`, and is told on its standard input:
 *
 *     cut N     the power fails amid the N-th change or sync from now on, which is not acknowledged
 *     stop N    amid the N-th it says `stopped`, and answers none until it is told `go`; `go` names none any more
 *     now       the power fails now
 *     end       ends, as at the end of the input. What was not synced and not lost is lost then, too
 *
 * When the power has failed it says `lost`, with four numbers: sectors that were not synced, those of them that are
 * gone, changes of names, those of them that are gone. Then all requests fail with EIO until it is told to end.
 *
 * It does what a durable folder needs. What it cannot forget as a disk would is refused, ENOTSUP, with a line on the
 * standard error: truncation, changes of modes, removal of folders, names that move between folders, O_SYNC. Nothing is
 * in the kernel's cache: all reads and writes come here, and files cannot be mapped to be written.
 *
 * Exit 0; 77 where nothing can be mounted.
 */
#define FUSE_USE_VERSION 35
#include "unsynced.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SKIPPED 77

struct forgetful {
    struct unsynced tree;
    uint64_t seed;
    uint64_t cut, stop; /* operations to come until the power fails, or all stands still; 0: none is named */
    bool lies, lost, ended, stopped;
};

static struct forgetful *self_of(fuse_req_t request) { return fuse_req_userdata(request); }

static struct unsynced_node *node_of(fuse_req_t request, fuse_ino_t number)
{
    if (number == FUSE_ROOT_ID) return self_of(request)->tree.root;
    return (struct unsynced_node *)(uintptr_t)number;
}

static void power_fails(struct forgetful *self)
{
    struct unsynced_loss loss;
    if (self->lost) return;
    self->lost = true;
    int rc = unsynced_lose(&self->tree, self->seed, &loss);
    if (!rc) rc = unsynced_save(&self->tree);
    if (rc) {
        fprintf(stderr, "forgetful: what is left cannot be written: %s\n", strerror(rc));
        exit(1);
    }
    printf("lost %llu %llu %llu %llu\n", (unsigned long long)loss.sectors, (unsigned long long)loss.sectors_forgotten,
           (unsigned long long)loss.names, (unsigned long long)loss.names_forgotten);
    fflush(stdout);
}

static void hear(struct forgetful *self);

/* After a change, and before a sync: does the power fail amid it? */
static bool fails_here(struct forgetful *self)
{
    if (self->stop && --self->stop == 0) {
        self->stopped = true;
        puts("stopped");
        fflush(stdout);
    }
    while (self->stopped && !self->ended) hear(self);
    if (self->cut && --self->cut == 0) power_fails(self);
    return self->lost;
}

/* Before the answer to any request: the power has failed, and that is the answer. */
static bool dark(fuse_req_t request)
{
    bool lost = self_of(request)->lost;
    if (lost) fuse_reply_err(request, EIO); /* which ends the request */
    return lost;
}

static void refuse(fuse_req_t request, const char *what)
{
    fprintf(stderr, "forgetful: refused, as it cannot be forgotten as a disk would: %s\n", what);
    fuse_reply_err(request, ENOTSUP);
}

static void change_answer(fuse_req_t request, int rc)
{
    if (!rc && fails_here(self_of(request))) rc = EIO;
    fuse_reply_err(request, rc);
}

/* ---- what is there ---- */

static struct stat about_of(const struct unsynced_node *node)
{
    return (struct stat){.st_ino = node->number,
                         .st_mode = node->mode,
                         .st_nlink = node->folder ? 2 : node->links,
                         .st_size = (off_t)node->size,
                         .st_blocks = (blkcnt_t)((node->size + UNSYNCED_SECTOR - 1) / UNSYNCED_SECTOR),
                         .st_blksize = 4096,
                         .st_uid = getuid(),
                         .st_gid = getgid(),
                         .st_atim = node->changed,
                         .st_mtim = node->changed,
                         .st_ctim = node->changed};
}

static struct fuse_entry_param entry_of(const struct unsynced_node *node)
{
    return (struct fuse_entry_param){.ino = (fuse_ino_t)(uintptr_t)node, .attr = about_of(node)};
}

static void entry_answer(fuse_req_t request, const struct unsynced_node *node)
{
    struct fuse_entry_param entry = entry_of(node);
    fuse_reply_entry(request, &entry);
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    if (dark(request)) return;
    const struct unsynced_node *node = unsynced_find(node_of(request, parent), name);
    if (node)
        entry_answer(request, node);
    else
        fuse_reply_err(request, ENOENT);
}

static void on_getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
    (void)info;
    if (dark(request)) return;
    struct stat about = about_of(node_of(request, number));
    fuse_reply_attr(request, &about, 0);
}

static void on_setattr(fuse_req_t request, fuse_ino_t number, struct stat *about, int which,
                       struct fuse_file_info *info)
{
    (void)number, (void)about, (void)which, (void)info;
    if (!dark(request)) refuse(request, "another size, mode, owner or time");
}

/* A place in the list keeps its name, so a reader goes on while names change. */
static void on_readdir(fuse_req_t request, fuse_ino_t number, size_t bytes, off_t offset, struct fuse_file_info *info)
{
    (void)info;
    if (dark(request)) return;
    const struct unsynced_names *names = &node_of(request, number)->now;
    char *page = malloc(bytes);
    size_t used = 0;
    if (!page) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    for (size_t i = (size_t)offset; i < names->count; i++) {
        if (!names->entries[i].node) continue;
        struct stat about = about_of(names->entries[i].node);
        size_t more =
            fuse_add_direntry(request, page + used, bytes - used, names->entries[i].name, &about, (off_t)(i + 1));
        if (more > bytes - used) break;
        used += more;
    }
    fuse_reply_buf(request, page, used);
    free(page);
}

static bool opened(fuse_req_t request, struct fuse_file_info *info)
{
    if (info->flags & (O_SYNC | O_DSYNC)) {
        refuse(request, "O_SYNC or O_DSYNC");
        return false;
    }
    info->direct_io = 1;
    return true;
}

static void on_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
    (void)number;
    if (!dark(request) && opened(request, info)) fuse_reply_open(request, info);
}

static void on_read(fuse_req_t request, fuse_ino_t number, size_t bytes, off_t offset, struct fuse_file_info *info)
{
    (void)info;
    if (dark(request)) return;
    size_t got = 0;
    char *to = malloc(bytes);
    int rc = to ? unsynced_read(node_of(request, number), to, bytes, (uint64_t)offset, &got) : ENOMEM;
    if (rc)
        fuse_reply_err(request, rc);
    else
        fuse_reply_buf(request, to, got);
    free(to);
}

/* ---- changes ---- */

static void on_write(fuse_req_t request, fuse_ino_t number, const char *from, size_t bytes, off_t offset,
                     struct fuse_file_info *info)
{
    (void)info;
    if (dark(request)) return;
    int rc = unsynced_write(node_of(request, number), from, bytes, (uint64_t)offset);
    if (!rc && fails_here(self_of(request))) rc = EIO;
    if (rc)
        fuse_reply_err(request, rc);
    else
        fuse_reply_write(request, bytes);
}

static void on_fallocate(fuse_req_t request, fuse_ino_t number, int mode, off_t offset, off_t bytes,
                         struct fuse_file_info *info)
{
    (void)info;
    if (dark(request)) return;
    if (mode)
        refuse(request, "fallocate that does more than to reserve");
    else
        change_answer(request, unsynced_grow(node_of(request, number), (uint64_t)(offset + bytes)));
}

/* May that be a name of it? A line of what is saved has one word for it. */
static int name_check(const struct unsynced_node *where, const char *name)
{
    if (strlen(name) > UNSYNCED_NAME_MAX) return ENAMETOOLONG;
    if (strpbrk(name, " \t\n\v\f\r")) return EINVAL;
    return unsynced_find(where, name) ? EEXIST : 0;
}

/* A new file or folder; NULL, and the request is answered. */
static struct unsynced_node *make(fuse_req_t request, fuse_ino_t parent, const char *name, bool folder, mode_t mode)
{
    struct forgetful *self = self_of(request);
    struct unsynced_node *where = node_of(request, parent), *node = NULL;
    if (dark(request)) return NULL;
    int rc = name_check(where, name);
    if (!rc) rc = unsynced_make(&self->tree, folder, (folder ? S_IFDIR : S_IFREG) | (mode & 0777), &node);
    if (!rc) rc = unsynced_name(where, NULL, name, node);
    if (!rc && fails_here(self)) rc = EIO;
    if (rc) fuse_reply_err(request, rc);
    return rc ? NULL : node;
}

static void on_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
    const struct unsynced_node *node = make(request, parent, name, true, mode);
    if (node) entry_answer(request, node);
}

static void on_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *info)
{
    if (dark(request) || !opened(request, info)) return;
    const struct unsynced_node *node = make(request, parent, name, false, mode);
    if (!node) return;
    struct fuse_entry_param entry = entry_of(node);
    fuse_reply_create(request, &entry, info);
}

static void on_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char *name)
{
    struct unsynced_node *node = node_of(request, number), *where = node_of(request, parent);
    if (dark(request)) return;
    int rc = name_check(where, name);
    if (!rc) rc = unsynced_name(where, NULL, name, node);
    if (!rc && fails_here(self_of(request))) rc = EIO;
    if (rc)
        fuse_reply_err(request, rc);
    else
        entry_answer(request, node);
}

static void on_unlink(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct unsynced_node *where = node_of(request, parent);
    if (dark(request)) return;
    change_answer(request, unsynced_find(where, name) ? unsynced_name(where, name, NULL, NULL) : ENOENT);
}

static void on_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    (void)parent, (void)name;
    if (!dark(request)) refuse(request, "removal of a folder");
}

static void on_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                      const char *new_name, unsigned flags)
{
    struct unsynced_node *where = node_of(request, parent), *node = unsynced_find(where, name);
    if (dark(request)) return;
    if (parent != new_parent || flags) {
        refuse(request, "a name that moves to another folder, or is exchanged");
        return;
    }
    int rc = node ? name_check(where, new_name) : ENOENT;
    if (!rc || rc == EEXIST) rc = unsynced_name(where, name, new_name, node);
    change_answer(request, rc);
}

static void on_fsync(fuse_req_t request, fuse_ino_t number, int data_only, struct fuse_file_info *info)
{
    struct forgetful *self = self_of(request);
    (void)data_only, (void)info; /* a size that has grown is needed to read the data */
    if (dark(request)) return;
    struct unsynced_node *node = node_of(request, number);
    int rc = fails_here(self) ? EIO : self->lies && !node->folder ? 0 : unsynced_sync(node);
    fuse_reply_err(request, rc);
}

static const struct fuse_lowlevel_ops requests = {.lookup = on_lookup,
                                                  .getattr = on_getattr,
                                                  .setattr = on_setattr,
                                                  .readdir = on_readdir,
                                                  .open = on_open,
                                                  .read = on_read,
                                                  .write = on_write,
                                                  .fallocate = on_fallocate,
                                                  .create = on_create,
                                                  .mkdir = on_mkdir,
                                                  .link = on_link,
                                                  .unlink = on_unlink,
                                                  .rmdir = on_rmdir,
                                                  .rename = on_rename,
                                                  .fsync = on_fsync,
                                                  .fsyncdir = on_fsync};

/* ---- what it is told, and its life ---- */

static void obey(struct forgetful *self, const char *line)
{
    unsigned long long count;
    if (sscanf(line, "cut %llu", &count) == 1)
        self->cut = count;
    else if (sscanf(line, "stop %llu", &count) == 1)
        self->stop = count;
    else if (!strcmp(line, "go"))
        self->stop = 0, self->stopped = false;
    else if (!strcmp(line, "now"))
        power_fails(self);
    else
        self->ended = true;
}

/* Lines come whole: they are short, and the writer of a pipe writes each at once. */
static void hear(struct forgetful *self)
{
    char text[512], *rest = text, *line;
    ssize_t got = read(STDIN_FILENO, text, sizeof text - 1);
    if (got <= 0) self->ended = true;
    text[got > 0 ? got : 0] = '\0';
    while ((line = strsep(&rest, "\n")))
        if (*line) obey(self, line);
}

/* One request at a time. */
static void serve(struct forgetful *self, struct fuse_session *session)
{
    struct fuse_buf buffer = {0};
    struct pollfd waits[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = fuse_session_fd(session), .events = POLLIN}};
    while (!self->ended && !fuse_session_exited(session)) {
        if (poll(waits, 2, -1) < 0 && errno != EINTR) break;
        if (waits[0].revents) hear(self);
        if (!waits[1].revents) continue;
        int got = fuse_session_receive_buf(session, &buffer);
        if (got > 0) fuse_session_process_buf(session, &buffer);
        if (got < 0 && got != -EINTR && got != -EAGAIN) {
            fprintf(stderr, "forgetful: no more requests: %s\n", strerror(-got));
            break;
        }
    }
    free(buffer.mem);
}

int main(int count, char **arguments)
{
    struct forgetful self = {.seed = count > 3 ? strtoull(arguments[3], NULL, 10) : 0,
                             .lies = count > 4 && !strcmp(arguments[4], "lies")};
    const int outlived[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    char *mount_options[] = {arguments[0], "-ofsname=forgetful"};
    struct fuse_args args = FUSE_ARGS_INIT(2, mount_options);
    if (count < 4) {
        fprintf(stderr, "usage: forgetful FOLDER MOUNT SEED [lies]\n");
        return 2;
    }
    /* The process that has started it ends it, by the end of the input: a signal would leave the mount. */
    for (size_t i = 0; i < sizeof outlived / sizeof *outlived; i++) signal(outlived[i], SIG_IGN);
    int rc = unsynced_load(&self.tree, arguments[1]);
    if (rc) {
        fprintf(stderr, "forgetful: %s: %s\n", arguments[1], strerror(rc));
        return 1;
    }
    struct fuse_session *session = fuse_session_new(&args, &requests, sizeof requests, &self);
    if (!session || fuse_session_mount(session, arguments[2])) return SKIPPED;
    puts("mounted");
    fflush(stdout);
    serve(&self, session);
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    power_fails(&self);
    return 0;
}

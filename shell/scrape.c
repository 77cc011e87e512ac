#include "scrape.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX (1u << 20)
#define PATIENCE_S 5

/* ---- HTTP, as little as it takes ---- */

static int split(const char *where, char *host, size_t bytes, const char **port, struct cellar_error *error)
{
    if (strncmp(where, "http://", 7) == 0) where += 7;
    const char *colon = strrchr(where, ':');
    size_t length = colon ? (size_t)(colon - where) : 0;
    if (length >= bytes) return err_set(error, CELLAR_INVALID, "'%.60s' is no HOST:PORT", where);
    snprintf(host, bytes, "%.*s", colon ? (int)length : 9, colon ? where : "127.0.0.1");
    *port = colon ? colon + 1 : where;
    if (!**port || strspn(*port, "0123456789") != strlen(*port))
        return err_set(error, CELLAR_INVALID, "'%.60s' is no PORT or HOST:PORT", where);
    return 0;
}

static int connect_to(const char *where, struct cellar_error *error)
{
    char host[256];
    const char *port = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    struct addrinfo *list, *at;
    int code = split(where, host, sizeof host, &port, error), fd = -1;
    if (code) return code;
    int failed = getaddrinfo(host, port, &hints, &list);
    if (failed) return err_set(error, CELLAR_SYSTEM, "%.100s: %s", where, gai_strerror(failed));
    for (at = list; at && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd < 0) continue;
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (connect(fd, at->ai_addr, at->ai_addrlen) == 0) break;
        close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    if (fd >= 0) return fd;
    return err_set(error, CELLAR_SYSTEM, "%.100s: %s; does a process give metrics there?", where, strerror(errno));
}

/* All of the answer, terminated. */
static int answer_read(int fd, const char *where, char **text, struct cellar_error *error)
{
    static const char request[] = "GET /metrics HTTP/1.0\r\nConnection: close\r\n\r\n";
    size_t used = 0;
    ssize_t got = 1;
    *text = malloc(ANSWER_BYTES_MAX + 1);
    if (!*text) return err_set(error, CELLAR_NOMEM, "no memory for metrics");
    if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) != (ssize_t)sizeof request - 1) got = -1;
    while (got > 0 && used < ANSWER_BYTES_MAX) {
        got = recv(fd, *text + used, ANSWER_BYTES_MAX - used, 0);
        if (got > 0) used += (size_t)got;
    }
    (*text)[used] = 0;
    if (got < 0) return err_set(error, CELLAR_SYSTEM, "%.100s: %s", where, strerror(errno));
    return 0;
}

/* ---- the text ---- */

static bool line_parse(struct scrape *scrape, char *line)
{
    char *end, *value = strrchr(line, ' ');
    if (*line == '#' || *line == 0) return true;
    if (!value || scrape->count == SCRAPE_SAMPLES_MAX) return value != NULL;
    *value++ = 0;
    double number = strtod(value, &end);
    if (end == value || *end) return false;
    scrape->samples[scrape->count++] = (struct scrape_sample){line, number};
    return true;
}

static int answer_parse(struct scrape *scrape, const char *where, struct cellar_error *error)
{
    char *body = strstr(scrape->text, "\r\n\r\n"), *rest;
    bool good = strncmp(scrape->text, "HTTP/1.", 7) == 0 && strncmp(scrape->text + 8, " 200", 4) == 0 && body;
    for (char *line = good ? strtok_r(body, "\r\n", &rest) : NULL; line && good; line = strtok_r(NULL, "\r\n", &rest))
        good = line_parse(scrape, line);
    if (good && scrape->count) return 0;
    return err_set(error, CELLAR_SYSTEM, "%.100s: what answers there gives no metrics at /metrics", where);
}

int scrape_fetch(const char *where, struct scrape *scrape, struct cellar_error *error)
{
    scrape_free(scrape);
    int fd = connect_to(where, error);
    if (fd < 0) return fd;
    int code = answer_read(fd, where, &scrape->text, error);
    close(fd);
    return code ? code : answer_parse(scrape, where, error);
}

void scrape_free(struct scrape *scrape)
{
    free(scrape->text);
    scrape->text = NULL;
    scrape->count = 0;
}

double scrape_value(const struct scrape *scrape, const char *name)
{
    for (uint32_t i = 0; i < scrape->count; i++)
        if (strcmp(scrape->samples[i].name, name) == 0) return scrape->samples[i].value;
    return 0;
}

const char *scrape_label(const struct scrape_sample *sample, const char *label, char *text, size_t bytes)
{
    char wanted[64];
    size_t used = 0;
    snprintf(wanted, sizeof wanted, "%s=\"", label);
    const char *at = strchr(sample->name, '{');
    at = at ? strstr(at, wanted) : NULL;
    for (at += at ? strlen(wanted) : 0; at && *at && *at != '"' && used + 1 < bytes; at++) {
        if (*at == '\\' && at[1]) at++;
        text[used++] = *at;
    }
    text[used] = 0;
    return text;
}

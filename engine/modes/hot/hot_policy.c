#include "hot_policy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint64_t usual, least, most;
} rules[HOT_RULE_COUNT] = {
#define X(NAME, text, usual, least, most, says) {text, usual, least, most},
    HOT_RULES(X)
#undef X
};

static int find(const char *name, size_t length)
{
    for (int i = 0; i < HOT_RULE_COUNT; i++)
        if (strlen(rules[i].name) == length && !memcmp(rules[i].name, name, length)) return i;
    return -1;
}

/* One NAME=N; what follows it is left in *text, and its bit set in *given. */
static int rule_parse(const char **text, uint64_t *given, struct hot_policy *out, struct cellar_error *error)
{
    size_t length = strcspn(*text, "=,");
    int rule = find(*text, length);
    if (rule < 0)
        return err_set(error, CELLAR_ERR_INVALID, "hot records have no rule '%.*s' (docs/hot-records.md)",
                       (int)(length < 40 ? length : 40), *text);
    const char *number = *text + length;
    char *end = NULL;
    errno = 0;
    uint64_t value = number[0] == '=' && number[1] >= '0' && number[1] <= '9' ? strtoull(number + 1, &end, 10) : 0;
    if (!end || errno || (*end && *end != ',') || value < rules[rule].least || value > rules[rule].most)
        return err_set(error, CELLAR_ERR_INVALID, "rule %s of hot records needs a number, %" PRIu64 " to %" PRIu64,
                       rules[rule].name, rules[rule].least, rules[rule].most);
    if (*given >> rule & 1)
        return err_set(error, CELLAR_ERR_INVALID, "rule %s of hot records is given twice", rules[rule].name);
    *given |= 1ull << rule;
    out->rules[rule] = value;
    *text = end + (*end == ',' && end[1]); /* a comma that nothing follows is a rule without a name */
    return 0;
}

int hot_policy_parse(const char *text, struct hot_policy *out, struct cellar_error *error)
{
    uint64_t given = 0;
    int rc = 0;
    for (int i = 0; i < HOT_RULE_COUNT; i++) out->rules[i] = rules[i].usual;
    while (text && *text && rc == 0) rc = rule_parse(&text, &given, out, error);
    return rc;
}

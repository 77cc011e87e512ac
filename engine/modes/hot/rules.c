#include "rules.h"

#include "must.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int find(const struct rules_set *set, const char *name, size_t length)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (strlen(set->rules[i].name) == length && !memcmp(set->rules[i].name, name, length)) return (int)i;
    return -1;
}

/* One NAME=N; what follows it is left in *text, and its bit set in *given. */
static int rule_parse(const struct rules_set *set, const char **text, uint64_t *given, uint64_t *out,
                      struct cellar_error *error)
{
    size_t length = strcspn(*text, "=,");
    int number = find(set, *text, length);
    if (number < 0)
        return err_set(error, CELLAR_INVALID, "%s have no rule '%.*s' (%s)", set->of, (int)(length < 40 ? length : 40),
                       *text, set->page);
    const struct rules_rule *rule = &set->rules[number];
    const char *digits = *text + length;
    char *end = NULL;
    errno = 0;
    uint64_t value = digits[0] == '=' && digits[1] >= '0' && digits[1] <= '9' ? strtoull(digits + 1, &end, 10) : 0;
    if (!end || errno || (*end && *end != ',') || value < rule->least || value > rule->most)
        return err_set(error, CELLAR_INVALID, "rule %s of %s needs a number, %" PRIu64 " to %" PRIu64, rule->name,
                       set->of, rule->least, rule->most);
    if (*given >> number & 1)
        return err_set(error, CELLAR_INVALID, "rule %s of %s is given twice", rule->name, set->of);
    *given |= 1ull << number;
    out[number] = value;
    *text = end + (*end == ',' && end[1]); /* a comma that nothing follows is a rule without a name */
    return 0;
}

int rules_parse(const struct rules_set *set, const char *text, uint64_t *out, struct cellar_error *error)
{
    uint64_t given = 0;
    int rc = 0;
    must(set->count <= RULES_MAX);
    for (uint32_t i = 0; i < set->count; i++) out[i] = set->rules[i].usual;
    while (text && *text && rc == 0) rc = rule_parse(set, &text, &given, out, error);
    return rc;
}

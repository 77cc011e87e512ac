#include "hot_policy.h"

#include "rules.h"

static const struct rules_rule rules[HOT_RULE_COUNT] = {
#define X(NAME, text, usual, least, most, says) {text, usual, least, most},
    HOT_RULES(X)
#undef X
};

int hot_policy_parse(const char *text, struct hot_policy *out, struct cellar_error *error)
{
    static const struct rules_set set = {rules, HOT_RULE_COUNT, "hot records", "docs/hot-records.md"};
    return rules_parse(&set, text, out->rules, error);
}

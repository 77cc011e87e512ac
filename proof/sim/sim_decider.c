#include "sim_decider.h"

#include "decision.h"
#include "err.h"

#define STREAM_DECIDER 0x64656369ull
#define WAY_MIN_NS 5000ull
#define WAY_MAX_NS 2000000ull
#define GIVE_UP_NS 4000000ull /* a question that is not answered counts as such after so long */
#define LOST_ONE_IN 12        /* questions, and answers */
#define AWAY_ONE_IN 40        /* questions that meet it when it goes away */
#define AWAY_MAX_NS 10000000ull

static struct sim_decider *sim_decider_of(const struct cellar_decider *decider)
{
    return (struct sim_decider *)decider;
}

/* From low to high, each doubling as likely as any other. */
static uint64_t length(struct prng *prng, uint64_t low, uint64_t high)
{
    uint32_t doublings = 0;
    while (low << doublings < high) doublings++;
    uint64_t base = low << prng_below(prng, doublings);
    return base + prng_below(prng, base);
}

/* INV-MEMBER-2 */
static bool follows(const struct cellar_ruling *now, const struct cellar_ruling *to)
{
    bool grows = to->epoch == now->epoch + 1 && to->configuration >= now->configuration;
    grows = grows && (now->epoch == 0 || to->cluster == now->cluster);
    for (uint32_t cn = 0; cn < CELLAR_CNS_MAX; cn++) grows = grows && to->dead[cn] >= now->dead[cn];
    return grows;
}

static void meet(struct sim_decider *decider, struct sim_decider_question *question)
{
    bool goes = !decider->prompt && prng_below(&decider->prng, AWAY_ONE_IN) == 0;
    if (goes) decider->away_ns = question->arrives_ns + length(&decider->prng, WAY_MIN_NS, AWAY_MAX_NS);
    uint32_t cn = (uint32_t)(question - decider->questions);
    struct fabric_sim_decider_way way = fabric_sim_decider_way(decider->fabric, cn);
    question->lost = question->lost || question->arrives_ns < decider->away_ns || question->arrives_ns < way.ask_ns;
    if (question->answered_ns < way.answer_ns) question->unheard = true;
    if (question->lost || question->unheard) question->answered_ns = question->arrives_ns + GIVE_UP_NS;
    question->arrives_ns = UINT64_MAX;
    if (question->lost) return;
    if (!question->reads && (question->from == decider->now.epoch || question->from == DECISION_ANY)) {
        if (!follows(&decider->now, &question->to)) decider->wrong = "a decision replaced another one";
        decider->now = question->to;
        decider->decided++;
    }
    question->answer = decider->now;
}

/* All that has arrived by now, in its order. */
static void pass(struct sim_decider *decider)
{
    uint64_t now_ns = fabric_sim_now_ns(decider->fabric);
    for (;;) {
        struct sim_decider_question *first = NULL;
        for (uint32_t cn = 0; cn < FABRIC_CNS_MAX; cn++) {
            struct sim_decider_question *question = &decider->questions[cn];
            bool arrived = question->asked && question->arrives_ns <= now_ns;
            if (arrived && (!first || question->arrives_ns < first->arrives_ns)) first = question;
        }
        if (!first) return;
        meet(decider, first);
    }
}

static int begin(const struct cellar_decider *base, uint32_t cn, uint64_t from, const struct cellar_ruling *to)
{
    struct sim_decider *decider = sim_decider_of(base);
    struct sim_decider_question *question = &decider->questions[cn];
    uint64_t now_ns = fabric_sim_now_ns(decider->fabric);
    pass(decider);
    *question = (struct sim_decider_question){.asked = true, .reads = !to, .from = from};
    if (to) question->to = *to;
    uint64_t there_ns = length(&decider->prng, WAY_MIN_NS, WAY_MAX_NS);
    uint64_t back_ns = length(&decider->prng, WAY_MIN_NS, WAY_MAX_NS);
    bool lost = !decider->prompt && prng_below(&decider->prng, LOST_ONE_IN) == 0;
    bool unheard = !decider->prompt && prng_below(&decider->prng, LOST_ONE_IN) == 0;
    question->lost = lost;
    question->unheard = unheard;
    question->arrives_ns = now_ns + there_ns;
    question->answered_ns = now_ns + there_ns + back_ns;
    return 0;
}

static int end(const struct cellar_decider *base, uint32_t cn, struct cellar_ruling *now, struct cellar_error *error)
{
    struct sim_decider *decider = sim_decider_of(base);
    struct sim_decider_question *question = &decider->questions[cn];
    uint64_t now_ns = fabric_sim_now_ns(decider->fabric);
    pass(decider);
    bool arrived = question->arrives_ns == UINT64_MAX;
    if (!arrived || now_ns < question->answered_ns) return CELLAR_EXISTS;
    question->asked = false;
    *now = question->answer;
    return question->lost || question->unheard ? err_set(error, CELLAR_UNREACHABLE, "the register does not answer") : 0;
}

void sim_decider_open(struct sim_decider *decider, const struct fabric *fabric, uint64_t seed, bool prompt)
{
    *decider = (struct sim_decider){.fabric = fabric, .prompt = prompt};
    decider->decider =
        (struct cellar_decider){.name = "the register", .place = 1, .drawn = 1, .begin = begin, .end = end};
    prng_seed_stream(&decider->prng, seed, STREAM_DECIDER);
}

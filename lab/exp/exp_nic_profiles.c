/* exp_nic_profiles.c - the profiles' parameters as a table of lab/docs/nic-model.md. */
#include "exp_nic.h"
#include "fabric_sim_profile.h"

#include <stddef.h>

struct parameter {
    const char *name, *meaning;
    size_t offset;
};
#define PARAMETER(field, text)                                                                                         \
    {                                                                                                                  \
#field, text, offsetof(struct fabric_sim_profile, field)                                                       \
    }

static const struct parameter parameters[] = {
    PARAMETER(rtt_ns, "round trip of a READ, WRITE or atomic without service and without CPU"),
    PARAMETER(message_ns, "a SEND's way until its receiver may reap it"),
    PARAMETER(retarget_ns, "more for a SEND to another receiver than the one before"),
    PARAMETER(wide_ns, "more for a 16-byte atomic, on its way"),
    PARAMETER(link_ps, "picoseconds a byte on a link, each direction of each node; 0: no limit"),
    PARAMETER(header_bytes, "of a packet, on the link"),
    PARAMETER(units, "processing units of a memory node's NIC; 0: no limit"),
    PARAMETER(waiting, "atomics that may wait for their slot without holding a unit"),
    PARAMETER(atomic_ns, "an atomic holds its slot and unit"),
    PARAMETER(miss_ns, "a CAS that does not match holds them"),
    PARAMETER(read_ns, "a READ holds its unit, with few connections"),
    PARAMETER(write_ns, "a WRITE holds its unit"),
    PARAMETER(outstanding, "READs and atomics of a connection in flight; 0: no limit"),
    PARAMETER(crossing_ns, "of `message_ns`: through the ordinary switch that a programmable one takes the place of"),
    PARAMETER(pipeline_ns, "a programmable switch: one pass of a packet, port to port"),
    PARAMETER(packet_ps, "... picoseconds between two packets, at the earliest"),
    PARAMETER(recirculate_ps, "... picoseconds of the port through which packets pass once more"),
    PARAMETER(control_plane_ns, "... a turn of its control plane, and until that sees a packet"),
    PARAMETER(post_ns, "CPU: a doorbell, for each batch and memory node"),
    PARAMETER(op_ns, "CPU: each operation behind it"),
    PARAMETER(completion_ns, "CPU: each completion reaped"),
    PARAMETER(switch_ns, "CPU: each coroutine resumed"),
    PARAMETER(access_ns, "CPU: each unit of `fabric_work`"),
    PARAMETER(byte_ps, "CPU: picoseconds for each payload byte copied"),
};

static uint32_t value_of(const struct fabric_sim_profile *profile, const struct parameter *parameter)
{
    return *(const uint32_t *)(const void *)((const char *)profile + parameter->offset);
}

static void write_connections(FILE *out)
{
    fputs("| `qp` |", out);
    for (uint32_t i = 0; fabric_sim_profile_at(i); i++) {
        const struct fabric_sim_profile *profile = fabric_sim_profile_at(i);
        fputs(profile->qp[0].connections ? "" : " \xe2\x80\x93", out);
        for (uint32_t p = 0; p < FABRIC_SIM_QP_POINTS && profile->qp[p].connections; p++)
            fprintf(out, "%s %u: %u", p ? "," : "", profile->qp[p].connections, profile->qp[p].percent);
        fputs(" |", out);
    }
    fputs(" a READ's hold in percent of `read_ns`, by the number of connections; linear in its logarithm between |\n",
          out);
}

void exp_nic_profiles(FILE *out)
{
    fputs("| parameter |", out);
    for (uint32_t i = 0; fabric_sim_profile_at(i); i++) fprintf(out, " %s |", fabric_sim_profile_at(i)->name);
    fputs(" meaning |\n|---|", out);
    for (uint32_t i = 0; fabric_sim_profile_at(i); i++) fputs("---:|", out);
    fputs("---|\n", out);
    for (uint32_t p = 0; p < sizeof parameters / sizeof *parameters; p++) {
        fprintf(out, "| `%s` |", parameters[p].name);
        for (uint32_t i = 0; fabric_sim_profile_at(i); i++)
            fprintf(out, " %u |", value_of(fabric_sim_profile_at(i), &parameters[p]));
        fprintf(out, " %s |\n", parameters[p].meaning);
        if (parameters[p].offset == offsetof(struct fabric_sim_profile, read_ns)) write_connections(out);
    }
}

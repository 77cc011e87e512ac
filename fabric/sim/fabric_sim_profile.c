/*
 * fabric_sim_profile.c - the numbers, each with its source.
 *
 * Published round trips include the client's CPU: what the model charges for posting (120 ns for one operation) and
 * for reaping and resuming (50 ns) is taken off, so that a lone client sees the published time.
 */
#include "fabric_sim_profile.h"

#include <string.h>

/*
 * The posting thread's CPU, the same in every profile: the clients of the papers are Xeons of like age.
 *  - post_ns: writing a doorbell and a descriptor across PCIe, 0.1 to 0.2 us a post; op_ns: 0.02 to 0.05 us for each
 *    further operation behind one doorbell (Kalia et al., design guidelines for RDMA systems, and the notes of
 *    rdma_bench).
 *  - completion_ns: reading a completion queue entry and finding its owner.
 *  - switch_ns: resuming a coroutine that yields at once takes 14 ns here (AMD EPYC), 15.5 ns among 64 of them; a
 *    little more for finding it.
 *  - access_ns: scripts/cpu-work.sh counts the engine's instructions (lab/docs/nic-model.md): 970 for each record, and
 *    about as many for the transaction itself. So each record that is declared, and each transaction begun, is one
 *    unit: locking, validation, log, write-back and the procedure's own work included. At 2 instructions a cycle and
 *    3 GHz they take 160 ns. (Measured here, in a loop that stays in the caches: about 120 ns.)
 *  - byte_ps: copying, 16 bytes a nanosecond out of the cache.
 */
#define CPU .post_ns = 100, .op_ns = 20, .completion_ns = 30, .switch_ns = 20, .access_ns = 160, .byte_ps = 60

/*
 * READ service by connections in use: published for 32 threads on two CX-6 as 83, 55, 42 and 21 M READs/s at 32, 64,
 * 512 and 4,096 queue pairs (a study of RC scalability, Tsinghua University). WRITEs hardly change there.
 */
#define QP .qp = {{32, 100}, {64, 150}, {512, 200}, {4096, 400}}

/*
 * A programmable switch, Tofino 6.5 Tb/s, the same in every profile.
 *  - crossing_ns: CX-5 back to back 1,632 ns a round trip, through a switch 2,170 ns (IBM's notes on tulips): half of
 *    the difference.
 *  - pipeline_ns: below 1 us from port to port, more than 4 G packets/s (NetLock, section 5); 0.5 to 0.8 us are
 *    usual. A further pass takes as long: no paper says.
 *  - recirculate_ps: one port of 100 Gb/s for those that go around (NetLock's code has one), 64 bytes and 66 of
 *    headers, preamble and gap.
 *  - control_plane_ns: tens of microseconds from a register to a register (Mantis, SIGCOMM '20).
 */
#define SWITCH                                                                                                         \
    .crossing_ns = 269, .pipeline_ns = 700, .packet_ps = 250, .recirculate_ps = 10400, .control_plane_ns = 10000

static const struct fabric_sim_profile profiles[] = {
    /*
     * ConnectX-5, 100 Gb/s, behind a switch.
     *  - rtt, atomic, units: ShiftLock (section 2.3 and the verb ceilings of its figures): one client locks and
     *    unlocks 278.3 K times a second, 1.80 us for each CAS; 29 M atomics/s on many words; 3.7 M/s on one word
     *    gives 0.27 us and so 8 units.
     *  - miss: 240 clients without backoff take one lock 15.5 K times a second, which 0.27 us gives and 0.20 us does
     *    not.
     *  - read, write: 135 and 123 M/s of an IPADS note on doorbell batching, which does not name its NIC (8 units,
     *    0.06 us).
     *  - message: 0.83 us RC and 0.86 us UD one way (ib_send_lat, 32 bytes), less CPU. retarget: 2.9 instead of 1.9
     *    us a READ when each has another target, on dynamically connected transport (Kalia's DCT notes, Connect-IB);
     *    below 1 us in ShiftLock 3.2.
     *  - wide: a lone client's 16-byte atomic takes 2.03 to 2.05 us (ShiftLock, Table 3, 5 clients, write-intensive)
     *    instead of 1.80; what its bytes need on the link taken off. That the extra time is spent on the way, and not
     *    in the slots, is what its ceiling says: 29.5 M/s of them are as many as of the short ones (Table 3,
     *    read-intensive).
     *  - outstanding: max_rd_atomic of mlx5. header: Ethernet or InfiniBand and BTH, RETH, ICRC, about 30 bytes.
     */
    {.name = "cx5",
     .rtt_ns = 1530 - 170,
     .message_ns = 850 - 150,
     .retarget_ns = 900,
     .wide_ns = 220,
     .link_ps = 80,
     .header_bytes = 30,
     .units = 8,
     .atomic_ns = 270,
     .miss_ns = 270,
     .read_ns = 60,
     .write_ns = 60,
     .outstanding = 16,
     QP,
     SWITCH,
     CPU},
    /*
     * ConnectX-3, 56 Gb/s: what NetLock's paper ran DSLR and DrTM on (CloudLab's Apt).
     *  - atomic, miss: 2.7 M/s on many words (notes of rdma_bench; 1.8 M/s where the memory exceeds the processor's
     *    cache). So one unit; that a CAS that fails takes as long is our assumption.
     *  - read, write: 26 and 35 M/s inbound (HERD, SIGCOMM '14, on Apt).
     *  - rtt: some 1.9 us for a READ there. message: as cx5, software included. wide: this card has none; as cx5.
     */
    {.name = "cx3",
     .rtt_ns = 1900 - 170,
     .message_ns = 850 - 150,
     .retarget_ns = 900,
     .wide_ns = 220,
     .link_ps = 143,
     .header_bytes = 30,
     .units = 1,
     .atomic_ns = 370,
     .miss_ns = 370,
     .read_ns = 38,
     .write_ns = 28,
     .outstanding = 16,
     QP,
     SWITCH,
     CPU},
    /*
     * ConnectX-4, 100 Gb/s.
     *  - rtt, atomic, units: DecLock's CASLock, 1.61 M operations/s at its peak and 0.20 M at 256 clients; 3.4 us is
     *    what its clients see, software included. The wire alone is about 1.6 us.
     *  - miss: a CAS that fails does not write back across PCIe (Fusa, section II-B), here about half of its hold. It
     *    is what makes 0.20 M/s out of 256 clients: 0.25 us would give 0.14 M/s, and 0.20 us 0.15. (That cx5 wants
     *    0.27 us for it is a contradiction between the two papers' figures which this model does not resolve.)
     *  - wide: as cx5; no figure is published.
     *  - read: as cx5. write: 75 M small messages/s (Derecho's notes) bound it; 0.08 us on two units is less, the
     *    same clients' rates do not tell more. message: between 1.5 and 2 us of the same clients, less CPU.
     */
    {.name = "cx4",
     .rtt_ns = 3400 - 170,
     .message_ns = 1750 - 150,
     .retarget_ns = 900,
     .wide_ns = 220,
     .link_ps = 80,
     .header_bytes = 30,
     .units = 2,
     .atomic_ns = 250,
     .miss_ns = 140,
     .read_ns = 60,
     .write_ns = 80,
     .outstanding = 16,
     QP,
     SWITCH,
     CPU},
    /*
     * ConnectX-6, 200 Gb/s.
     *  - atomic: 2.04 M CAS/s and 2.17 M FAA/s on one word in host memory (a note of Tsinghua University): 0.47 us.
     *    units: 42.3 M atomics/s on many words (Fusa) give 20.
     *  - read, write: 83 M READs/s at 32 connections and 123 M WRITEs/s (RC scalability, as above), on 20 units.
     *  - miss: Fusa says that a failed CAS skips its write across PCIe but gives no time; taken as a hit. rtt,
     *    message, wide: as cx5.
     */
    {.name = "cx6",
     .rtt_ns = 1530 - 170,
     .message_ns = 850 - 150,
     .retarget_ns = 900,
     .wide_ns = 220,
     .link_ps = 40,
     .header_bytes = 30,
     .units = 20,
     .atomic_ns = 470,
     .miss_ns = 470,
     .read_ns = 240,
     .write_ns = 163,
     .outstanding = 16,
     QP,
     SWITCH,
     CPU},
    /* A NIC that serves everything at once: what is left are ways and CPUs, those of cx5. */
    {.name = "ideal", .rtt_ns = 1530 - 170, .message_ns = 850 - 150, SWITCH, CPU},
};

const struct fabric_sim_profile *fabric_sim_profile_at(uint32_t i)
{
    return i < sizeof profiles / sizeof profiles[0] ? &profiles[i] : NULL;
}

const struct fabric_sim_profile *fabric_sim_profile_find(const char *name)
{
    for (uint32_t i = 0; fabric_sim_profile_at(i); i++)
        if (strcmp(profiles[i].name, name) == 0) return &profiles[i];
    return NULL;
}

void fabric_sim_profile_take_cpu(struct fabric_sim_profile *out, const struct fabric_sim_profile *profile)
{
    *out = *profile;
    out->post_ns = out->op_ns = out->completion_ns = out->switch_ns = out->access_ns = out->byte_ps = 0;
}

#include "machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_cpu(char *cpu, size_t bytes)
{
    snprintf(cpu, bytes, "unknown CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof(line), file)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value += 1 + strspn(value + 1, " ");
        value[strcspn(value, "\n")] = 0;
        snprintf(cpu, bytes, "%.*s", (int)bytes - 1, value);
        break;
    }
    fclose(file);
}

void machine_read(struct machine *machine)
{
    cpu_set_t set;
    machine->cores = 1;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) machine->cores = (uint32_t)CPU_COUNT(&set);
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    machine->memory_bytes = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
    read_cpu(machine->cpu, sizeof(machine->cpu));
}

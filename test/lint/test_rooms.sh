#!/bin/bash
# The tree holds to its table, and the lint can fail: each rule is broken once in a small copy and must turn red there.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
lint=$here/test/lint/rooms.sh
failures=0

bash "$lint" "$here" || failures=1

copy=$(mktemp -d) || exit 2
trap 'rm -rf "$copy"' EXIT
unset CELLAR_BUILD

fresh() {
    rm -rf "${copy:?}"/*
    mkdir -p "$copy"/{base,fabric/{shm,sim,verbs},storage,lockmgr,engine/{txn,cluster,db,modes/crest},workload,tpcc,smallbank,ycsb,indexload,bench,examples,include,test/unit,scripts}
    cp "$here"/CMakeLists.txt "$copy" # names the workloads
    cp "$here"/include/*.h "$copy/include"
    cp "$here"/base/*.[ch] "$copy/base"
    cp "$here"/fabric/fabric.h "$copy/fabric"
    cp "$here"/workload/workload.h "$copy/workload"
    printf '#pragma once\n' | tee "$copy/fabric/shm/fabric_shm.h" >"$copy/engine/txn.h"
    printf '#pragma once\n#include "fabric.h"\n' >"$copy/storage/record.h"
    printf '#pragma once\n' >"$copy/engine/db/db.h"
    printf '#pragma once\n' >"$copy/engine/modes/crest/crest.h"
}

# planted RULE FILE TEXT EXPECTED: appends TEXT to FILE of the copy. All of them are planted at once, as each header is
# compiled for each look at the copy.
rules=() files=() expected=()
planted() {
    printf '%b\n' "$3" >>"$copy/$2"
    rules+=("$1") files+=("$2") expected+=("$4")
}
# seen: the lint must fail, and say of each file what was expected.
seen() {
    local said i
    said=$(bash "$lint" "$copy") && said="nothing, and ended with 0"
    for i in "${!rules[@]}"; do
        grep -q "^${files[i]}:[0-9]*:.*${expected[i]}" <<<"$said" && continue
        echo "${rules[i]}: not seen; it said: $said"
        failures=$((failures + 1))
    done
    rules=() files=() expected=()
}
# unplanted FILE TEXT: as above, but it is allowed.
unplanted() { printf '%b\n' "$2" >>"$copy/$1"; }
unseen() {
    local said
    said=$(bash "$lint" "$copy") && return
    echo "falsely refused: $said"
    failures=$((failures + 1))
}

fresh
planted 'storage includes engine' storage/record.c '#include "txn.h"' 'may not include'
planted 'fabric includes storage' fabric/fabric.c '#include "record.h"' 'may not include'
planted 'a backend includes another' fabric/verbs/fabric_verbs.c '#include "fabric_shm.h"' 'fabric/verbs may not include fabric_shm.h'
planted 'the contract includes a backend' fabric/fabric.c '#include "fabric_shm.h"' 'fabric may not include fabric_shm.h'
planted 'workload includes fabric' tpcc/tpcc.c '#include "fabric.h"' 'may not include'
planted 'example includes base' examples/bank.c '#include "err.h"' 'may not include'
planted 'engine includes a workload contract' engine/txn.c '#include "workload.h"' 'may not include'
planted 'unknown header' engine/txn.c '#include "nowhere.h"' 'no such header'
planted 'header by path' engine/txn.c '#include "fabric/fabric.h"' 'by its name alone'
planted 'verbs outside' engine/txn.c 'int n = ibv_poll_cq(cq, 1, wc);' 'verbs belong'
planted 'clock in the engine' engine/txn.c 'clock_gettime(CLOCK_MONOTONIC, &now);' 'clock, random'
planted 'clock in the simulator' fabric/sim/fabric_sim.c 'clock_gettime(CLOCK_MONOTONIC, &now);' 'clock, random'
planted 'thread in storage' storage/record.c 'pthread_mutex_lock(&m);' 'clock, random'
planted 'random in a workload' ycsb/ycsb.c 'x = rand();' 'clock, random'
planted 'allocation on the hot path' engine/txn/txn_fetch.c 'p = malloc(8);' 'no allocation'
planted 'remote layout elsewhere' engine/txn.h 'struct slot_wire {\n int x;\n};' 'remote bytes'
planted 'printing library' storage/record.c 'printf("x");' 'neither prints'
planted 'exiting library' engine/txn.c 'exit(1);' 'neither prints'
planted 'raw descriptor' storage/record.c 'int fd = open(path, O_RDONLY);' 'open within descriptor_high'
planted 'raw descriptor of a system call' engine/cluster/watch.c 'int fd = (int)syscall(SYS_pidfd_open, pid, 0);' 'open within'
planted 'two raw descriptors' engine/db/pair.c 'if (pipe(ends)) return -1;' 'open within descriptor_high'
planted 'unfinished word' base/err.c "/* TO""DO */" 'unfinished'
planted 'header without guard' engine/log.h 'struct log;' 'no #pragma once'
planted 'header that leans on others' engine/ring.h '#pragma once\nuint64_t log_end(void);' 'does not compile alone'
planted 'cluster includes db' engine/cluster/halt.c '#include "db.h"' 'may not include'
planted 'core includes a mode' engine/txn/fetch.c '#include "crest.h"' 'may not include'
planted 'core calls a mode' engine/txn/commit.c 'int rc = crest_serialize(co, txn);' 'a mode is named'
planted 'core compares modes' engine/db/coordinator.c 'if (config->cc == CELLAR_LAB_CC_MOTOR) return;' 'a mode is named'
planted 'core has a struct of a mode' engine/db/db.c 'struct crest *crest;' 'a mode is named'
planted 'core tells of a mode' engine/cluster/gate.c '/* In mode `ford` it waits. */' 'a mode is named'
planted 'workload includes another' smallbank/other.c '#include "tpcc_schema.h"' 'may not include'
printf '#pragma once\n' >"$copy/tpcc/tpcc_schema.h"
planted 'printing workload' indexload/indexload.c 'puts("x");' 'neither prints'
planted 'vague name' engine/log_util.h '#pragma once' 'says nothing'
seen
fresh
planted 'header twice' tpcc/txn.h '#pragma once' 'basenames are unique'
seen

fresh
unplanted base/err.c '' # a clean tree
unplanted engine/txn.c '/* malloc(1); pthread_x */ const char *s = "printf(clock_gettime(";\n// exit(1)' # a comment and a string
unplanted engine/txn.c 'p = calloc(1, 8); /* set-up */' # set-up allocation
unplanted fabric/shm/fabric_shm.c 'clock_gettime(CLOCK_MONOTONIC, &now);' # clock in shm
unplanted tpcc/tpcc.c '#include "workload.h"\n#include "cellar.h"\n#include "zipf.h"' # workload contract
unplanted engine/txn/commit.c 'bool bad = PLANT(crest_ts_of_base) || LOCKWORD_HOT; /* as at a crest */'
unplanted engine/modes/crest/crest_a.c '#include "crest.h"\nint rc = crest_a(CELLAR_LAB_CC_CREST); /* mode `crest` */'
unplanted engine/db/db.c '#include "db.h"\n#include "txn.h"'
unplanted storage/record.c 'int fd = descriptor_high(open(path, 0)), rc = disk->ops->open(disk);\nmode_open(x);'
unplanted engine/txn.c 'x = cache_free(y); z->free(q); snprintf(b, 1, "");' # longer names
unseen

# A workload that is new: a name in the list makes its folder a room, with the rules of the others.
fresh
sed -i 's/^set(workloads /set(workloads auction /' "$copy/CMakeLists.txt"
mkdir "$copy/auction"
planted 'new workload includes fabric' auction/auction.c '#include "fabric.h"' 'may not include'
planted 'new workload prints' auction/auction_check.c 'puts("x");' 'neither prints'
planted 'bench includes the new workload' bench/bench.c '#include "auction.h"' 'may not include'
printf '#pragma once\n#include "workload.h"\n' >"$copy/auction/auction.h"
seen

# Symbols: compiled and archived as the build does.
symbols() {
    fresh
    printf '%b\n' "$2" >"$copy/sample.c"
    "${CC:-cc}" -c -o "$copy/err.o" "$copy/sample.c" && ar rcs "$copy/libbase.a" "$copy/err.o" || exit 2
    local said
    said=$(CELLAR_BUILD=$copy bash "$lint" "$copy")
    if ! grep -q "$3" <<<"$said"; then
        echo "symbols, $1: said: $said"
        failures=$((failures + 1))
    fi
}
symbols 'wrong prefix' 'int count_things(void) { return 0; }' 'count_things is not named after'
symbols 'global variable' 'int err_count = 1;' 'err_count: state is passed'
symbols 'static variable' 'static int n; int *err_n(void) { return &n; }' 'variable n: state is passed'
symbols 'right ones' 'static const char *const t[] = {"a"}; const char *err_t(int i) { return t[i]; }' 'hold to the table'

[ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }

#!/bin/bash
# test_usage.sh [CELLAR] - wrong usage of the program: exit 2, nothing on stdout, and exactly one line on stderr that
# says what is wrong.
set -u
source "$(dirname "$0")/prelude.sh"

# accepted TEXT ARGUMENTS...: exit 0, TEXT on stdout, nothing on stderr.
accepted() {
    local text=$1
    shift
    timeout -k 5 240 "$cellar" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    local status=$?
    if [ $status -ne 0 ] || [ -s "$folder/err" ] || ! grep -qF -- "$text" "$folder/out"; then
        echo "cellar $*: exit $status, wanted 0 and '$text', got:"
        cat "$folder/out" "$folder/err"
        failures=$((failures + 1))
    fi
}

accepted "Usage: cellar COMMAND" --help
accepted "cellar 0." --version
accepted "Usage: cellar bench" bench --help
accepted "Usage: cellar bench" bench ycsb --theta 0.5 --help
accepted "Usage: cellar memnode" memnode --help
accepted "Usage: cellar check" check --help
accepted "Usage: cellar recover" recover --help
refused "either --memnodes A,B or --pool FILE" recover
refused "either --memnodes A,B or --pool FILE" recover --memnodes /tmp/a --pool /tmp/b
refused "no memory node listens" recover --memnodes /nonexistent/mn --cn 1
refused "--pool $folder/none: No such file" recover --pool "$folder/none"
: >"$folder/empty"
refused "an empty file, not a pool" recover --pool "$folder/empty"
refused "it is not empty, and no folder of Cellar" recover --pool "$folder"
refused "no regular file" recover --pool /dev/null
refused "--cn" recover --memnodes /nonexistent/mn --cn 255
accepted "Usage: cellar list" list --help
accepted "smallbank" list
accepted '"workloads"' list --json

refused "unexpected argument 'extra'" --version extra
refused "unexpected argument 'bench'" --help bench
refused "--secret is for --fabric verbs" recover --memnodes /tmp/a --secret /tmp/s
refused "--cn is for --memnodes" recover --pool "$folder/empty" --cn 3
refused "--replicas is for --memnodes" recover --pool "$folder/empty" --replicas 1
refused "--fabric is for --memnodes" recover --pool "$folder/empty" --fabric verbs

# what an argument says is shown, not done
refused "unknown command 'a\\x0a\\x1b[31mb'" $'a\n\e[31mb'
refused "unknown workload 'a\\x0ab\\x7f\\x9b'" bench $'a\nb\x7f\u9b'
refused "--json /no/such\\x0dfolder/j" bench smallbank --json $'/no/such\rfolder/j'
refused "unknown workload 'ärger'" bench ärger

# one file cannot be two things
for file in X ./X "$folder/empty"; do
    refused "--json and --history cannot both go to '$file'" bench smallbank --json "$file" --history "$file"
done
ln -s "$folder/empty" "$folder/link"
refused "--json and --history cannot both go to '$folder/link'" bench smallbank --history "$folder/link" --json "$folder/empty"
refused "--pool and --json cannot both go to 'X'" bench smallbank --pool X --json X
refused "--history and --json cannot both go to 'b'" check --history a,b --json b

# a name that is missing in a list
for list in , a, ,b a,,b; do
    refused "--history '$list': a file's name is missing before or after a comma" check --history "$list"
done
# a file is written beside its name: the line has the name that was given, unless the other one is in the way
refused "$folder/none/h: no file can be made in its folder: No such file" bench smallbank --history "$folder/none/h"
mkdir "$folder/h.partial"
refused "$folder/h.partial, which is in the way: Is a directory" bench smallbank --history "$folder/h"
rmdir "$folder/h.partial"

# a device that is full, a limit on files
for arguments in --help --version "bench --help" list; do
    "$cellar" $arguments >/dev/full 2>"$folder/err"
    [ $? -eq 2 ] && grep -q "standard output could not be written" "$folder/err" || fail "cellar $arguments >/dev/full: $(cat "$folder/err")"
done
# standard descriptors that are closed: no file gets their numbers, and what cannot be printed is told
for arguments in "bench smallbank --accounts 100 --txns 2000 --pool $folder/closed --pool-bytes 16M" "check $folder/closed" "list"; do
    "$cellar" $arguments >&- 2>"$folder/err" </dev/null
    [ $? -eq 2 ] && grep -q "standard output could not be written" "$folder/err" || fail "cellar $arguments >&-: $(cat "$folder/err")"
done
"$cellar" bench smallbank --accounts 100 --txns 2000 --pool "$folder/closed" <&- >&- 2>&-
[ $? -eq 2 ] || fail "bench without a standard descriptor ended as if all were well"
"$cellar" check "$folder/closed" >"$folder/out" 2>&1 || fail "a pool of a bench without standard output: $(cat "$folder/out")"
rm -f "$folder/closed"
for files in "--history $folder/h" "--json $folder/j" "--pool $folder/p"; do
    (ulimit -f 1 && exec timeout -k 5 240 "$cellar" bench smallbank --accounts 100 --txns 2000 $files) >/dev/null 2>"$folder/err"
    status=$?
    [ $status -eq 2 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] && grep -q "File too large" "$folder/err" ||
        fail "bench $files beyond ulimit -f: exit $status, $(cat "$folder/err")"
done
rm -f "$folder"/[hjp]

# deaths in sim
refused "are for --fabric sim" bench smallbank --kill-cn 1 --kill-at 0.01
refused "--kill-at needs --kill-cn or --kill-mn" bench smallbank --fabric sim --kill-at 0.01
refused "--cns 2 or more" bench smallbank --fabric sim --kill-cn 0 --kill-at 0.01
refused "a number from 1 to 2, not '0'" bench smallbank --fabric sim --cns 3 --kill-cn 0 --kill-at 0.01
refused "a number from 1 to 2, not '3'" bench smallbank --fabric sim --cns 3 --kill-cn 3 --kill-at 0.01
refused "a number from 1 to 2, not '1x'" bench smallbank --fabric sim --cns 3 --kill-cn 1x --kill-at 0.01
refused "--kill-mn needs --replicas 1" bench smallbank --fabric sim --mns 2 --kill-mn 1 --kill-at 0.01
refused "exclude each other" bench smallbank --fabric sim --cns 2 --mns 2 --replicas 1 --kill-mn 1 --kill-cn 1 --kill-at 0.01
refused "--kill-at must lie within --seconds" bench smallbank --fabric sim --cns 2 --kill-cn 1
refused "--kill-at must lie within --seconds" bench smallbank --fabric sim --cns 2 --kill-cn 1 --kill-at 0.2 --seconds 0.1
refused "--kill-at must lie within --seconds" bench smallbank --fabric sim --cns 2 --kill-cn 1 --kill-at 0.2 --txns 100

# commands
refused "a command is missing"
refused "unknown command 'fly'" fly
refused "unexpected argument 'x'" list x

# bench: values
refused "the workload comes first" bench
refused "the workload comes first" bench --seconds 1
refused "unknown workload 'tpcd'" bench tpcd
refused "unknown option '--speed'" bench smallbank --speed 9
refused "unexpected argument 'now'" bench smallbank now
refused "--seconds needs a value" bench smallbank --seconds
refused "--seconds needs a number" bench smallbank --seconds soon
refused "--seconds needs a number" bench smallbank --seconds 5s
refused "--seconds must be from" bench smallbank --seconds 0
refused "--threads must be from" bench smallbank --threads 0
refused "--threads needs a whole number" bench smallbank --threads 1.5
refused "--coros needs a whole number" bench smallbank --coros -1
refused "--pool-bytes needs a size" bench smallbank --pool-bytes 5X
refused "given twice" bench smallbank --coros 1 --coros 2
refused "--json needs a value that is not empty" bench smallbank --json ""
refused "--fabric needs a value: --fabric shm|sim|verbs" bench smallbank --fabric
refused "--schedule needs a value: --schedule random|pct|time|preempt" sim --schedule
refused "--two-tables takes no value" bench smallbank --two-tables=yes

# bench: what is not built
refused "--cc knows no 'mvcc'" bench smallbank --cc mvcc
refused "mode cell has locks of its own" bench smallbank --cc cell --lock mcs
refused "mode cellar has declock for hot records" bench smallbank --cc cellar --lock nosuch
refused "--lock needs a value that is not empty" bench smallbank --cc cell --lock ""
refused "hot records have no rule 'warm'" bench smallbank --cc cellar --hot warm=1
refused "--hot is for --cc cellar, not crest" bench smallbank --cc crest --hot tries=1
refused "ways have no rule 'warm'" bench smallbank --way warm=1
refused "rule plain-ns of ways needs a number, 0 to 1000000000" bench smallbank --way plain-ns=x
refused "--way is for --cc cellar, not crest" bench smallbank --cc crest --way plain-ns=1
refused "--fabric verbs needs --memnodes" bench smallbank --fabric verbs
refused "unable to open" bench smallbank --cluster "$folder/none"
refused "exclude each other" bench smallbank --cluster "$folder/none" --memnodes 10.0.0.1
refused "--rtt-ns and --pool are for --fabric shm" bench smallbank --fabric verbs --rtt-ns 100 --memnodes 10.0.0.1
refused "--secret is for --fabric verbs" bench smallbank --secret x
refused "--faults is not built yet" bench smallbank --faults x

# bench: what does not go together
refused "--seconds and --txns exclude each other" bench smallbank --seconds 1 --txns 1
refused "--theta is no option of tpcc" bench tpcc --theta 0.5
refused "--access" bench tpcc --access tree
refused "--access is no option of smallbank" bench smallbank --access index
refused "not with --process" bench tpcc --access index --memnodes a --process 0/2
refused "--warehouses is no option of ycsb" bench ycsb --warehouses 1
refused "--accounts is no option of ycsb" bench ycsb --accounts 10
refused "--records is no option of smallbank" bench smallbank --records 10
refused "--pool holds one memory node" bench smallbank --pool "$folder/pool" --mns 2
refused "--replicas 1 needs at least 2 memory nodes" bench smallbank --replicas 1
refused "--nic knows no 'cx9'; it takes one of: cx3, cx4, cx5, cx6, ideal" bench smallbank --fabric sim --nic cx9
refused "--nic is for --fabric sim, not shm" bench smallbank --nic cx4
refused "--rtt-ns is for --fabric shm" bench smallbank --fabric sim --rtt-ns 1000
refused "--pool is for --fabric shm" bench smallbank --fabric sim --pool "$folder/pool"
refused "--cns must be from 1 to 255" bench smallbank --cns 256
refused "--backoff-cap-ns must be from 1000 to 100000000" bench smallbank --backoff-cap-ns 999
refused "--attempts-max must be from 1" bench smallbank --attempts-max 0
refused "smallbank needs 2 to" bench smallbank --accounts 1
refused "ycsb needs 4" bench ycsb --records 2
refused "--core knows no 'G'" bench ycsb --core G
refused "--core is no option of smallbank" bench smallbank --core A
refused "--per-txn is of YCSB-T: --core A says what a transaction does" bench ycsb --core A --per-txn 2
refused "--write-ratio is of YCSB-T" bench ycsb --core A --write-ratio 0.5
refused "--scan-max is for --core E" bench ycsb --scan-max 10
refused "--scan-max is for --core E" bench ycsb --core D --scan-max 10
refused "--scan-max" bench ycsb --core E --scan-max 1001
refused "--core E has an ordered index" bench ycsb --core E --memnodes "$folder/none" --process 0/2
refused "index has an ordered index" bench index --memnodes "$folder/none" --process 0/2
refused "--scan-max" bench index --scan-max 1001
refused "--operation" bench index --operation none
refused "--operation" bench ycsb --operation scan
refused "tpcc needs" bench tpcc --warehouses 0

refused "--history-max needs --history FILE" bench smallbank --history-max 10
refused "--txns 11 are more than --history-max 10" bench smallbank --txns 11 --history-max 10 --history "$folder/h"
refused "--history-max must be from 1" bench smallbank --history-max 0 --history "$folder/h"
refused "--history needs a file" bench smallbank --history -
refused "planted bug" bench smallbank --plant no_such_bug

refused "rule tries of hot records is given twice" bench smallbank --hot tries=1,tries=2
refused "hot records have no rule ''" bench smallbank --hot tries=1,

# sim
refused "--lock is for modes whose records have locks, not --cc cell" sim --lock declock --cc cell
refused 'a rate is given twice, the second time by "delay"' sim --faults delay=0.1,delay=0.2
refused 'a rate is given twice, the second time by "all"' sim --faults delay=0.1,all=0.2

# check
refused "name what is to be checked" check
refused "/no/such/file" check --history /no/such/file
refused "--history is given twice" check --history a --history b

# bench: memory and files
refused "--json /no/such/folder/j" bench smallbank --json /no/such/folder/j
refused "--json /no/such/folder/j" check --history "$folder/h" --json /no/such/folder/j
refused "/no/such/folder/h" bench smallbank --history /no/such/folder/h
refused "no regular file" bench smallbank --history /dev/null
refused "at most --history-max" bench tpcc --history "$folder/h" --history-max 900000000
refused "is too small: loading needs about" bench ycsb --pool-bytes 8M
refused "exceed the machine's" bench smallbank --pool-bytes 100000G
refused "loading needs about" bench ycsb --records 4000000000
refused "/no/such/folder/pool" bench smallbank --txns 10 --accounts 10 --pool /no/such/folder/pool
refused "cellar bench: " bench smallbank --txns 10 --accounts 10 --memnodes "$folder/no-socket"

# memnode
refused "--socket PATH is missing" memnode --bytes 64M
refused "--bytes SIZE is missing" memnode --socket "$folder/mn"
refused "--bytes needs a size" memnode --socket "$folder/mn" --bytes much
refused "--node 1 needs --mns 2" memnode --socket "$folder/mn" --bytes 64M --node 1
refused "exceeds the machine's" memnode --socket "$folder/mn" --bytes 100000G
refused "--seed must be at least 1" memnode --socket "$folder/mn" --bytes 64M --seed 0
refused "--socket is for --fabric shm" memnode --fabric verbs --socket "$folder/mn" --bytes 64M
refused "--address ADDRESS is missing" memnode --fabric verbs --bytes 64M
refused "are for --fabric verbs, not shm" memnode --socket "$folder/mn" --metrics 9 --bytes 64M
if [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
    refused "no RDMA device" memnode --fabric verbs --address 127.0.0.1 --bytes 64M
    refused "no RDMA device" bench smallbank --txns 10 --fabric verbs --memnodes 127.0.0.1
fi
refused "cellar memnode: " memnode --socket /no/such/folder/mn --bytes 64M

[ $failures -eq 0 ] && echo "all refusals are as they should be"
[ $failures -eq 0 ]

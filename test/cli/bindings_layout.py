"""
What test_bindings.sh compiles and runs: a C program that says where cellar.h has the members of the structs that
cellar.py has by hand. Arguments: the folder of cellar.h, and one for files. Prints what differs.
"""
import ctypes
import subprocess
import sys

import cellar

STRUCTS = {
    "cellar_error": cellar._CError, "cellar_options": cellar._Options,
    "cellar_cluster": cellar._Cluster, "cellar_lab": cellar._Lab, "cellar_column": cellar._Column,
    "cellar_index_def": cellar._IndexDef, "cellar_table_def": cellar._TableDef, "cellar_read": cellar._Read,
    "cellar_scan": cellar._Scan, "cellar_txn_options": cellar._TxnOptions,
    "cellar_lab_table_tally": cellar._TableTally,
}
include, folder = sys.argv[1:]

lines = []
for name, struct in STRUCTS.items():
    lines.append(f'    printf("{name} %zu\\n", sizeof(struct {name}));')
    for field, *_ in struct._fields_:
        lines.append(f'    printf("{name}.{field} %zu %zu\\n", offsetof(struct {name}, {field}),'
                     f' sizeof(((struct {name} *)0)->{field}));')
constants = {name: f"CELLAR_{name}" for name in
             ("INVALID", "NOT_FOUND", "EXISTS", "TOO_LARGE", "CLOSED", "RETRY", "BUSY", "VALUE_BYTES_MAX", "EXISTING",
              "PRIVATE", "ADD", "ORDERED", "KEY", "UNIQUE", "READ_ONLY", "BACKWARD", "PREFIX", "FROM_EXCLUDED",
              "TO_EXCLUDED", "MEMORY", "DURABLE", "UINT", "INT", "FLOAT", "FIXED", "BYTES")}
lines += [f'    printf("{name} %d\\n", {told});' for name, told in constants.items()]
lines.append('    printf("bytes %zu %zu\\n", sizeof(struct cellar_bytes), offsetof(struct cellar_bytes, bytes));')
lines.append('    for (int i = 0; i < CELLAR_ABORT_REASONS; i++) puts(reasons[i]);')
with open(f"{folder}/layout.c", "w") as source:
    source.write("#include <cellar_cluster.h>\n#include <cellar_lab.h>\n#include <ctype.h>\n#include <stdio.h>\n"
                 "int main(void)\n{\n"
                 "    const char *reasons[] = {\n#define X(name, text) #name,\n"
                 "        CELLAR_ABORT_MAP(X)\n#undef X\n    };\n"
                 + "\n".join(lines) + "\n    return 0;\n}\n")
subprocess.run(["cc", f"-I{include}", "-o", f"{folder}/layout", f"{folder}/layout.c"], check=True)
told = subprocess.run([f"{folder}/layout"], check=True, capture_output=True, text=True).stdout.splitlines()

wanted = []
for name, struct in STRUCTS.items():
    wanted.append(f"{name} {ctypes.sizeof(struct)}")
    for field, *_ in struct._fields_:
        place = getattr(struct, field)
        wanted.append(f"{name}.{field} {place.offset} {place.size}")
wanted += [f"{name} {getattr(cellar, name)}" for name in constants]
wanted.append("bytes 16 8")  # as _Field has it: QQ
wanted += [reason.upper() for reason in cellar.ABORT_REASONS]

for c, python in zip(told, wanted):
    if c != python:
        print(f"cellar.h says {c!r}, cellar.py {python!r}")
if len(told) != len(wanted):
    print(f"cellar.h says {len(told)} things, cellar.py {len(wanted)}")

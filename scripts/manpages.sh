#!/bin/bash
# manpages.sh PROGRAM FOLDER - writes manual pages, cellar.1 and one for each command, from what --help prints.
set -eu
program=$1 folder=$2
export LC_ALL=C
mkdir -p "$folder"

# page NAME SUMMARY SEE: from the help on standard input. What comes before the first options is a text, laid out as it
# is; a heading is a line that begins at the left and is followed by indented ones.
page() {
    printf '.TH %s 1 "" "cellar %s" "User Commands"\n.SH NAME\n%s \\- %s\n' "${1^^}" "$version" "$1" "$2"
    awk '
        function text(line) { gsub(/\\/, "\\e", line); gsub(/-/, "\\-", line); if (line ~ /^[.\x27]/) line = "\\\&" line; return line }
        function literal(on) { if (on == open) return; print on ? ".nf" : ".fi"; open = on }
        { lines[NR] = $0 }
        END {
            print ".SH SYNOPSIS"
            for (i = 1; i <= NR; i++) if (lines[i] ~ /^Usage:/) break
            first = i
            literal(1)
            for (; i <= NR && lines[i] != ""; i++) { sub(/^Usage: +|^ +/, "", lines[i]); print text(lines[i]) }
            literal(0)
            print ".SH DESCRIPTION"
            for (k = 1; k < first; k++) if (lines[k] != "") print text(lines[k])
            for (; i <= NR; i++) {
                if (lines[i] == "") { if (!open) print ".PP"; else print ""; continue }
                if (lines[i] ~ /^[A-Z]/ && lines[i + 1] ~ /^ /) { literal(0); print ".SS \"" text(lines[i]) "\""; continue }
                if (match(lines[i], /^  --[a-z-]+( [^ ]+)?  +/) || match(lines[i], /^  --[a-z-]+ [^ ]+ /)) {
                    literal(0)
                    option = substr(lines[i], 3, RLENGTH - 2); sub(/ +$/, "", option)
                    print ".TP\n.B " text(option) "\n" text(substr(lines[i], RLENGTH + 1))
                    continue
                }
                literal(lines[i] ~ /^ /)
                print text(lines[i])
            }
            literal(0)
        }'
    printf '.SH SEE ALSO\n%s\n' "$3"
}

version=$("$program" --version | cut -d' ' -f2)
see=
while read -r name summary; do
    see+="${see:+, }.BR cellar-$name (1)"
    { if [ "$name" = list ]; then "$program" list --help; else "$program" "$name" --help; fi; } |
        page "cellar-$name" "$summary" '.BR cellar (1)' >"$folder/cellar-$name.1"
done < <("$program" --help | awk '/^Commands$/ { on = 1; next } on && $0 == "" { exit } on')
summary=$("$program" --help | sed -n 's/^  cellar bench lock  //p') # of a program with the laboratory
[ -z "$summary" ] ||
    "$program" bench lock --help | page cellar-bench-lock "$summary" '.BR cellar-bench (1)' >"$folder/cellar-bench-lock.1"
"$program" --help | page cellar "a transaction engine for disaggregated memory" "$(sed 's/, /,\n/g' <<<"$see")" >"$folder/cellar.1"

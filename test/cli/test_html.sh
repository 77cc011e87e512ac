#!/bin/bash
# test_html.sh [CELLAR] - `cellar bench --html`: one page without a network, whose charts have what the report has; in a
# browser, where there is one, no text leaves its chart at two widths, light and dark.
set -u
source "$(dirname "$0")/prelude.sh"
"$cellar" bench ycsb --fabric sim --cns 3 --mns 2 --replicas 1 --records 2000 --seconds 0.02 --html "$folder/sim.html" --json "$folder/json" >"$folder/out" 2>&1 </dev/null || fail "sim: $(tail -5 "$folder/out")"
"$cellar" bench smallbank --theta 0.99 --accounts 2000 --threads 2 --seconds 1 --html "$folder/shm.html" >"$folder/out" 2>&1 </dev/null || fail "shm: $(tail -5 "$folder/out")"
"$cellar" bench smallbank --accounts 500 --txns 500 --html "$folder/few.html" >"$folder/out" 2>&1 </dev/null || fail "--txns: $(tail -5 "$folder/out")"
for page in sim shm few; do
    grep -oE '(href|src)="[^"]*"|url\([^)]*\)|@import' "$folder/$page.html" | grep -v '^href="data:,"$' && fail "$page: it asks for another file"
    for title in "Latency, of all" "Aborted attempts, by reason" "Records with most conflicts" "verbs of a transaction" "Checks"; do
        grep -q "<h2>.*$title" "$folder/$page.html" || fail "$page lacks '$title'"
    done
    [ "$(grep -c '<svg' "$folder/$page.html")" -eq "$(grep -c '</svg>' "$folder/$page.html")" ] || fail "$page: a chart has no end"
done
grep -q "<h2>NIC use: how long" "$folder/sim.html" || fail "sim: no use of NICs"
grep -q "<h2>Throughput over time" "$folder/few.html" && fail "--txns: no time, and yet a chart over it"
for page in sim shm; do # a curve that has heights, not a line at the bottom
    [ "$(sed -n 's/.*class="curve" d="\([^"]*\)".*/\1/p' "$folder/$page.html" | tr ' ' '\n' | cut -d, -f2 | sort -u | wc -l)" -gt 10 ] || fail "$page: no throughput over time"
done
rate=$(grep -oE '"tps": [0-9.]+' "$folder/json" | head -1 | grep -oE '[0-9]+' | head -1)
tr -d , <"$folder/sim.html" | grep -q "<b>$rate</b><span>transactions a second" || fail "the page has another rate than the report: $rate"
refused "--html" bench smallbank --txns 10 --html "$folder/none/x.html"
refused "needs a file of its own" bench smallbank --txns 10 --html -
refused "cannot both go to" bench smallbank --txns 10 --html "$folder/x" --json "$folder/x"

browser=$(command -v chromium || command -v chromium-browser) || browser=
look() {
    timeout -k 5 240 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking \
        --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$folder/profile" --hide-scrollbars "$@" 2>"$folder/log"
}
printf '<!doctype html><title>t</title><p id=a>here' >"$folder/empty.html"
if [ -n "$browser" ] && look --dump-dom "file://$folder/empty.html" | grep -q 'id="a"'; then
    # texts that leave their chart, and a page wider than its window, are named in the page itself
    cat >"$folder/look.js" <<'J'
<script>
onload = () => {
    const bad = [];
    if (document.documentElement.scrollWidth > innerWidth) bad.push("wider than " + innerWidth);
    for (const svg of document.querySelectorAll("svg")) {
        const box = svg.getBoundingClientRect();
        for (const text of svg.querySelectorAll("text")) {
            const at = text.getBoundingClientRect();
            if (at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1)
                bad.push(text.textContent);
        }
    }
    const dark = getComputedStyle(document.body).backgroundColor;
    document.title = "seen " + innerWidth + " " + dark + " bad:" + bad.join("|") + ":";
};
</script>
J
    for page in sim shm few; do
        cat "$folder/$page.html" "$folder/look.js" >"$folder/looked.html"
        for width in 520 1280; do
            for scheme in 0 1; do
                look --window-size=$width,2000 --blink-settings=preferredColorScheme=$scheme --dump-dom "file://$folder/looked.html" >"$folder/dom"
                grep -oE '<title>seen [^<]*' "$folder/dom" >"$folder/seen" || fail "$page at $width: not seen"
                grep -q ' bad::' "$folder/seen" || fail "$page at $width: $(cat "$folder/seen")"
                cut -d' ' -f3-5 "$folder/seen" >>"$folder/grounds"
            done
        done
    done
    [ "$(sort -u "$folder/grounds" | wc -l)" -eq 2 ] || fail "light and dark look the same: $(sort -u "$folder/grounds")"
fi
exit $((failures > 0))

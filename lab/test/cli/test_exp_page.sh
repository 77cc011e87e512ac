#!/bin/bash
# test_exp_page.sh - the page of `cellar exp` in a real browser, headless: a picture that is not blank, no message on
# the console, no text on other text or outside its chart, nothing asked of a network. In the plain build only; 77 where
# there is no Chromium.
set -u
source "$(dirname "$0")/../../../test/cli/prelude.sh"

[ "$share" -eq 100 ] || { echo "looked at in the plain build only" && exit 77; }
browser=$(command -v chromium || command -v chromium-browser) || { echo "no chromium: scripts/install-deps.sh browser" && exit 77; }

# look PAGE OPTIONS...: what the browser prints; its own complaints about the machine go to $folder/log.
look() {
    local page=$1
    shift
    timeout -k 5 240 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking \
        --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$folder/profile" --enable-logging=stderr --log-level=0 \
        --virtual-time-budget=10000 --window-size=1240,9000 --hide-scrollbars "$@" "file://$page" 2>"$folder/log"
}

printf '<!doctype html><title>t</title><p id=a>here' >"$folder/empty.html"
look "$folder/empty.html" --dump-dom | grep -q 'id="a"' || { echo "chromium does not run here:" && tail -n 3 "$folder/log" && exit 77; }

timeout -k 5 600 "$cellar" exp txn --quick --only costs --out "$folder/bars" >"$folder/out" 2>&1 </dev/null
[ $? -le 1 ] || fail "cellar exp txn: $(cat "$folder/out")"
timeout -k 5 600 "$cellar" exp locks --quick --only declock-15 --out "$folder/lines" >"$folder/out" 2>&1 </dev/null
[ $? -le 1 ] || fail "cellar exp locks: $(cat "$folder/out")"

# Behind the page: boxes of all texts, those of one line each; two that meet are named in the page itself, which is then
# dumped.
cat >"$folder/boxes.js" <<'J'
<script>
addEventListener("load", () => {
    const leaves = [...document.querySelectorAll("svg text, h1, h2, p, th, td, li, figcaption code")];
    const boxes = leaves.map(e => ({ e, r: e.getBoundingClientRect() })).filter(b => b.r.width > 0);
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                           Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    const found = [];
    const say = b => JSON.stringify(b.e.textContent.slice(0, 40));
    boxes.sort((a, b) => a.r.top - b.r.top);
    boxes.forEach((a, i) => {
        for (let j = i + 1; j < boxes.length && boxes[j].r.top < a.r.bottom; j++)
            if (meet(a.r, boxes[j].r)) found.push(say(a) + " on " + say(boxes[j]));
        const svg = a.e.closest("svg"), whole = svg && svg.getBoundingClientRect();
        if (svg && (a.r.left < whole.left - 1 || a.r.right > whole.right + 1 || a.r.bottom > whole.bottom + 1))
            found.push(say(a) + " outside its chart");
    });
    document.title = "boxes " + boxes.length + " charts " + document.querySelectorAll("svg").length;
    const pre = document.createElement("pre");
    pre.id = "found";
    pre.textContent = found.map(f => "\nMEETS " + f).join("");
    document.body.append(pre);
});
</script>
J

# A picture as data of a page that counts its colours: without another tool that reads pictures.
count_colours() {
    { printf '<!doctype html><title>0</title><canvas></canvas><script>const i = new Image();i.onload = () => {const c = document.querySelector("canvas");'
      printf 'c.width = i.width;c.height = i.height;const g = c.getContext("2d");g.drawImage(i, 0, 0);const d = g.getImageData(0, 0, c.width, c.height).data;'
      printf 'const s = new Set();let dark = 0;for (let p = 0; p < d.length; p += 4) {s.add(d[p] << 16 | d[p + 1] << 8 | d[p + 2]);dark += d[p] < 128;}'
      printf 'document.title = "colours " + s.size + " dark " + dark;};i.src = "data:image/png;base64,'
      base64 -w 0 "$1"
      printf '";</script>'; } >"$folder/picture.html"
    look "$folder/picture.html" --dump-dom | grep -o '<title>[^<]*' | cut -d '>' -f 2
}

for kind in bars lines; do
    page=$folder/$kind/index.html
    charts=$(find "$folder/$kind" -name '*.svg' | wc -l)
    for needed in '<h1>' 'Commit ' 'cellar exp ' '<code>cellar bench ' '<code>NIC cx' ', seed 1; ' '; commit '; do
        grep -qF -- "$needed" "$page" || fail "$kind: the page lacks $needed"
    done
    cat "$page" "$folder/boxes.js" >"$folder/$kind/looked.html"
    look "$folder/$kind/looked.html" --dump-dom >"$folder/dom"
    grep ':CONSOLE' "$folder/log" && fail "$kind: messages on the console, above"
    grep -q "<title>boxes [0-9]* charts $charts</title>" "$folder/dom" || fail "$kind: not $charts charts: $(grep -o '<title>[^<]*' "$folder/dom")"
    grep "^MEETS " "$folder/dom" | head -n 20 >"$folder/meets"
    [ ! -s "$folder/meets" ] || { fail "$kind: text on text:" && cat "$folder/meets"; }
    look "$page" --screenshot="$folder/$kind.png" >/dev/null
    [ -s "$folder/$kind.png" ] || { fail "$kind: no screenshot" && continue; }
    read -r _ colours _ dark < <(count_colours "$folder/$kind.png")
    [ "${colours:-0}" -ge 20 ] && [ "${dark:-0}" -ge 5000 ] || fail "$kind: the picture has ${colours:-no} colours, ${dark:-no} dark points"
done
[ -z "${CELLAR_KEEP:-}" ] || cp -r "$folder"/{bars,lines}* "$CELLAR_KEEP"
exit $((failures > 0))

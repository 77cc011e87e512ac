# modes.sh - modes NAME... prints those of these modes that $cellar has: without the laboratory it has fewer.
modes() {
    local all name
    all=$("$cellar" list | sed -n 's/^modes (--cc)//p')
    for name in "$@"; do [[ " $all " == *" $name "* ]] && echo "$name"; done
}

# modes.sh - sourced: what $cellar has, which without the laboratory is less.
#
#   modes NAME... prints those of these modes that it has
#   has_laboratory  is it the program with the laboratory?
modes() {
    local all name
    all=$("$cellar" list | sed -n 's/^modes (--cc)//p')
    for name in "$@"; do [[ " $all " == *" $name "* ]] && echo "$name"; done
}

has_laboratory() { "$cellar" --help | grep -q '^  exp '; }

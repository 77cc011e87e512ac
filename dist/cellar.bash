# Completion of the cellar program for bash: commands and options are what its --help prints.
_cellar()
{
    local word=${COMP_WORDS[COMP_CWORD]} command=("${COMP_WORDS[0]}") words
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=$("${command[0]}" --help 2>/dev/null | awk '/^Commands$/ { on = 1; next } on && !NF { exit } on { print $1 }')
        words+=" --help --version"
    elif [[ $word == -* ]]; then
        command+=("${COMP_WORDS[1]}")
        [ "${COMP_WORDS[1]} ${COMP_WORDS[2]}" = "bench lock" ] && command+=(lock)
        words=$("${command[@]}" --help 2>/dev/null | grep -oE '^  --[a-z-]+')
    elif [ "${COMP_WORDS[1]}" = bench ] && [ "$COMP_CWORD" -eq 2 ]; then
        words=$("${command[0]}" bench --help 2>/dev/null | awk '/^Workloads$/ { on = 1; next } on && !NF { exit } on { print $1 }')
        words+=" lock"
    fi
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default 2>/dev/null || true
}
complete -F _cellar cellar

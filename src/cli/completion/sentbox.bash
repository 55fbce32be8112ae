
# Asks sentbox for words of this machine; it prints none that bash would expand.
_sentbox_words() {
    local typed last word
    IFS=$' \t\n' read -r -d '' -a typed <<< "${COMP_LINE:0:COMP_POINT}|"
    last=$((${#typed[@]} - 1))
    typed[last]=${typed[last]%|}
    COMPREPLY=()
    while IFS= read -r word; do
        # Bash completes what follows the last colon or equals sign.
        COMPREPLY+=("${word#"${typed[last]%"$2"}"}")
    done < <(sentbox __complete "${typed[@]:1}" 2> /dev/null)
    if ((${#COMPREPLY[@]} == 0)); then
        if [[ ${typed[last]} == *:"$2" ]]; then
            # No flag and no file follows a colon.
            compopt +o bashdefault +o default 2> /dev/null
        elif [[ ${typed[last]} != *="$2" ]]; then
            _sentbox "$@"
        fi
    elif [[ ${COMPREPLY[0]} == *: ]]; then
        compopt -o nospace 2> /dev/null
    fi
}
complete -F _sentbox_words -o bashdefault -o default sentbox

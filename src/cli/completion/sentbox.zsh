# Asks sentbox for words of this machine; it prints none that zsh would expand.
functions[_sentbox_fixed]=$functions[_sentbox]
_sentbox() {
    local -a found
    found=(${(f)"$(sentbox __complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2> /dev/null)"})
    if (( $#found )); then
        compadd -Q -S '' -- ${(M)found:#*:}
        compadd -Q -- ${found:#*:}
    elif [[ $PREFIX != *:* ]]; then
        _sentbox_fixed "$@"
    fi
}

# Asks sentbox for words of this machine; it prints none that zsh would expand.
functions[_sentbox_fixed]=$functions[_sentbox]
_sentbox() {
    local word name=_sentbox
    local -a found commands
    found=(${(f)"$(sentbox __complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2> /dev/null)"})
    if (( $#found )); then
        compadd -Q -S '' -- ${(M)found:#*:}
        compadd -Q -- ${found:#*:}
    elif [[ $PREFIX != *:* ]]; then
        if [[ $PREFIX == -* || $words[CURRENT-1] == -* ]]; then
            # What is fixed has no flags behind a query or an id: only commands stay before them.
            for word in "${(@)words[2,CURRENT-1]}"; do
                [[ $word != *[^a-z]* ]] || continue
                (( $+functions[${name}__subcmd__${word}_commands] )) || continue
                name+=__subcmd__$word
                commands+=($word)
            done
            words=(sentbox $commands ${(M)words[CURRENT-1]:#-*} "$words[CURRENT]")
            CURRENT=$#words
        fi
        _sentbox_fixed "$@"
    fi
}

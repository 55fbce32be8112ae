
# Asks sentbox for words of this machine; it prints none that fish would expand.
function __sentbox_words
    set -l before (commandline -opc)
    set -l typed (commandline -ct)
    sentbox __complete $before[2..] "$typed" 2> /dev/null | string replace -r -- '^--[^=]*=' ''
end
complete -c sentbox -n 'not __fish_seen_subcommand_from import render' -f
complete -c sentbox -k -a '(__sentbox_words)'
complete -c sentbox -s p -l profile -x -k -a '(__sentbox_words)'
complete -c sentbox -l columns -x -k -a '(__sentbox_words)'
complete -c sentbox -n '__fish_seen_subcommand_from list' -l after -x -k -a '(__sentbox_words)'
complete -c sentbox -n '__fish_seen_subcommand_from list' -l before -x -k -a '(__sentbox_words)'
complete -c sentbox -n '__fish_seen_subcommand_from wait' -l until -x -k -a '(__sentbox_words)'
# Before a command, the conditions of clap's script do not hold where a value is missing.
complete -c sentbox -l archive -r -F
complete -c sentbox -l ca-file -r -F
complete -c sentbox -l log -r -F

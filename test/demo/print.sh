# What the demonstrations have in common: how they print. Sourced.
# shellcheck shell=bash

# say prints a heading, bold on a terminal.
bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$'\033[1m' plain=$'\033[0m'
fi
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }

# run prints a command as one would type it, then runs it.
run() {
	printf '$'
	local word
	for word; do
		case $word in
		*[!A-Za-z0-9_.,:=/@%+-]* | '') printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	"$@" 2>&1
}

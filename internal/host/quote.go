package host

import "strings"

// plain are the characters of the words that need no quotes.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./#^-"

// Quote writes a command line that a shell reads as argv.
func Quote(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		if word == "" || word[0] == '#' || strings.Trim(word, plain) != "" {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words[i] = word
	}
	return strings.Join(words, " ")
}

// Package texts holds what the host itself says to people, in ten languages. A
// sentence has a key and may have placeholders such as {agent}; the catalogue of a
// language is one file with all keys. What a model or a tool says is not here.
package texts

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Default is the language of an agent that names none.
const Default = "en"

//go:embed catalogue/*.json
var files embed.FS

// catalogues are read when an agent first needs them: few hosts speak more than one.
var catalogues = func() map[string]func() map[string]string {
	all := map[string]func() map[string]string{}
	for _, language := range Languages() {
		all[language] = sync.OnceValue(func() map[string]string { return read(language) })
	}
	return all
}()

// Languages are the codes of the languages that there are, English first.
func Languages() []string {
	return []string{"en", "de", "fr", "es", "pt", "it", "nl", "pl", "ja", "zh"}
}

// read panics on a file that is not JSON: it is part of the program, and a test
// reads them all.
func read(language string) map[string]string {
	data, err := files.ReadFile("catalogue/" + language + ".json")
	list := map[string]string{}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		panic(fmt.Sprintf("catalogue %s: %v", language, err))
	}
	return list
}

// Keys are the keys of all sentences, sorted.
func Keys() []string { return slices.Sorted(maps.Keys(catalogues[Default]())) }

// Of is the sentence of a language under a key, with its placeholders.
func Of(language, key string) string { return catalogues[language]()[key] }

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// Placeholders are those of a text, sorted, each once.
func Placeholders(text string) []string {
	found := placeholder.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// A Book is the sentences of one agent: those of its language, with its own in
// their place. The zero Book speaks English.
type Book struct {
	language string
	own      map[string]string
}

// New is a book of a language, English where there is none of that code. A region
// does not count: pt-BR is pt.
func New(language string, own map[string]string) Book {
	return Book{Base(language), own}
}

// Base is the language of the catalogue that a code such as pt-BR stands for; empty
// where there is none.
func Base(code string) string {
	base, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(code), "_", "-"), "-")
	if _, ok := catalogues[base]; !ok {
		return ""
	}
	return base
}

// Say is the sentence under a key. values are the placeholders, each followed by
// what stands in its place: "agent", "Ana".
func (b Book) Say(key string, values ...string) string {
	text := b.text(key)
	if len(values) == 0 {
		return text
	}
	pairs := make([]string, 0, len(values))
	for i := 0; i+1 < len(values); i += 2 {
		pairs = append(pairs, "{"+values[i]+"}", values[i+1])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func (b Book) text(key string) string {
	if own := b.own[key]; own != "" {
		return own
	}
	if b.language != "" {
		return catalogues[b.language]()[key]
	}
	return catalogues[Default]()[key]
}

// Words are the words of a list such as that of "yes", in the book's language and in
// English.
func (b Book) Words(key string) []string {
	list := strings.Split(b.text(key)+","+catalogues[Default]()[key], ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// Count is how many sentences a language has.
func Count(language string) int { return len(catalogues[language]()) }

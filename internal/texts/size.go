package texts

import "strconv"

// Size is a number of bytes in words.
func (b Book) Size(n int) string {
	if n == 1 {
		return b.Say("byte")
	}
	return b.Say("bytes", "n", strconv.Itoa(n))
}

// Word is Say for a sentence that is under no key: then it is the text itself, such as
// that which a tool brings.
func (b Book) Word(sentence string, values ...string) string {
	if _, ok := catalogues[Default]()[sentence]; ok {
		return b.Say(sentence, values...)
	}
	return Book{own: map[string]string{"": sentence}}.Say("", values...)
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"agenthost/internal/terminal"
)

// printable is text without what would steer a terminal.
func printable(text string) string { return terminal.Printable(text) }

// say writes a line with text of others in it.
func say(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, printable(fmt.Sprintf(format, args...))) // as with fmt.Print, nobody is left to tell
}

// printableJSON is JSON that says the same, with escapes for what would steer a
// terminal: encoding/json writes only some of them.
func printableJSON(data []byte) []byte {
	text := string(data)
	if !strings.ContainsFunc(text, terminal.Steers) {
		return data
	}
	var b bytes.Buffer
	for _, r := range text {
		if terminal.Steers(r) { // none is beyond the first plane; in valid JSON all are in strings
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.Bytes()
}

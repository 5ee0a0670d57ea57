package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"agenthost/internal/terminal"
)

// Say writes a line with text of others in it.
func Say(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, terminal.Printable(fmt.Sprintf(format, args...))) // as with fmt.Print, there is no place to report it
}

// PrintableJSON is JSON that says the same, with escapes for what would steer a
// terminal: encoding/json writes only some of them.
func PrintableJSON(data []byte) []byte {
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

// OneLine is text on one line.
func OneLine(text string) string { return strings.Join(strings.Fields(terminal.Printable(text)), " ") }

// Count is n and what is counted.
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Size is a number of bytes as people read it.
func Size(n int64) string {
	units := []string{"KB", "MB", "GB", "TB"}
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1000, 0
	for size >= 1000 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

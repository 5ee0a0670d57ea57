package httpapi_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"agenthost/llm/httpapi"

	"github.com/google/go-cmp/cmp"
)

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 4<<20)
	tests := map[string]struct {
		sent string
		want []string // name: data
	}{
		"nothing":              {"", nil},
		"empty lines":          {"\n\n\r\n\n", nil},
		"one":                  {"data: a\n\n", []string{": a"}},
		"two":                  {"data: a\n\ndata: b\n\n", []string{": a", ": b"}},
		"no space":             {"data:a\n\n", []string{": a"}},
		"only one space goes":  {"data:  a \n\n", []string{":  a "}},
		"CRLF":                 {"data: a\r\n\r\ndata: b\r\n\r\n", []string{": a", ": b"}},
		"CR":                   {"data: a\r\rdata: b\r\r", []string{": a", ": b"}},
		"ends of all kinds":    {"data: a\n\r\ndata: b\r\n\rdata: c\r\ndata: d\r\r\n", []string{": a", ": b", ": c\nd"}},
		"error as a field":     {"data: a\n\nerror: {}\n\n", []string{": a", "error: {}"}},
		"byte order mark":      {"\ufeffdata: a\n\n", []string{": a"}},
		"comments":             {": hello\n\n:\ndata: a\n: and\n\n", []string{": a"}},
		"named":                {"event: error\ndata: a\n\ndata: b\n\n", []string{"error: a", ": b"}},
		"name alone":           {"event: ping\n\n", []string{"ping: "}},
		"many lines":           {"data: a\ndata:\ndata: b\n\n", []string{": a\n\nb"}},
		"empty data":           {"data:\n\ndata\n\ndata: a\n\n", []string{": a"}},
		"fields of no use":     {"id: 1\nretry: 5\ndatum: x\ndata: a\n\n", []string{": a"}},
		"no empty line at end": {"data: a\n\ndata: b\n", []string{": a", ": b"}},
		"no newline at end":    {"event: x\ndata: b", []string{"x: b"}},
		"colons in data":       {"data: a: b:c\n\n", []string{": a: b:c"}},
		"runes":                {"data: é🌍\n\n", []string{": é🌍"}},
		"4 MB":                 {"data: " + long + "\n\ndata: b\n\n", []string{": " + long, ": b"}},
	}
	readers := map[string]func(io.Reader) io.Reader{
		"at once":      func(r io.Reader) io.Reader { return r },
		"byte by byte": iotest.OneByteReader,
		"with its end": iotest.DataErrReader,
	}
	for name, tt := range tests {
		for how, reader := range readers {
			t.Run(name+" "+how, func(t *testing.T) {
				got, err := read(reader(strings.NewReader(tt.sent)))
				if err != nil || !cmp.Equal(tt.want, got) {
					t.Errorf("got %.100q, %v, want %.100q", got, err, tt.want)
				}
			})
		}
	}
}

func TestEventsErrors(t *testing.T) {
	broken := errors.New("broken")
	huge := strings.Repeat("x", 20<<20)
	tests := map[string]struct {
		sent io.Reader
		want string
		read int
	}{
		"reader":     {io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), "broken", 1},
		"long line":  {strings.NewReader("data: a\n\ndata: " + huge + huge + "\n\n"), "event is longer than 32 MiB", 1},
		"long event": {strings.NewReader("data: " + huge + "\ndata: " + huge + "\n\n"), "event is longer than 32 MiB", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := read(tt.sent)
			if err == nil || err.Error() != tt.want || len(got) != tt.read {
				t.Errorf("got %d events, %v, want %d, %s", len(got), err, tt.read, tt.want)
			}
		})
	}
}

func TestEventsCanBeLeft(t *testing.T) {
	for e, err := range httpapi.Events(strings.NewReader("data: a\n\ndata: b\n\n")) {
		if err != nil || string(e.Data) != "a" {
			t.Errorf("got %q, %v", e.Data, err)
		}
		break
	}
}

// FuzzEvents: how the bytes are cut into reads, and how lines end, makes
// no difference.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "event: x\r\ndata: a\r\ndata: b\r\n\r\n", ": c\n\ndata", "\ufeffdata:\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		want, err := read(bytes.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(iotest.OneByteReader(bytes.NewReader(sent)))
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("byte by byte: got %q, %v, want %q", got, err, want)
		}
		if bytes.ContainsRune(sent, '\r') {
			return
		}
		for _, end := range []string{"\r\n", "\r"} {
			got, err = read(bytes.NewReader(bytes.ReplaceAll(sent, []byte("\n"), []byte(end))))
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("with %q: got %q, %v, want %q", end, got, err, want)
			}
		}
	})
}

func read(r io.Reader) (events []string, err error) {
	for e, err := range httpapi.Events(r) {
		if err != nil {
			return events, err
		}
		events = append(events, fmt.Sprintf("%s: %s", e.Name, e.Data))
	}
	return events, nil
}

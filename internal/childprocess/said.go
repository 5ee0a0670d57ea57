package childprocess

import (
	"bytes"
	"strings"
	"sync"
)

const longestLine = 4 << 10 // what of a line is passed on

// said takes what a program writes on its standard error, line by line, and remembers the
// last one.
type said struct {
	each func(line string)

	mu   sync.Mutex
	part []byte // the line so far
	last string
}

// Write never fails.
func (s *said) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = append(s.part, data...)
	for {
		line, rest, found := bytes.Cut(s.part, []byte("\n"))
		if !found && len(s.part) < longestLine {
			return len(data), nil
		}
		s.say(line)
		s.part = append([]byte(nil), rest...)
	}
}

func (s *said) say(line []byte) {
	text := strings.ToValidUTF8(strings.TrimSpace(string(line[:min(len(line), longestLine)])), "\uFFFD")
	if text == "" {
		return
	}
	s.last = text
	if s.each != nil {
		s.each(text)
	}
}

// lastLine is the last line, ended or not.
func (s *said) lastLine() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say(s.part)
	s.part = nil
	return s.last
}

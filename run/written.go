package run

import (
	"bytes"
	"encoding/json"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const (
	mostWritten    = 100  // addresses that a session remembers, the newest
	longestAddress = 2048 // bytes of one
)

var (
	addresses      = regexp.MustCompile("(?i)https?://[^\\s<>\"`|\\\\]+")
	slashesEscaped = []byte(`:\/\/`) // as some encoders of JSON write it
	slashes        = []byte("://")
)

// HasWritten reports whether a person has written this web address in the
// session. Every part of it that goes to the server has to be the same: a
// parameter more could leak data.
func (s State) HasWritten(address string) bool {
	same := canonical(address)
	return same != "" && slices.Contains(s.Written, same)
}

// noteWritten keeps the addresses in a message of a person. Tools, models and
// other agents do not write on the subjects of channels.
func (s *State) noteWritten(in *Input) {
	if fromPerson(in) && (bytes.Contains(in.Envelope, slashes) || bytes.Contains(in.Envelope, slashesEscaped)) {
		s.noteAddresses(textOf(in.Envelope))
	}
}

// noteAnswer keeps those in an answer in a person's own words. One that was
// chosen from a list is in the words of the model.
func (s *State) noteAnswer(e *Event) {
	c := s.Run.call(e.Call)
	if c != nil && len(c.Options) == 0 && e.Input != nil && fromPerson(e.Input) {
		s.noteAddresses(e.Answer)
	}
}

func fromPerson(in *Input) bool { return strings.HasPrefix(in.Subject, "plugin.inbound.") }

func textOf(envelope []byte) (text string) {
	fields := map[string]json.RawMessage{} // not a struct, which would take TEXT for text
	if json.Unmarshal(envelope, &fields) == nil {
		_ = json.Unmarshal(fields["text"], &text) // without one nothing is written
	}
	return text
}

func (s *State) noteAddresses(text string) {
	for _, found := range addresses.FindAllString(text, mostWritten) {
		address := canonical(withoutEnd(found))
		if address == "" || slices.Contains(s.Written, address) {
			continue
		}
		s.Written = append(slices.Clip(s.Written), address)
		s.Written = s.Written[max(0, len(s.Written)-mostWritten):]
	}
}

// withoutEnd is an address without what ends the sentence or the brackets
// around it.
func withoutEnd(address string) string {
	for {
		cut := strings.TrimRight(address, ".,;:!?'*_~")
		for _, pair := range []string{"()", "[]", "{}"} {
			if strings.HasSuffix(cut, pair[1:]) && strings.Count(cut, pair[:1]) < strings.Count(cut, pair[1:]) {
				cut = cut[:len(cut)-1]
			}
		}
		if cut == address {
			return cut
		}
		address = cut
	}
}

// canonical is an address by what of it goes over the wire; empty for one that
// is not fetched.
func canonical(address string) string {
	u, err := url.Parse(address)
	if err != nil || len(address) > longestAddress || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host, port := strings.TrimSuffix(lower(u.Hostname()), "."), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(host, port) + u.RequestURI()
}

// lower leaves letters beyond ASCII as they are: of these some become ASCII
// ones, and so another host.
func lower(host string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, host)
}

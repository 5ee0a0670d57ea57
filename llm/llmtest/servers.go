package llmtest

import (
	"hash/fnv"
	"maps"
	"slices"
	"testing"

	"agenthost/llm"
)

// A Server writes the answers of a model as one that speaks a dialect in its own way.
type Server struct {
	// Write is the response body for a script; empty when this server has none, such
	// as for a model that does not think.
	Write func(Script) string
	// InOnePiece says that it sends a text at once.
	InOnePiece bool
	// NoUsage says that it reports no usage, or less than there was.
	NoUsage bool
	// Thought is how much of the output it reports as reasoning.
	Thought int64
}

// stride is the distance of the bytes at which the streams of Servers are split and
// cut, beside the ends of their lines. Where it begins differs from stream to stream.
const stride = 13

// Servers is Conform for streams that are written, not recorded: the cases of
// Conform by each of the servers, whole and byte by byte, and split and cut at each
// end of a line and at every thirteenth byte. It returns how many different streams
// those were.
func Servers(t *testing.T, d Dialect, servers map[string]Server) int {
	streams := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		for _, c := range slices.Sorted(maps.Keys(outcomes)) {
			stream := s.Write(scripts[c])
			if stream == "" || streams[stream] {
				continue
			}
			streams[stream] = true
			want := outcomes[c]
			want.inPieces = want.inPieces && !s.InOnePiece
			if want.usage.Reasoning = s.Thought; s.NoUsage || want.usage.Input == 0 {
				want.usage = llm.Usage{}
			}
			t.Run(name+"/"+c, func(t *testing.T) { conformsOften(t, d, []byte(stream), want) })
		}
	}
	return len(streams)
}

func conformsOften(t *testing.T, d Dialect, stream []byte, want outcome) {
	at := samples(stream)
	whole(t, d, stream, want)
	byteByByte(t, d, stream, want)
	splits(t, d, stream, at, want)
	cuts(t, d, stream, at, want)
	if t.Failed() {
		t.Logf("stream:\n%s", stream)
	}
}

// samples are the places at which a written stream is split and cut.
func samples(stream []byte) []int {
	h := fnv.New32a()
	_, _ = h.Write(stream)
	var at []int
	for i := range stream {
		isEnd := i > 0 && (stream[i-1] == '\n' || stream[i-1] == '\r')
		if isEnd || (i+int(h.Sum32()%stride))%stride == 0 {
			at = append(at, i)
		}
	}
	return at
}

// everywhere are all places of a stream.
func everywhere(stream []byte) []int {
	at := make([]int, len(stream))
	for i := range at {
		at[i] = i
	}
	return at
}

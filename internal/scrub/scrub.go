// Package scrub looks for damage in what a fleet has stored: copies of a stream that
// differ from each other, logs of sessions that lack a commit or cannot be folded,
// snapshots that are not the fold of their log. It changes nothing.
package scrub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/streams"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// A Report is what a scrub has read, and what it found.
type Report struct {
	Streams   []Stream  `json:"streams"`
	Sessions  int       `json:"sessions"`
	Commits   int       `json:"commits"`
	Snapshots int       `json:"snapshots"` // that were compared with their folds
	Findings  []Finding `json:"findings"`
	More      int       `json:"more_findings,omitempty"` // beyond those listed
}

// Clean reports whether nothing was found.
func (r Report) Clean() bool { return len(r.Findings) == 0 }

// A Stream is one that was looked at. The servers are those whose copies were read
// and compared; none, where the stream has one copy.
type Stream struct {
	Name     string   `json:"name"`
	Replicas int      `json:"replicas"`
	Servers  []string `json:"servers,omitempty"`
	Messages uint64   `json:"messages"` // stored when it was looked at
}

// A Finding is one thing that is not as it has to be. Server is the one whose copy it is
// about; Agent and SID are those of the session.
type Finding struct {
	Kind    string `json:"kind"`
	Stream  string `json:"stream"`
	Server  string `json:"server,omitempty"`
	Subject string `json:"subject,omitempty"`
	Seq     uint64 `json:"seq,omitempty"`
	Last    uint64 `json:"last_seq,omitempty"` // where it is about all messages from Seq on up to this one
	Agent   string `json:"agent,omitempty"`
	SID     string `json:"sid,omitempty"`
	Text    string `json:"text"`
}

// The kinds of findings about copies. Those about sessions are the session.DefectKinds,
// SnapshotAlone and LogMissing.
const (
	StreamMissing     = "stream-missing"     // a stream is not there, while others are
	ReplicaMissing    = "replica-missing"    // a server that has to have a copy is not there
	ReplicaUnreadable = "replica-unreadable" // its copy cannot be read
	MessageMissing    = "message-missing"    // a copy lacks what another one has
	MessageDiffers    = "message-differs"    // the copies of a message are not the same
	SnapshotAlone     = "snapshot-alone"     // a snapshot without a log
	LogMissing        = "log-missing"        // a session that has replied, without a log
)

// mostFindings is how many findings a report lists.
const mostFindings = 1000

// Progress is how far a scrub has come with a part of its work.
type Progress struct {
	What      string
	Done, All uint64
}

// Options are those of a Run.
type Options struct {
	Progress func(Progress) // called often; nil: none is reported
	// Retry is how long what was found rests before it is looked at again: what was
	// being written or deleted meanwhile is no finding. Default 2 s.
	Retry time.Duration
}

// tries is how often something has to be found to be a finding.
const tries = 3

type scrubber struct {
	js     jetstream.JetStream
	opt    Options
	report Report
}

// Run reads all that a fleet has stored. What is wrong is in the report; the error is
// what kept it from looking.
func Run(ctx context.Context, js jetstream.JetStream, opt Options) (Report, error) {
	if opt.Progress == nil {
		opt.Progress = func(Progress) {}
	}
	if opt.Retry == 0 {
		opt.Retry = 2 * time.Second
	}
	s := &scrubber{js: js, opt: opt, report: Report{Streams: []Stream{}, Findings: []Finding{}}}
	// To wait for a leader helps where there is JetStream.
	if _, err := js.AccountInfo(ctx); errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
		return s.report, fmt.Errorf("scrub: %w", err)
	}
	for _, name := range streamNames() {
		if err := s.stream(ctx, name); err != nil {
			return s.report, fmt.Errorf("scrub stream %s: %w", name, err)
		}
	}
	if len(s.report.Streams) == 0 {
		return s.report, errors.New("there is nothing to scrub: this NATS has no streams of agenthost; check the address and the account")
	}
	s.missing()
	if s.has(bus.SessionsStream) {
		if err := s.sessions(ctx, session.NewArchive(js)); err != nil {
			return s.report, fmt.Errorf("scrub sessions: %w", err)
		}
	}
	return s.report, nil
}

// has reports whether there is a stream of that name.
func (s *scrubber) has(name string) bool {
	return slices.ContainsFunc(s.report.Streams, func(st Stream) bool { return st.Name == name })
}

// missing reports the streams that are gone, of those that hosts of all versions make. NATS leaves
// one out whose description is damaged.
func (s *scrubber) missing() {
	for _, name := range []string{bus.InboundStream, bus.OutboundStream, bus.RoutesStream, bus.SessionsStream, bus.EventsStream, bus.DeadStream} {
		if !s.has(name) {
			s.found(Finding{Kind: StreamMissing, Stream: name, Text: "this stream is not there, while others are: it was deleted, or its description is damaged, so that NATS does not know it"})
		}
	}
}

// streamNames are those of the streams, the buckets and the object store of a fleet.
func streamNames() []string {
	names := append(streams.Names(), "OBJ_"+bus.FilesBucket)
	for _, bucket := range streams.BucketNames() {
		names = append(names, "KV_"+bucket)
	}
	return names
}

func (s *scrubber) found(f Finding) {
	if len(s.report.Findings) == mostFindings {
		s.report.More++
		return
	}
	s.report.Findings = append(s.report.Findings, f)
}

// rest waits before something is looked at again.
func (s *scrubber) rest(ctx context.Context) error {
	select {
	case <-time.After(s.opt.Retry):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stream looks at one stream and compares its copies.
func (s *scrubber) stream(ctx context.Context, name string) error {
	var stream jetstream.Stream
	err := patiently(ctx, func() (err error) {
		stream, err = s.js.Stream(ctx, name)
		return err
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	info := stream.CachedInfo()
	servers := s.servers(info)
	compared := Stream{Name: name, Replicas: max(info.Config.Replicas, 1), Messages: info.State.Msgs}
	if len(servers) > 1 {
		compared.Servers = servers
		if err := s.compare(ctx, name, servers, info.State.LastSeq); err != nil {
			return err
		}
	}
	s.report.Streams = append(s.report.Streams, compared)
	return nil
}

// servers are those that have a copy of a stream and are there. A copy that is missing
// is a finding.
func (s *scrubber) servers(info *jetstream.StreamInfo) []string {
	want := info.Config.Replicas
	if info.Cluster == nil || want < 2 {
		return nil
	}
	var here, away []string
	if info.Cluster.Leader != "" {
		here = append(here, info.Cluster.Leader)
	}
	for _, peer := range info.Cluster.Replicas {
		if peer.Offline {
			away = append(away, peer.Name)
			continue
		}
		here = append(here, peer.Name)
	}
	slices.Sort(here)
	for _, server := range away {
		s.found(Finding{Kind: ReplicaMissing, Stream: info.Config.Name, Server: server, Text: fmt.Sprintf("the copy of %s cannot be compared: the server is not there", server)})
	}
	if n := want - len(here) - len(away); n > 0 {
		s.found(Finding{Kind: ReplicaMissing, Stream: info.Config.Name, Text: fmt.Sprintf("%d of %d copies are on no server; %s", n, want, strings.Join(here, ", "))})
	}
	return here
}

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"agenthost/bus/records"
	"agenthost/fastjson"
	"agenthost/run"
)

// A Commit is one message of a log: a group of events written at once.
type Commit struct {
	V      int         `json:"v"`
	Key    Key         `json:"key"`
	Run    string      `json:"run,omitempty"`
	Events []run.Event `json:"events,omitempty"`
	// Object names the file that holds Events when they are too large for a
	// message.
	Object string `json:"object,omitempty"`
	// Of says of a commit that has taken the place of others which run its events
	// are of, in their order.
	Of []Span `json:"of,omitempty"`
}

// A Span is so many events of one run; Run is empty for those of none.
type Span struct {
	Run    string `json:"run,omitempty"`
	Events int    `json:"events"`
}

// runs are the runs of the events of a commit.
func (c *Commit) runs() []string {
	list := make([]string, 0, len(c.Events))
	for _, s := range c.Of {
		for range s.Events {
			list = append(list, s.Run)
		}
	}
	for len(list) < len(c.Events) {
		list = append(list, c.Run)
	}
	return list
}

// appendCommit appends what json.Marshal makes of a Commit with events.
func appendCommit(data []byte, key Key, runID string, events []run.Event) ([]byte, error) {
	data = appendHead(data, key)
	if runID != "" {
		data = fastjson.AppendString(append(data, `,"run":`...), runID)
	}
	data, err := run.AppendJSON(append(data, `,"events":`...), events)
	return append(data, '}'), err
}

// appendHead begins a commit, or a snapshot.
func appendHead(data []byte, key Key) []byte {
	data = strconv.AppendInt(append(data, `{"v":`...), version, 10)
	return fastjson.AppendString(append(data, `,"key":`...), string(key))
}

// pages are the buffers of commits. One whose commit was sent once and is stored is
// not read any more, and is reused.
var pages = sync.Pool{New: func() any { return new([]byte) }}

// pageKept is the largest that is.
const pageKept = 64 << 10

const version = 1

var (
	errForeign    = errors.New("this is no commit")
	errNoSnapshot = errors.New("this is no snapshot that this program can read")
)

// decode reads a commit, wherever its events are. errForeign means that it was
// not written by a host.
func (s *Store) decode(ctx context.Context, rec records.Record) (Commit, error) {
	c := Commit{}
	err := readJSON(rec.Data, &c)
	if c.V > version { // what else there is may have another form by then
		return c, fmt.Errorf("it is of version %d; this program reads %d: update it", c.V, version)
	}
	if err != nil {
		if keyOf(rec.Data) == "" && rec.Header.Get(commitHeader) == "" && rec.Header.Get(replacesHeader) == "" {
			return Commit{}, fmt.Errorf("%w: %w", errForeign, err)
		}
		return c, err
	}
	if c.Object == "" {
		return c, nil
	}
	events, err := s.Files.Get(ctx, c.Object)
	if err != nil {
		return c, err
	}
	return c, readJSON(events, &c.Events)
}

// readJSON reads what hosts have written. Hosts of before let in what is nested deeper than
// encoding/json reads once it is part of a commit: of that, what is too deep is lost alone.
func readJSON(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err != nil && fastjson.TooDeep(data) {
		err = json.Unmarshal(fastjson.Shallow(data), v)
	}
	return err
}

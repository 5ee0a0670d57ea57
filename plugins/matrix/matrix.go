// Package matrix is a user of a Matrix homeserver as a channel.
//
// It speaks the client-server API over HTTP. Rooms with end-to-end encryption are not
// read; the account says so in such a room.
package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/internal/httptransport"
	"agenthost/plugins"
	"agenthost/plugins/internal/markdown"
	"agenthost/plugins/settings"
)

// A Channel is one user of a homeserver.
type Channel struct {
	settings settings.Matrix
	base     string // the homeserver's address, without a slash at the end
	http     *http.Client
	client   atomic.Pointer[client] // nil until Run has logged in

	mu      sync.Mutex
	rooms   map[string]*room
	typing  map[string]bool   // rooms that show the account as typing
	senders map[string]string // by event ID, of events that are answered
	tries   map[string]int    // how often a file, an invitation or a history has failed
}

var _ plugins.Channel = (*Channel)(nil)

// New makes a channel from settings.
func New(s settings.Matrix) (plugins.Channel, error) {
	base, err := url.Parse(strings.TrimRight(s.Homeserver, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "https" && base.Scheme != "http") {
		return nil, fmt.Errorf("homeserver %q: want the address of its client API, such as https://matrix.example.org", s.Homeserver)
	}
	switch {
	case s.Token != "" && s.Password != "":
		return nil, errors.New("token and password: set one of them")
	case s.Token == "" && (s.User == "" || s.Password == ""):
		return nil, errors.New("set token, or user and password")
	}
	return &Channel{
		settings: s,
		base:     base.String(),
		http:     &http.Client{Transport: httptransport.New(), Timeout: requestTime},
		rooms:    map[string]*room{},
		typing:   map[string]bool{},
		senders:  map[string]string{},
		tries:    map[string]int{},
	}, nil
}

const (
	// textSize keeps an event, which holds a text with and without markup, below the
	// 65,536 bytes that Matrix allows.
	textSize = 28_000

	typingFor     = 20 * time.Second
	typingEvery   = 10 * time.Second
	previewsEvery = time.Second
)

// Limits are those of Matrix.
func (c *Channel) Limits() plugins.Limits {
	return plugins.Limits{
		Text:       textSize,
		Measure:    encodedSize,
		Render:     markdown.HTML.Render,
		File:       int64(c.maxFile()),
		Typing:     typingEvery,
		Preview:    previewsEvery,
		Idempotent: true,
	}
}

func (c *Channel) maxFile() settings.Bytes {
	if c.settings.MaxFile > 0 {
		return c.settings.MaxFile
	}
	return settings.DefaultMaxFile
}

// encodedSize is how many bytes a text has in an event.
func encodedSize(text string) int {
	encoded, err := encode(text)
	if err != nil {
		return len(text)
	}
	return len(encoded) - len(`""`)
}

var errNotConnected = errors.New("the account is not logged in yet")

// connected is the client that Run has logged in.
func (c *Channel) connected() (*client, error) {
	cl := c.client.Load()
	if cl == nil {
		return nil, errNotConnected
	}
	return cl, nil
}

// Run logs in and reads what is written in the account's rooms.
func (c *Channel) Run(ctx context.Context, in *plugins.Inbox) error {
	cl, err := c.open(ctx, in)
	if err != nil {
		return err
	}
	r := &reader{Channel: c, client: cl, inbox: in}
	if err := r.restore(ctx); err != nil {
		return err
	}
	c.client.Store(cl)
	defer c.client.CompareAndSwap(cl, nil)
	err = r.run(ctx)
	if code(err) == "M_UNKNOWN_TOKEN" && c.settings.Password != "" {
		return err // the next Run logs in again
	}
	return loginError(err)
}

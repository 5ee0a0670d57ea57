// Package pairing keeps which strangers may write to an agent: each has asked with
// a code, which the operator approves or denies.
package pairing

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// A Pairing is a person who has written to an agent as a stranger, as the bucket
// AGENT_PAIRINGS keeps it.
type Pairing struct {
	Agent    string `json:"agent"`
	Channel  string `json:"channel"`
	Instance string `json:"instance,omitempty"`
	From     string `json:"from"`
	Name     string `json:"name,omitempty"`
	Chat     string `json:"chat,omitempty"`
	Thread   string `json:"thread,omitempty"`
	// Code is what the operator approves; empty once that is settled, and for a
	// stranger who was told that the agent is not for everybody.
	Code       string    `json:"code,omitempty"`
	AskedAt    time.Time `json:"asked_at"`
	Expires    time.Time `json:"expires,omitzero"` // of what is not approved
	Approved   bool      `json:"approved"`
	ApprovedAt time.Time `json:"approved_at,omitzero"`
	By         string    `json:"by,omitempty"`
}

// Person is who it is, such as telegram.sales/42.
func (p Pairing) Person() string {
	if p.Instance == "" {
		return p.Channel + "/" + p.From
	}
	return p.Channel + "." + p.Instance + "/" + p.From
}

// Open reports whether the operator is asked about it now.
func (p Pairing) Open(now time.Time) bool {
	return !p.Approved && p.Code != "" && now.Before(p.Expires)
}

// Prefixes of keys.
const (
	askedPrefix  = "asked."
	pairedPrefix = "paired."
)

func (p Pairing) id() string {
	return p.Agent + "." + session.SID(p.Agent, session.DM(p.Channel, p.Instance, p.From))
}

// Key is where the bucket has the pairing.
func (p Pairing) Key() string {
	if p.Approved {
		return pairedPrefix + p.id()
	}
	return askedPrefix + p.id()
}

// Valid is how long a code may be approved; as long a stranger hears nothing more.
const Valid = time.Hour

// MostOpen is how many codes of an agent are open at most.
const MostOpen = 100

// MostTold is how many strangers an agent tells something in the time of a code; a
// flood of them hears nothing.
const MostTold = 1000

// letters are those of codes: none is taken for another.
const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// codeLength is the length of a code.
const codeLength = 8

// NewCode is a random code.
func NewCode() string {
	var raw [codeLength]byte
	_, _ = rand.Read(raw[:]) // it never fails
	for i := range raw {
		raw[i] = letters[int(raw[i])%len(letters)]
	}
	return string(raw[:])
}

// A Store is the bucket of pairings.
type Store struct{ js jetstream.JetStream }

// NewStore makes a Store.
func NewStore(js jetstream.JetStream) *Store { return &Store{js} }

// Ask notes that a stranger was told of p, and reports whether it is the first
// notice in its time.
func (s *Store) Ask(ctx context.Context, p Pairing) (first bool, err error) {
	kv, err := s.js.KeyValue(ctx, bus.PairingsBucket)
	if err != nil {
		return false, fmt.Errorf("note a stranger: %w", err)
	}
	data, err := json.Marshal(p)
	if err != nil {
		return false, fmt.Errorf("note a stranger: %w", err)
	}
	key := askedPrefix + p.id()
	_, err = kv.Create(ctx, key, data, jetstream.KeyTTL(Valid))
	if errors.Is(err, jetstream.ErrKeyExists) {
		foreign, looked := s.clearForeign(ctx, kv, key)
		if looked != nil || !foreign {
			return false, looked
		}
		_, err = kv.Create(ctx, key, data, jetstream.KeyTTL(Valid))
	}
	if errors.Is(err, jetstream.ErrKeyExists) { // another host told them
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("note a stranger: %w", err)
	}
	return true, nil
}

// clearForeign deletes an entry that no host has written, and reports whether it did: it may
// never expire, and the stranger would never hear anything.
func (s *Store) clearForeign(ctx context.Context, kv jetstream.KeyValue, key string) (bool, error) {
	rec, err := records.NewReader(s.js).Entry(ctx, bus.PairingsBucket, key)
	if errors.Is(err, records.ErrNotFound) { // it has just expired: the next message tells of it
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the notice of a stranger: %w", err)
	}
	if _, ok := decode(key, rec.Data); ok {
		return false, nil
	}
	err = kv.Delete(ctx, key, jetstream.LastRevision(rec.Seq))
	if records.Overtaken(err) { // another host did it
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("delete the notice of a stranger: %w", err)
	}
	return true, nil
}

// List is what there is, open codes and approved people, the oldest first.
func (s *Store) List(ctx context.Context) ([]Pairing, error) {
	entries, err := s.entries(ctx)
	if err != nil {
		return nil, err
	}
	list := []Pairing{}
	for _, e := range entries {
		if e.Approved || e.open() {
			list = append(list, e.Pairing)
		}
	}
	slices.SortFunc(list, func(a, b Pairing) int { return a.AskedAt.Compare(b.AskedAt) })
	return list, nil
}

type entry struct {
	Pairing
	key      string
	revision uint64
}

// open reports whether the operator is asked about it now. NATS deletes it in time, by its own clock:
// those of the host that wrote Expires, and of this machine, may be wrong.
func (e entry) open() bool { return !e.Approved && e.Code != "" }

func (s *Store) entries(ctx context.Context) (list []entry, err error) {
	for e, err := range records.Entries(ctx, s.js, bus.PairingsBucket, ">") {
		if err != nil {
			return nil, fmt.Errorf("list pairings: %w", err)
		}
		if one, ok := read(e); ok {
			list = append(list, entry{one, e.Key(), e.Revision()})
		}
	}
	return list, nil
}

// read reads an entry. What no host has written pairs nobody.
func read(e jetstream.KeyValueEntry) (p Pairing, ok bool) { return decode(e.Key(), e.Value()) }

func decode(key string, data []byte) (p Pairing, ok bool) {
	if json.Unmarshal(data, &p) != nil {
		return p, false
	}
	return p, key == p.Key()
}

// ErrNoCode is returned for a code that is wrong, used or too old.
var ErrNoCode = errors.New("no such code; it is wrong, used or over an hour old. agenthost pairings ls lists those that are open")

// Approve lets the person with a code write, on behalf of by. First it takes the code, so that
// of two who settle it at the same time only the first decides.
func (s *Store) Approve(ctx context.Context, code, by string) (Pairing, error) {
	e, kv, err := s.find(ctx, code)
	if err != nil {
		return Pairing{}, err
	}
	p := e.Pairing
	p.Code, p.Expires = "", time.Time{}
	p.Approved, p.ApprovedAt, p.By = true, time.Now().UTC(), by
	data, err := json.Marshal(p)
	if err != nil {
		return Pairing{}, fmt.Errorf("approve %s: %w", code, err)
	}
	taken, err := s.silence(ctx, e)
	if err != nil {
		return Pairing{}, fmt.Errorf("approve %s: %w", code, err)
	}
	if _, err = kv.Put(ctx, pairedPrefix+p.id(), data); err != nil {
		s.reopen(ctx, e, taken)
		return Pairing{}, fmt.Errorf("approve %s: %w", code, err)
	}
	return p, nil
}

// Deny ends a code. The person hears nothing.
func (s *Store) Deny(ctx context.Context, code string) (Pairing, error) {
	e, _, err := s.find(ctx, code)
	if err != nil {
		return Pairing{}, err
	}
	if _, err := s.silence(ctx, e); err != nil {
		return Pairing{}, fmt.Errorf("deny %s: %w", code, err)
	}
	return e.Pairing, nil
}

func (s *Store) find(ctx context.Context, code string) (entry, jetstream.KeyValue, error) {
	code = strings.ToUpper(strings.TrimSpace(code))
	entries, err := s.entries(ctx)
	if err != nil {
		return entry{}, nil, err
	}
	i := slices.IndexFunc(entries, func(e entry) bool { return e.open() && e.Code == code })
	if i < 0 {
		return entry{}, nil, ErrNoCode
	}
	kv, err := s.js.KeyValue(ctx, bus.PairingsBucket)
	return entries[i], kv, err
}

// Revoke takes back what was approved for a person, such as telegram.sales/42, of one
// agent or, if agent is empty, of all.
func (s *Store) Revoke(ctx context.Context, agent, person string) ([]Pairing, error) {
	entries, err := s.entries(ctx)
	if err != nil {
		return nil, err
	}
	kv, err := s.js.KeyValue(ctx, bus.PairingsBucket)
	if err != nil {
		return nil, fmt.Errorf("revoke %s: %w", person, err)
	}
	var gone []Pairing
	for _, e := range entries {
		if !e.Approved || e.Person() != person || agent != "" && e.Agent != agent {
			continue
		}
		if err := kv.Delete(ctx, e.key); err != nil {
			return gone, fmt.Errorf("revoke %s: %w", person, err)
		}
		gone = append(gone, e.Pairing)
	}
	if len(gone) == 0 {
		return nil, fmt.Errorf("revoke %s: no such pairing; want <channel>[.<instance>]/<from>, as agenthost pairings ls shows it", person)
	}
	return gone, nil
}

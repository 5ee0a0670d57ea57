// Package tokens keeps the tokens of the HTTP listener that were made while the fleet
// runs. A token is shown once; the bucket has its hash.
package tokens

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/httpauth"

	"github.com/nats-io/nats.go/jetstream"
)

// A Token is what the bucket AGENT_TOKENS keeps of a token, under its name.
type Token struct {
	Name    string        `json:"name"`
	Role    httpauth.Role `json:"role"`
	Agents  []string      `json:"agents,omitempty"` // those it is good for; none: all
	MadeAt  time.Time     `json:"made_at"`
	Expires time.Time     `json:"expires,omitzero"` // zero: never
	By      string        `json:"by,omitempty"`     // who made it
	Hash    string        `json:"hash,omitempty"`   // SHA-256 of the token; lists leave it out
}

// prefix makes a token known as one, in logs and to programs that look for secrets.
const prefix = "aht_"

// New makes a token of 256 random bits.
func New() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // it never fails
	return prefix + base64.RawURLEncoding.EncodeToString(raw[:])
}

// hash is what the bucket has of a token. It needs no salt: the token is random.
func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

var (
	isName  = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)
	isAgent = isName
)

// check says what is wrong with a token before it is made.
func (t Token) check() error {
	switch {
	case !isName.MatchString(t.Name):
		return fmt.Errorf("name %q: want 1 to 63 of a-z, 0-9, _ and -", t.Name)
	case t.Name == httpauth.Operator:
		return fmt.Errorf("name %q: that is who sends http.token; want another", t.Name)
	case !slices.Contains(httpauth.Roles(), t.Role):
		return fmt.Errorf("role is %q; want admin, read or chat", t.Role)
	case !t.Expires.IsZero() && !t.Expires.After(time.Now()):
		return errors.New("the token would have expired already; want a time to come")
	}
	for _, agent := range t.Agents {
		if !isAgent.MatchString(agent) {
			return fmt.Errorf("agent %q: want 1 to 63 of a-z, 0-9, _ and -", agent)
		}
	}
	return nil
}

// Why something cannot be done with a token.
var (
	ErrTaken      = errors.New("there is a token of that name; revoke it first, or choose another name")
	ErrConfigured = errors.New("the name is taken: http.tokens in the configuration of a host has it, and hosts accept no other token of that name; choose another name")
	ErrUnknown    = errors.New("there is no such token; agenthost tokens ls lists those that were made, http.tokens in the configuration has the others")
)

// An InvalidError is the error of a token that cannot be made as it is wanted.
type InvalidError struct{ error }

// Unwrap is what is wrong with it.
func (e InvalidError) Unwrap() error { return e.error }

// A Store is the bucket of tokens.
type Store struct{ js jetstream.JetStream }

// NewStore makes a Store.
func NewStore(js jetstream.JetStream) *Store { return &Store{js} }

// Add makes a token and returns it; it is kept nowhere.
func (s *Store) Add(ctx context.Context, want Token) (made Token, token string, err error) {
	if err := want.check(); err != nil {
		return Token{}, "", InvalidError{fmt.Errorf("make a token: %w", err)}
	}
	kv, err := s.js.KeyValue(ctx, bus.TokensBucket)
	if err != nil {
		return Token{}, "", fmt.Errorf("make a token: %w", err)
	}
	token = New()
	want.MadeAt, want.Hash = time.Now().UTC(), hash(token)
	if !want.Expires.IsZero() {
		want.Expires = want.Expires.UTC()
	}
	data, err := json.Marshal(want)
	if err == nil {
		_, err = kv.Create(ctx, want.Name, data)
	}
	if errors.Is(err, jetstream.ErrKeyExists) {
		err = ErrTaken
	}
	if err != nil {
		return Token{}, "", fmt.Errorf("make the token %s: %w", want.Name, err)
	}
	want.Hash = ""
	return want, token, nil
}

// List is what was made and not revoked, by name.
func (s *Store) List(ctx context.Context) ([]Token, error) {
	list := []Token{}
	for e, err := range records.Entries(ctx, s.js, bus.TokensBucket, ">") {
		if err != nil {
			return nil, fmt.Errorf("list tokens: %w", err)
		}
		if t, ok := read(e); ok {
			t.Hash = ""
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b Token) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Revoke ends a token.
func (s *Store) Revoke(ctx context.Context, name string) (Token, error) {
	if !isName.MatchString(name) {
		return Token{}, fmt.Errorf("revoke the token %q: %w", name, ErrUnknown)
	}
	kv, err := s.js.KeyValue(ctx, bus.TokensBucket)
	if err != nil {
		return Token{}, fmt.Errorf("revoke the token %s: %w", name, err)
	}
	e, err := records.NewReader(s.js).Entry(ctx, bus.TokensBucket, name)
	if errors.Is(err, records.ErrNotFound) {
		return Token{}, fmt.Errorf("revoke the token %s: %w", name, ErrUnknown)
	}
	if err == nil {
		err = kv.Delete(ctx, name)
	}
	if err != nil {
		return Token{}, fmt.Errorf("revoke the token %s: %w", name, err)
	}
	t := Token{}
	_ = json.Unmarshal(e.Data, &t) // what cannot be read admits no request
	t.Name, t.Hash = name, ""
	return t, nil
}

// read reads an entry. What is not as this program writes it admits no request.
func read(e jetstream.KeyValueEntry) (Token, bool) {
	t := Token{}
	if json.Unmarshal(e.Value(), &t) != nil || t.Name != e.Key() || len(t.Hash) != 2*sha256.Size {
		return t, false
	}
	t.Hash = strings.ToLower(t.Hash)
	return t, slices.Contains(httpauth.Roles(), t.Role)
}

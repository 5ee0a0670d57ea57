// Package identity knows which accounts of channels are one person's: what an agent
// remembers of the person counts for all of them, and their direct chats may be one
// session.
package identity

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"agenthost/session"
)

// Config is one entry of `identities:`, a person's name with the accounts that are
// theirs. A list stands for Accounts alone.
type Config struct {
	// Accounts are written <channel>[.<instance>]/<from>.
	Accounts []string `yaml:"accounts,omitempty" json:"accounts,omitempty"`
	// Shared makes one session of the direct chats, that of the first account.
	Shared bool `yaml:"shared,omitempty" json:"shared,omitempty"`
}

// List is where a list goes that stands in the place of a Config.
func (c *Config) List(key string) *[]string {
	if key == "" {
		return &c.Accounts
	}
	return nil
}

var token = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

// Direct is the key of the direct chat with an account.
func Direct(account string) (session.Key, error) {
	place, from, _ := strings.Cut(account, "/")
	channel, instance, some := strings.Cut(place, ".")
	if !token.MatchString(channel) || some && !token.MatchString(instance) || from == "" {
		return "", fmt.Errorf("account %q: want <channel>[.<instance>]/<from>, such as telegram.sales/42", account)
	}
	return session.DM(channel, instance, from), nil
}

// A Table tells what keys of direct chats are of one person. The zero Table, and nil,
// know nobody. Its methods may be called by many goroutines.
type Table struct {
	people atomic.Pointer[map[session.Key]*person]
}

type person struct {
	keys   []session.Key
	texts  []string // keys, as text
	shared bool
}

// Set replaces what the table knows. What is no account is left out: the configuration
// has been checked.
func (t *Table) Set(identities map[string]Config) {
	people := map[session.Key]*person{}
	for _, c := range identities {
		p := &person{shared: c.Shared}
		for _, account := range c.Accounts {
			if key, err := Direct(account); err == nil {
				p.keys, p.texts = append(p.keys, key), append(p.texts, string(key))
				people[key] = p
			}
		}
	}
	t.people.Store(&people)
}

func (t *Table) find(key session.Key) *person {
	if t == nil {
		return nil
	}
	people := t.people.Load()
	if people == nil {
		return nil
	}
	return (*people)[key]
}

// Session is the session that a message for a direct chat belongs to: that of the
// person's first account where the sessions are shared, else the chat's own.
func (t *Table) Session(key session.Key) session.Key {
	if p := t.find(key); p != nil && p.shared {
		return p.keys[0]
	}
	return key
}

// Chats are the keys of the direct chats with the person whose chat has that key, it
// alone where nothing else is known.
func (t *Table) Chats(key string) []string {
	if p := t.find(session.Key(key)); p != nil {
		return p.texts
	}
	return []string{key}
}

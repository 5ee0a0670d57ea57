package build

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync"

	"agenthost/config"
)

// shortestSecret keeps a key such as "none" from being cut out of every text.
const shortestSecret = 8

// Secrets are the values of the configuration that must not be read in what
// others say, as a model server that quotes a key in its error.
type Secrets struct {
	mu       sync.RWMutex
	values   []string
	replacer *strings.Replacer
}

// take takes in those of a configuration.
func (s *Secrets) take(cfg *config.Config) {
	for _, name := range sortedKeys(cfg.Models) {
		s.add(cfg.Models[name].APIKey)
	}
	for _, name := range sortedKeys(cfg.MCP) {
		s.add(cfg.MCP[name].OAuth.ClientSecret)
	}
	s.add(cfg.HTTP.Token)
	for _, t := range cfg.HTTP.Tokens {
		s.add(t.Token)
	}
	s.add(cfg.NATS.Token)
	s.add(cfg.NATS.Password)
}

// add takes a value in, also as it would stand in a URL.
func (s *Secrets) add(value string) {
	if len(value) < shortestSecret {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = append(s.values, value, url.QueryEscape(value), url.PathEscape(value))
	slices.SortFunc(s.values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	s.values = slices.Compact(s.values)
	var pairs []string
	for _, v := range s.values {
		pairs = append(pairs, v, "[secret]")
	}
	s.replacer = strings.NewReplacer(pairs...)
}

// Redact is text without the secrets.
func (s *Secrets) Redact(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

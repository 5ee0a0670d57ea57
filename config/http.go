package config

import (
	"fmt"
	"net"
	"strconv"

	"agenthost/bus"
	"agenthost/internal/httpauth"
)

// HTTP is `http:`, the one listener of a host.
type HTTP struct {
	// Listen is host:port. In a file it defaults to DefaultListen; empty, there
	// is no listener.
	Listen string `yaml:"listen,omitempty" json:"listen,omitempty"`
	// Token is what a caller has to send who may do all; without it and Tokens none
	// is needed.
	Token string `yaml:"token,omitempty" json:"token,omitempty"`
	// Tokens are for callers who may do less, or whose name matters.
	Tokens []httpauth.Token `yaml:"tokens,omitempty" json:"tokens,omitempty"`
}

// none reports whether there is no listener.
func (h HTTP) none() bool { return h.Listen == "" && h.Token == "" && len(h.Tokens) == 0 }

func (k *checker) checkHTTP() {
	listen := k.c.HTTP.Listen
	if listen == "" {
		return
	}
	if !validAddress(listen) {
		k.Fault("http.listen", "listen %s: want host:port, such as %s", k.Quote("http.listen"), DefaultListen)
		return
	}
	if !loopback(listen) && k.c.HTTP.Token == "" && len(k.c.HTTP.Tokens) == 0 && !k.Failed("http.token") && !k.Failed("http.tokens") {
		k.Fault("http.listen", "listen %s is open to other machines; add token:, or listen on %s", k.Quote("http.listen"), DefaultListen)
	}
	if !loopback(listen) {
		k.checkGuess("http.token", k.c.HTTP.Token)
		for i, t := range k.c.HTTP.Tokens {
			k.checkGuess(fmt.Sprintf("http.tokens[%d].token", i), t.Token)
		}
	}
}

// hardToGuess is how many characters a token has at least that other machines may try.
const hardToGuess = 16

// checkGuess warns of a token that is found by trying.
func (k *checker) checkGuess(at, token string) {
	if n := len(token); n > 0 && n < hardToGuess {
		k.warn(at, "a token of %d characters can be guessed, and %s is open to other machines; want %d or more, such as openssl rand -hex 16 makes", n, k.Quote("http.listen"), hardToGuess)
	}
}

// checkTokens checks http.tokens, which are there besides http.token.
func (k *checker) checkTokens() {
	names, values := map[string]bool{httpauth.Operator: true}, map[string]bool{k.c.HTTP.Token: true}
	for i, t := range k.c.HTTP.Tokens {
		at := fmt.Sprintf("http.tokens[%d]", i)
		if k.required(at+".name", t.Name, "name", "the token") {
			k.token(at+".name", "name", t.Name)
			if t.Name == httpauth.Operator {
				k.Fault(at+".name", "name %q is reserved for http.token; want another", t.Name)
			} else if names[t.Name] {
				k.Fault(at+".name", "name %s stands there twice; want another", k.Quote(at+".name"))
			}
		}
		if k.required(at+".token", t.Token, "token", "the token "+strconv.Quote(t.Name)) && values[t.Token] {
			k.Fault(at+".token", "token: the same as another; want one of its own")
		}
		if k.required(at+".role", string(t.Role), "role", "the token "+strconv.Quote(t.Name)) {
			k.oneOf(at+".role", string(t.Role), string(httpauth.Admin), string(httpauth.Read), string(httpauth.Chat))
		}
		names[t.Name], values[t.Token] = true, true
		k.checkAgentNames(at, t.Agents)
	}
}

func validAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func loopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	return bus.Loopback(host)
}

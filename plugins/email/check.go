package email

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-msgauth/authres"
	"github.com/emersion/go-msgauth/dkim"
	"golang.org/x/net/publicsuffix"
)

// The results of a check, as Received.Meta has them.
const (
	pass = "pass"
	fail = "fail"
	none = "none"
)

const (
	mostSignatures = 3
	lookupWithin   = 10 * time.Second
)

// A check verifies the signatures of a mail while it is read. What is written to it
// is the mail.
type check struct {
	*io.PipeWriter
	channel  *Channel
	verified []*dkim.Verification
	done     sync.WaitGroup
}

func (c *Channel) newCheck(ctx context.Context) *check {
	reader, writer := io.Pipe()
	k := &check{PipeWriter: writer, channel: c}
	lookup := c.lookup
	if lookup == nil {
		lookup = func(domain string) ([]string, error) {
			ctx, cancel := context.WithTimeout(ctx, lookupWithin)
			defer cancel()
			return net.DefaultResolver.LookupTXT(ctx, domain)
		}
	}
	k.done.Go(func() {
		// What is not verified has not passed: the error says no more.
		k.verified, _ = dkim.VerifyWithOptions(reader, &dkim.VerifyOptions{LookupTXT: lookup, MaxVerifications: mostSignatures})
		_, _ = io.Copy(io.Discard, reader)
	})
	return k
}

// result ends the check. The word of the receiving server counts before the own.
func (k *check) result(h mail.Header, from string) (dkimResult, spf string) {
	_ = k.Close()
	k.done.Wait()
	dkimResult, spf = k.channel.authenticationResults(h, from)
	if dkimResult == "" {
		dkimResult = k.own(h, from)
	}
	if dkimResult == pass && isDoubled(h) {
		return fail, spf
	}
	return dkimResult, spf
}

func (k *check) own(h mail.Header, from string) string {
	if len(k.verified) == 0 {
		return none
	}
	for _, v := range k.verified {
		if v.Err == nil && aligned(v.Domain, from) && signsSubject(v, h) {
			return pass
		}
	}
	return fail
}

// signsSubject reports whether a signature is for the subject as well, which may be the answer to
// an approval. To a signed mail without one a subject could be added.
func signsSubject(v *dkim.Verification, h mail.Header) bool {
	return !h.Has("Subject") || slices.ContainsFunc(v.HeaderKeys, func(key string) bool { return strings.EqualFold(key, "Subject") })
}

// once are the headers that are read here and that a mail has once.
var once = []string{"From", "Reply-To", "Subject", "Message-Id", "In-Reply-To", "References", "Date", "Content-Type", "Content-Transfer-Encoding"}

// isDoubled reports whether a mail has one of them twice. A signature is for the lowest of a
// name, and the first is read: who has a signed mail could put others before it (RFC 6376, 8.15).
func isDoubled(h mail.Header) bool {
	return slices.ContainsFunc(once, func(key string) bool { return h.FieldsByKey(key).Len() > 1 })
}

// authenticationResults reads the first header of that name, which is the last that
// was added, when it names this account's own server. Senders can write others.
func (c *Channel) authenticationResults(h mail.Header, from string) (dkimResult, spf string) {
	spf = none
	id, results, err := authres.Parse(h.Get("Authentication-Results"))
	if err != nil || !c.isOwnServer(id) {
		return "", spf
	}
	for _, result := range results {
		switch result := result.(type) {
		case *authres.SPFResult:
			spf = string(result.Value)
		case *authres.DKIMResult:
			switch {
			case dkimResult == pass:
			case result.Value == authres.ResultPass && aligned(result.Domain, from):
				dkimResult = pass
			case result.Value == authres.ResultNone:
				dkimResult = none
			default:
				dkimResult = fail
			}
		}
	}
	return dkimResult, spf
}

// isOwnServer reports whether a server's name is in the domain of the address, or of
// the IMAP server.
func (c *Channel) isOwnServer(id string) bool {
	id = strings.ToLower(id)
	host, _, _ := net.SplitHostPort(c.settings.IMAP.Server)
	host = strings.ToLower(host)
	if host != "" && (id == host || strings.HasSuffix(id, "."+host)) {
		return true
	}
	_, parent, _ := strings.Cut(host, ".")
	if public, _ := publicsuffix.PublicSuffix(parent); public == parent { // such as co.uk
		parent = ""
	}
	for _, domain := range []string{c.domain, parent} {
		if strings.Contains(domain, ".") && (id == domain || strings.HasSuffix(id, "."+domain)) {
			return true
		}
	}
	return false
}

// aligned reports whether a signature is that of the sender's domain, or of one
// above it.
func aligned(signer, from string) bool {
	signer, domain := strings.ToLower(signer), domainOf(from)
	return strings.Contains(signer, ".") && (domain == signer || strings.HasSuffix(domain, "."+signer))
}

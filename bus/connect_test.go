package bus_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// natsContext writes a context of the nats command and returns its name.
func natsContext(t *testing.T, format string, args ...any) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	dir := filepath.Join(home, "nats", "context")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prod.json"), fmt.Appendf(nil, format, args...), 0o600); err != nil {
		t.Fatal(err)
	}
	return "prod"
}

func userKey(t *testing.T) (seedFile, public string) {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	public, err = key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return bustest.WriteFile(t, "user.nk", string(seed)), public
}

// credsFile writes credentials of a user and returns the options of a server
// that knows them.
func credsFile(t *testing.T) (file string, configure func(*server.Options)) {
	t.Helper()
	pair := func(kp nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
		if err != nil {
			t.Fatal(err)
		}
		public, err := kp.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return kp, public
	}
	must := func(token string, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	operator, operatorID := pair(nkeys.CreateOperator())
	account, accountID := pair(nkeys.CreateAccount())
	user, userID := pair(nkeys.CreateUser())
	_, systemID := pair(nkeys.CreateAccount())

	claims := jwt.NewAccountClaims(accountID)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	accountJWT := must(claims.Encode(operator))
	systemJWT := must(jwt.NewAccountClaims(systemID).Encode(operator))
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	creds, err := jwt.FormatUserConfig(must(jwt.NewUserClaims(userID).Encode(account)), seed)
	if err != nil {
		t.Fatal(err)
	}
	return bustest.WriteFile(t, "user.creds", string(creds)), func(o *server.Options) {
		resolver := &server.MemAccResolver{}
		for id, token := range map[string]string{accountID: accountJWT, systemID: systemJWT} {
			if err := resolver.Store(id, token); err != nil {
				t.Fatal(err)
			}
		}
		operators := jwt.NewOperatorClaims(operatorID)
		operators.SystemAccount = systemID
		o.TrustedOperators = []*jwt.OperatorClaims{operators}
		o.SystemAccount, o.AccountResolver = systemID, resolver
	}
}

// underHome writes path as one that begins at the home of the user.
func underHome(t *testing.T, path string) string {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(me.HomeDir, path)
	if err != nil {
		t.Fatal(err)
	}
	return "~/" + rel
}

// tlsFiles writes a certificate that signs itself, and its key.
func tlsFiles(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = bustest.WriteFile(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	key = bustest.WriteFile(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})))
	return cert, key
}

func TestOpenExternal(t *testing.T) {
	seed, public := userKey(t)
	cert, key := tlsFiles(t)
	creds, knowsCreds := credsFile(t)
	ann := func(o *server.Options) { o.Username, o.Password = "ann", "secret" }
	tests := map[string]struct {
		server  func(*server.Options)
		cfg     bus.Config
		context func(url string) string // the content of a context; it names the server instead of cfg
		urls    func(url string) string
	}{
		"url":              {},
		"list of urls":     {urls: func(url string) string { return "127.0.0.1:1, " + url }},
		"url without nats": {urls: func(url string) string { return strings.TrimPrefix(url, "nats://") }},
		"user":             {server: ann, cfg: bus.Config{User: "ann", Password: "secret"}},
		"user in the url":  {server: ann, urls: func(url string) string { return strings.Replace(url, "//", "//ann:secret@", 1) }},
		"token":            {server: func(o *server.Options) { o.Authorization = "s3cret" }, cfg: bus.Config{Token: "s3cret"}},
		"nkey":             {server: func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: public}} }, cfg: bus.Config{NKey: seed}},
		"creds":            {server: knowsCreds, cfg: bus.Config{Creds: creds}},
		"domain":           {server: func(o *server.Options) { o.JetStreamDomain = "hub" }, cfg: bus.Config{Domain: "hub"}},
		"tls": {
			server: func(o *server.Options) {
				pair, err := tls.LoadX509KeyPair(cert, key)
				if err != nil {
					t.Error(err)
				}
				pool := x509.NewCertPool()
				pool.AddCert(pair.Leaf)
				o.TLSConfig = &tls.Config{
					Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12,
				}
			},
			cfg: bus.Config{TLS: bus.TLS{CA: cert, Cert: cert, Key: key}},
		},
		"context": {
			server:  ann,
			context: func(url string) string { return fmt.Sprintf(`{"url":%q,"user":"ann","password":"secret"}`, url) },
		},
		"context, another user": {
			server: ann, cfg: bus.Config{User: "ann", Password: "secret"},
			context: func(url string) string { return fmt.Sprintf(`{"url":%q,"creds":%q}`, url, creds) },
		},
		"context with creds": {
			server:  knowsCreds,
			context: func(url string) string { return fmt.Sprintf(`{"url":%q,"creds":%q}`, url, creds) },
		},
		"context with creds under home": {
			server:  knowsCreds,
			context: func(url string) string { return fmt.Sprintf(`{"url":%q,"creds":%q}`, url, underHome(t, creds)) },
		},
		"context, another url": {
			context: func(string) string { return `{"url":"nats://127.0.0.1:1"}` },
			urls:    func(url string) string { return url },
		},
		"context with a domain": {
			server:  func(o *server.Options) { o.JetStreamDomain = "hub" },
			context: func(url string) string { return fmt.Sprintf(`{"url":%q,"jetstream_domain":"hub"}`, url) },
		},
		"context, another domain": {
			server: func(o *server.Options) { o.JetStreamDomain = "hub" }, cfg: bus.Config{Domain: "hub"},
			context: func(url string) string { return fmt.Sprintf(`{"url":%q,"jetstream_domain":"edge"}`, url) },
		},
		"context with a prefix": {
			server:  func(o *server.Options) { o.JetStreamDomain = "hub" },
			context: func(url string) string { return fmt.Sprintf(`{"url":%q,"jetstream_api_prefix":"$JS.hub.API"}`, url) },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			configure := tt.server
			if configure == nil {
				configure = func(*server.Options) {}
			}
			url, _ := bustest.Server(t, configure)
			if tt.context == nil {
				tt.cfg.URL = url
			} else {
				tt.cfg.Context = natsContext(t, "%s", tt.context(url))
			}
			if tt.urls != nil {
				tt.cfg.URL = tt.urls(url)
			}
			b, err := bustest.TryOpen(t, tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Ready(t.Context()); err != nil {
				t.Error(err)
			}
			if b.URL() != "" {
				t.Errorf("URL of a server that is not ours: got %q", b.URL())
			}
		})
	}
}

func TestOpenExternalRefuses(t *testing.T) {
	const url = "nats://127.0.0.1:1"
	garbage := bustest.WriteFile(t, "garbage", "garbage")
	halfCreds := bustest.WriteFile(t, "half.creds", "-----BEGIN NATS USER JWT-----\na.b.c\n------END NATS USER JWT------\n")
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := account.Seed()
	if err != nil {
		t.Fatal(err)
	}
	accountSeed := bustest.WriteFile(t, "account.nk", string(seed))
	cert, key := tlsFiles(t)
	tests := map[string]struct {
		cfg     bus.Config
		context string
		want    []string
	}{
		"url with a bad port":         {bus.Config{URL: "nats://ann:s3cret@host:nine"}, "", []string{`nats.url "host:nine"`, "not an address"}},
		"url without a host":          {bus.Config{URL: "nats://"}, "", []string{"not an address"}},
		"url with a sign in password": {bus.Config{URL: "nats://ann:s3cret#1@host:4222"}, "", []string{`nats.url "host:4222"`}},
		"url with a comma in it":      {bus.Config{URL: "nats://ann:s3cret,1@host:4222"}, "", []string{`nats.url "host:4222"`}},
		"url of another kind":         {bus.Config{URL: "http://ann:s3cret@host"}, "", []string{`unknown scheme "http"`}},
		"no creds":                    {bus.Config{URL: url, Creds: "/no/such.creds"}, "", []string{`"/no/such.creds"`, "no such file"}},
		"bad creds":                   {bus.Config{URL: url, Creds: garbage}, "", []string{"read credentials", garbage}},
		"creds without a seed":        {bus.Config{URL: url, Creds: halfCreds}, "", []string{"read credentials", halfCreds}},
		"no nkey":                     {bus.Config{URL: url, NKey: "/no/such.nk"}, "", []string{`nats.nkey "/no/such.nk"`, "no such file"}},
		"bad nkey":                    {bus.Config{URL: url, NKey: garbage}, "", []string{"nats.nkey", garbage}},
		"nkey of an account":          {bus.Config{URL: url, NKey: accountSeed}, "", []string{"nats.nkey", accountSeed}},
		"no ca":                       {bus.Config{URL: url, TLS: bus.TLS{CA: "/no/ca.pem"}}, "", []string{"nats.tls", "/no/ca.pem"}},
		"bad ca":                      {bus.Config{URL: url, TLS: bus.TLS{CA: garbage}}, "", []string{"nats.tls", garbage}},
		"no cert":                     {bus.Config{URL: url, TLS: bus.TLS{Cert: "/no/cert.pem", Key: key}}, "", []string{"nats.tls", "/no/cert.pem"}},
		"cert without key":            {bus.Config{URL: url, TLS: bus.TLS{Cert: cert}}, "", []string{"cert and key go together"}},
		"key without cert":            {bus.Config{URL: url, TLS: bus.TLS{Key: key}}, "", []string{"cert and key go together"}},
		"no context":                  {bus.Config{Context: "staging"}, "{}", []string{`NATS context "staging"`, "unknown", `"nats context ls" lists them`}},
		"bad context":                 {bus.Config{Context: "prod"}, "{", []string{`NATS context "prod"`}},
		"context, no creds":           {bus.Config{Context: "prod"}, `{"url":"` + url + `","creds":"~/no/such.creds"}`, []string{`NATS context "prod"`, "no/such.creds", "no such file"}},
		"context, bad creds":          {bus.Config{Context: "prod"}, `{"url":"` + url + `","creds":"` + halfCreds + `"}`, []string{`NATS context "prod"`, halfCreds}},
		"context, bad url":            {bus.Config{Context: "prod"}, `{"url":"nats://ann:s3cret@host:nine"}`, []string{`NATS context "prod"`, `"host:nine"`}},
		"bad domain":                  {bus.Config{URL: url, Domain: "a.*"}, "", []string{"JetStream domain", "a.*"}},
		"context, bad prefix":         {bus.Config{Context: "prod"}, `{"url":"` + url + `","jetstream_api_prefix":"a b"}`, []string{"JetStream", "a b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.context != "" {
				natsContext(t, "%s", tt.context)
			}
			_, err := bustest.TryOpen(t, tt.cfg)
			bustest.WantError(t, err, tt.want...)
			if strings.Contains(fmt.Sprint(err), "s3cret") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

// Of a domain that does not answer nobody knows whether it will.
func TestReadyWaitsForADomain(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t, func(*server.Options) {})
	b, err := bustest.TryOpen(t, bus.Config{URL: url, Domain: "mars"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err = b.Ready(ctx)
	bustest.WantError(t, err, "deadline exceeded", `JetStream of $JS.mars.API does not answer at `, `domain "mars"`, "is the line to it up")
	if errors.Is(err, bus.ErrNoJetStream) {
		t.Errorf("got %v, want it to be waited for", err)
	}
}

func TestReadyRefuses(t *testing.T) {
	t.Parallel()
	level := func(n int) string { return fmt.Sprintf(`{"type":"x","api":{"level":%d}}`, n) }
	fake := func(version string, answers ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			return (&fakeNATS{version: version, answers: answers}).serve(t)
		}
	}
	real := func(configure func(*server.Options)) func(*testing.T) string {
		return func(t *testing.T) string {
			url, _ := bustest.Server(t, configure)
			return url
		}
	}
	account := server.NewAccount("TEAM")
	tests := map[string]struct {
		serve func(*testing.T) string
		cfg   bus.Config
		is    error
		want  []string
	}{
		"an old server":    {fake("2.10.0", level(0)), bus.Config{}, bus.ErrOldServer, []string{"2.10.0", "2.14"}},
		"an old JetStream": {fake("2.15.2", level(2)), bus.Config{}, bus.ErrOldServer, []string{"API level 2"}},
		"no JetStream": {
			real(func(o *server.Options) { o.JetStream = false }),
			bus.Config{},
			bus.ErrNoJetStream,
			[]string{"-js"},
		},
		"an account without JetStream": {
			real(func(o *server.Options) {
				o.Accounts = []*server.Account{account}
				o.Users = []*server.User{{Username: "ann", Password: "secret", Account: account}}
			}),
			bus.Config{User: "ann", Password: "secret"},
			bus.ErrNoJetStream,
			[]string{"account"},
		},
		"a small payload": {
			real(func(o *server.Options) { o.MaxPayload = 8 << 10 }),
			bus.Config{},
			bus.ErrSmallPayload,
			[]string{"8192", "16384", "max_payload"},
		},
		"a wrong password": {
			real(func(o *server.Options) { o.Username, o.Password = "ann", "secret" }),
			bus.Config{User: "ann", Password: "s3cret"},
			bus.ErrDenied,
			[]string{"authorization violation"},
		},
		"a user without permission": {
			real(func(o *server.Options) {
				o.Users = []*server.User{{Username: "ann", Password: "secret", Permissions: &server.Permissions{
					Publish: &server.SubjectPermission{Deny: []string{"$JS.>"}},
				}}}
			}),
			bus.Config{User: "ann", Password: "secret"},
			bus.ErrDenied,
			[]string{"$JS.API.INFO"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.URL = tt.serve(t)
			b, err := bustest.TryOpen(t, tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = b.Ready(t.Context())
			bustest.WantError(t, err, tt.want...)
			if !errors.Is(err, tt.is) {
				t.Errorf("got %v, want it to wrap %v", err, tt.is)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestReadyWaitsForJetStream(t *testing.T) {
	t.Parallel()
	const unavailable = `{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`
	f := &fakeNATS{version: "2.14.0-RC.1", answers: []string{unavailable, unavailable, `{"api":{"level":4}}`}}
	b := bustest.OpenConfig(t, bus.Config{URL: f.serve(t)})
	if err := b.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	f.mu.Lock()
	asked := f.asked
	f.mu.Unlock()
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

func TestHealthyAsksJetStream(t *testing.T) {
	t.Parallel()
	const unavailable = `{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`
	f := &fakeNATS{version: "dev", answers: []string{`{"api":{"level":5}}`, unavailable}}
	b := bustest.OpenConfig(t, bus.Config{URL: f.serve(t)})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatalf("ready on a build without a version: %v", err)
	}
	bustest.WantError(t, b.Healthy(t.Context()), "ask JetStream", "temporarily unavailable")
}

// The streams may be in a domain that a context of the nats command names, and
// on the other side of a line.
func TestContextNamesDomain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	line := l.Addr().(*net.TCPAddr)
	l.Close()
	hub, _ := bustest.Server(t, func(o *server.Options) {
		o.JetStreamDomain, o.LeafNode.Host, o.LeafNode.Port = "hub", line.IP.String(), line.Port
	})
	leaf, _ := bustest.Server(t, func(o *server.Options) {
		o.JetStream = false
		o.LeafNode.Remotes = []*server.RemoteLeafOpts{{URLs: []*url.URL{{Scheme: "nats-leaf", Host: line.String()}}}}
	})
	there, err := bustest.TryOpen(t, bus.Config{URL: hub})
	if err != nil {
		t.Fatal(err)
	}
	if err := there.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	bustest.Provision(t, there.JS)
	bustest.Publish(t, there.JS, "agent.session.ana.x", "1")
	for _, way := range []string{`"jetstream_domain":"hub"`, `"jetstream_api_prefix":"$JS.hub.API"`} {
		b, err := bustest.TryOpen(t, bus.Config{Context: natsContext(t, `{"url":%q,%s}`, leaf, way)})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Ready(t.Context()); err != nil { // once the line is up
			t.Fatal(err)
		}
		if rec, err := records.NewReader(b.JS).Last(t.Context(), bus.SessionsStream, "agent.session.ana.x"); err != nil || string(rec.Data) != "1" {
			t.Errorf("%s: got %+v, %v, want what the hub has", way, rec, err)
		}
	}
}

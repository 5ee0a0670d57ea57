package matrixtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // so the homeserver wants it
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/internal/interop"
	"agenthost/internal/waittest"
)

// Synapse is a real homeserver, of Debian unstable, in a folder of its own.
type Synapse struct {
	URL string

	t       testing.TB
	root    string // of the system it runs in
	data    string // its folder, which it sees there as /hs
	log     *os.File
	running *exec.Cmd
}

const (
	chrootTime   = 6 * time.Minute
	unmountTime  = 30 * time.Second
	mirror       = "http://deb.debian.org/debian"
	sharedSecret = "secret"
)

// synapseRoot is a Debian with Synapse. It is made once and kept in the cache.
func synapseRoot(t testing.TB) string {
	if os.Getuid() != 0 {
		t.Skip("Synapse runs in a Debian of its own, which only root can make")
	}
	builder := interop.Program(t, "mmdebstrap")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	root := filepath.Join(cache, "agenthost-ci", "synapse")
	if _, err := os.Stat(root); err == nil {
		return root
	}
	work := t.TempDir()
	answers := "matrix-synapse matrix-synapse/server-name string localhost\nmatrix-synapse matrix-synapse/report-stats boolean false\n"
	if err := os.WriteFile(filepath.Join(work, "answers"), []byte(answers), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(root), "synapse-new-") //nolint:usetesting // it becomes part of the cache
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(unfinished)
	if err := os.Chmod(unfinished, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), chrootTime)
	defer cancel()
	hook := `printf "#!/bin/sh\nexit 101\n" > "$1/usr/sbin/policy-rc.d"; chmod 755 "$1/usr/sbin/policy-rc.d"; ` +
		`cp ` + filepath.Join(work, "answers") + ` "$1/tmp/"; chroot "$1" debconf-set-selections /tmp/answers`
	make := exec.CommandContext(ctx, builder, "--variant=minbase", "--mode=root", "--include=matrix-synapse", "--dpkgopt=force-unsafe-io",
		`--aptopt=APT::Install-Recommends "false"`, `--aptopt=Acquire::Check-Valid-Until "false"`, "--essential-hook="+hook, "sid", unfinished, mirror)
	make.Cancel = func() error { return make.Process.Signal(syscall.SIGTERM) } // it unmounts what it has mounted
	make.WaitDelay = unmountTime
	if out, err := make.CombinedOutput(); err != nil {
		t.Skipf("the mirror does not give Synapse: %v\n%s", err, tail(out))
	}
	if err := os.Rename(unfinished, root); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return root
}

func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }

const synapseConfig = `server_name: hs.test
pid_file: hs.pid
listeners: [{port: %d, bind_addresses: [127.0.0.1], type: http, resources: [{names: [client]}]}]
database: {name: sqlite3, args: {database: hs.db}}
media_store_path: media
registration_shared_secret: ` + sharedSecret + `
signing_key_path: key
macaroon_secret_key: macaroon
form_secret: form
report_stats: false
trusted_key_servers: []
suppress_key_server_warning: true
federation_domain_whitelist: []
rc_login: {address: {per_second: 100, burst_count: 100}, account: {per_second: 100, burst_count: 100}}
%s
`

// StartSynapse runs a homeserver for the test; more is added to its configuration.
func StartSynapse(t testing.TB, more string) *Synapse {
	root := synapseRoot(t)
	data := bustest.Dir(t) // a new database is hundreds of writes, each of which a disk would sync
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	seed := make([]byte, 32)
	rand.Read(seed)
	for name, content := range map[string]string{
		"homeserver.yaml": fmt.Sprintf(synapseConfig, port, more),
		"key":             "ed25519 a_test " + base64.RawStdEncoding.EncodeToString(seed) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Synapse{t: t, URL: fmt.Sprintf("http://127.0.0.1:%d", port), root: root, data: data, log: log}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			out, _ := os.ReadFile(log.Name())
			t.Logf("the homeserver's log:\n%s", tail(out))
		}
		log.Close()
	})
	s.Start()
	return s
}

// inChroot shows the homeserver its data as /hs. The mount is in a namespace of its own,
// and ends with the process.
const inChroot = `mkdir -p "$1/hs" && mount --bind "$2" "$1/hs" && exec chroot "$1" sh -c 'cd /hs && exec python3 -m synapse.app.homeserver --config-path homeserver.yaml'`

// Start runs it again.
func (s *Synapse) Start() {
	s.running = exec.Command("unshare", "--mount", "sh", "-c", inChroot, "sh", s.root, s.data)
	s.running.Stdout, s.running.Stderr = s.log, s.log
	s.running.SysProcAttr = diesWithTest()
	if err := s.running.Start(); err != nil {
		s.t.Fatal(err)
	}
	waittest.Until(s.t, "the homeserver answers", func() bool {
		resp, err := http.Get(s.URL + "/_matrix/client/versions")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// Stop kills it.
func (s *Synapse) Stop() {
	if s.running != nil {
		_ = s.running.Process.Kill()
		_ = s.running.Wait()
		s.running = nil
	}
}

// Register makes a user and returns its Matrix ID.
func (s *Synapse) Register(name, password string, admin bool) string {
	s.t.Helper()
	const path = "/_synapse/admin/v1/register"
	var nonce struct{ Nonce string }
	s.Call("", http.MethodGet, path, nil, &nonce)
	role := map[bool]string{true: "admin", false: "notadmin"}[admin]
	mac := hmac.New(sha1.New, []byte(sharedSecret))
	mac.Write([]byte(strings.Join([]string{nonce.Nonce, name, password, role}, "\x00")))
	var made struct {
		User string `json:"user_id"`
	}
	s.Call("", http.MethodPost, path, map[string]any{
		"nonce": nonce.Nonce, "username": name, "password": password, "admin": admin, "mac": hex.EncodeToString(mac.Sum(nil)),
	}, &made)
	return made.User
}

// Login is a token of a user.
func (s *Synapse) Login(user, password string) string {
	var login struct {
		Token string `json:"access_token"`
	}
	s.Call("", http.MethodPost, "/_matrix/client/v3/login", map[string]any{
		"type": "m.login.password", "identifier": map[string]any{"type": "m.id.user", "user": user}, "password": password,
	}, &login)
	return login.Token
}

// Call makes a request that has to succeed; result may be nil.
func (s *Synapse) Call(token, method, path string, body, result any) {
	s.t.Helper()
	encoded, _ := json.Marshal(body)
	req, _ := http.NewRequest(method, s.URL+path, bytes.NewReader(encoded))
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %s", method, path, resp.Status)
	}
	if result != nil {
		if err := json.NewDecoder(resp.Body).Decode(result); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Unlimited lets a user send as much as it wants.
func (s *Synapse) Unlimited(admin, user string) {
	s.t.Helper()
	s.Call(admin, http.MethodPost, "/_synapse/admin/v1/users/"+user+"/override_ratelimit", map[string]any{"messages_per_second": 0}, nil)
}

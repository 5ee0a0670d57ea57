//go:build interop

package irc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/internal/interop"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
)

// A network is a real server that can be killed and started again.
type network struct {
	address string
	start   func(t testing.TB) *exec.Cmd
	process *exec.Cmd
}

func (n *network) up(t testing.TB) {
	t.Helper()
	n.process = n.start(t)
	waittest.Until(t, "the server listens", func() bool {
		conn, err := net.Dial("tcp", n.address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func (n *network) kill() {
	n.process.Process.Kill()
	n.process.Wait()
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// launch starts a program whose output is in the log of the test when that fails.
func launch(t testing.TB, dir, program string, arguments ...string) *exec.Cmd {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(program, arguments...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if said := out.String(); t.Failed() && !strings.HasSuffix(program, "/ii") {
			t.Logf("%s: %s", program, said)
		}
	})
	return cmd
}

func ngircd(t testing.TB, throttled bool) *network {
	program, dir, port := interop.Program(t, "ngircd"), t.TempDir(), freePort(t)
	file := filepath.Join(dir, "n.conf")
	text := fmt.Sprintf("[Global]\nName=irc.test\nInfo=t\nPorts=%s\nListen=127.0.0.1\nServerUID=root\nServerGID=root\n"+
		"[Limits]\nMaxConnectionsIP=0\nMaxPenaltyTime=%d\n[Options]\nDNS=no\nIdent=no\nPAM=no\n", port, map[bool]int{true: -1}[throttled])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &network{address: "127.0.0.1:" + port, start: func(t testing.TB) *exec.Cmd {
		return launch(t, dir, program, "-n", "-f", file)
	}}
}

// Ergo is in Debian 13; its program runs on Debian 12 as well.
const (
	ergoPackage = "pool/main/e/ergochat/ergochat_2.15.0+ds1-4+b1_amd64.deb"
	ergoSum     = "96729dc1bb2f4f6eaef58696b37e9bb14d9580e1d3dcfdbdd8078b7b89a8531c"
)

// ergoDir is the unpacked package, fetched once.
func ergoDir(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "agenthost-ci", "ergochat-"+ergoSum[:12])
	if _, err := os.Stat(filepath.Join(dir, "usr/bin/ergochat")); err == nil {
		return dir
	}
	mirror := "http://deb.debian.org/debian/"
	answer, err := http.Get(mirror + ergoPackage)
	if err != nil {
		t.Skipf("ergochat cannot be had: %v", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Skipf("ergochat cannot be had: %s %v", answer.Status, err)
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != ergoSum {
		t.Fatalf("ergochat: sum %x", sum)
	}
	deb := filepath.Join(t.TempDir(), "ergochat.deb")
	if err := os.WriteFile(deb, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("dpkg", "-x", deb, dir).CombinedOutput(); err != nil {
		t.Skipf("ergochat cannot be unpacked: %v\n%s", err, out)
	}
	return dir
}

func ergo(t testing.TB, throttled bool) *network {
	pkg, dir, port := ergoDir(t), t.TempDir(), freePort(t)
	program := filepath.Join(pkg, "usr/bin/ergochat")
	example, err := os.ReadFile(filepath.Join(pkg, "usr/share/doc/ergochat/examples/traditional.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(example)
	for _, change := range [][2]string{
		{"\":6667\":", "\"127.0.0.1:" + port + "\":"},
		{"\":6697\":", "\"127.0.0.1:" + freePort(t) + "\":"},
		{"check-ident: true", "check-ident: false"},
		{"lookup-hostnames: true", "lookup-hostnames: false"},
		{"motd: ergo.motd", ""},
		{"languages:\n    # whether to load languages\n    enabled: true", "languages:\n    enabled: false"},
	} {
		text = strings.ReplaceAll(text, change[0], change[1])
	}
	if !throttled {
		head, tail, _ := strings.Cut(text, "\nfakelag:")
		text = head + "\nfakelag:" + strings.Replace(tail, "enabled: true", "enabled: false", 1)
	}
	text = strings.ReplaceAll(text, "[::1]:6667", "127.0.0.1:0")
	if err := os.WriteFile(filepath.Join(dir, "ircd.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"mkcerts", "initdb"} {
		cmd := exec.Command(program, step, "--conf", "ircd.yaml")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ergochat %s: %v\n%s", step, err, out)
		}
	}
	return &network{address: "127.0.0.1:" + port, start: func(t testing.TB) *exec.Cmd {
		return launch(t, dir, program, "run", "--conf", "ircd.yaml")
	}}
}

// A human is a person at the client ii, whose talks are files.
type human struct{ dir string }

func newHuman(t testing.TB, address, nick string) *human {
	t.Helper()
	program, dir := interop.Program(t, "ii"), t.TempDir()
	host, port, _ := net.SplitHostPort(address)
	launch(t, dir, program, "-s", host, "-p", port, "-n", nick, "-i", dir)
	h := &human{filepath.Join(dir, host)}
	waittest.Until(t, "the client is greeted", func() bool { return strings.Contains(h.read(""), "End of M") || strings.Contains(h.read(""), "MOTD") })
	return h
}

func (h *human) write(t testing.TB, talk, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(h.dir, talk, "in"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, text); err != nil {
		t.Fatal(err)
	}
}

func (h *human) read(talk string) string {
	b, _ := os.ReadFile(filepath.Join(h.dir, talk, "out"))
	return string(b)
}

// lines are what a nick has said in a talk.
func (h *human) lines(talk, nick string) []string {
	var lines []string
	for line := range strings.Lines(h.read(talk)) {
		if _, said, ok := strings.Cut(line, "<"+nick+"> "); ok {
			lines = append(lines, strings.TrimSuffix(said, "\n"))
		}
	}
	return lines
}

func (h *human) join(t testing.TB, channel string) {
	t.Helper()
	h.write(t, "", "/j "+channel)
	waittest.Until(t, "the client is in the channel", func() bool { _, err := os.Stat(filepath.Join(h.dir, channel, "in")); return err == nil })
}

func (h *human) tell(t testing.TB, nick, text string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(h.dir, nick, "in")); err != nil {
		h.write(t, "", "/j "+nick+" "+text)
		// What is written into two files of ii goes out in any order.
		waittest.Until(t, "the talk is there", func() bool { _, err := os.Stat(filepath.Join(h.dir, nick, "in")); return err == nil })
		return
	}
	h.write(t, nick, text)
}

var off = false

var networks = map[string]struct {
	make  func(t testing.TB, throttled bool) *network
	human string // who the human is
}{
	"ngircd": {ngircd, "human"},
	"ergo":   {ergo, "~human"},
}

func TestInterop(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := n.make(t, true)
			server.up(t)
			in := &memory{}
			c := channel(t, settings.IRC{Server: server.address, TLS: &off, Nick: "bot", Join: []string{"#room"}})
			as, err := c.Check(t.Context())
			if err != nil || as != "bot" {
				t.Fatalf("check: %q, %v", as, err)
			}
			stop := serve(t, c, in)
			waittest.Until(t, "the account is logged in", func() bool { return in.name() == "bot" })
			ana := newHuman(t, server.address, "human")
			ana.join(t, "#room")

			ana.tell(t, "bot", "hello grüße")
			m := in.next(t, 1)
			if m.Text != "hello grüße" || m.From != n.human || m.Chat != "" || m.Group || m.Name != "human" {
				t.Errorf("direct message: %+v", m)
			}
			deliver(t, c, plugins.Message{Place: plugins.Place{To: m.From}, Text: "hello back"})
			waittest.Until(t, "the person reads the reply", func() bool {
				return strings.Join(ana.lines("human", "bot"), "")+strings.Join(ana.lines("bot", "bot"), "") == "hello back"
			})

			ana.write(t, "#room", "bot: what is up")
			m = in.next(t, 2)
			if m.Text != "what is up" || m.Chat != "#room" || !m.Group || !m.Mentioned {
				t.Errorf("mention: %+v", m)
			}
			room := plugins.Place{To: m.From, Chat: m.Chat}
			deliver(t, c, plugins.Message{Place: room, Text: "the sky"})
			waittest.Until(t, "the channel reads the reply", func() bool { return strings.Join(ana.lines("#room", "bot"), "|") == "the sky" })

			long(t, c, ana, room)
			overLong(t, c, ana, room)
			reconnect(t, server, c, in)
			stop()
			if len(in.messages()) < 3 {
				t.Error("nothing after the restart")
			}
		})
	}
}

// 20,000 characters are more than 30 lines at once: no server hangs up.
func long(t *testing.T, c *Channel, ana *human, room plugins.Place) {
	t.Helper()
	var text strings.Builder
	for i := 0; utf8.RuneCountInString(text.String()) < 20000; i++ {
		fmt.Fprintf(&text, "%d größer… ", i)
	}
	before := len(ana.lines("#room", "bot"))
	for _, line := range cut(text.String(), c.Limits().Text) {
		if _, err := c.Deliver(t.Context(), plugins.Message{Place: room, Text: line}); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "all of the text", func() bool {
		return squeezed(strings.Join(ana.lines("#room", "bot")[before:], "")) == squeezed(text.String())
	})
}

// squeezed is a text without spaces: clients drop them at the ends of lines.
func squeezed(text string) string { return strings.ReplaceAll(text, " ", "") }

func overLong(t *testing.T, c *Channel, ana *human, room plugins.Place) {
	t.Helper()
	before := len(ana.lines("#room", "bot"))
	text := strings.Repeat("€", 1000)
	deliver(t, c, plugins.Message{Place: room, Text: text})
	waittest.Until(t, "the cut line", func() bool { return strings.Join(ana.lines("#room", "bot")[before:], "") == text })
	for _, line := range ana.lines("#room", "bot") {
		if !utf8.ValidString(line) {
			t.Errorf("cut inside a rune: %q", line)
		}
	}
}

// reconnect kills the server, and has a person talk once it is there again.
func reconnect(t *testing.T, server *network, c *Channel, in *memory) {
	t.Helper()
	server.kill()
	if _, err := c.Deliver(t.Context(), plugins.Message{Place: plugins.Place{To: "human"}, Text: "lost?"}); err == nil {
		t.Error("delivered to a dead server")
	}
	known := len(in.as)
	server.up(t)
	waittest.Until(t, "logged in again", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return len(in.as) > known+1 && in.as[len(in.as)-1] == "bot"
	})
	again := newHuman(t, server.address, "human")
	again.join(t, "#room")
	n := len(in.messages())
	again.write(t, "#room", "are you there, bot?")
	if m := in.next(t, n+1); m.Text != "are you there?" || !m.Mentioned {
		t.Errorf("after the restart: %+v", m)
	}
	deliver(t, c, plugins.Message{Place: plugins.Place{Chat: "#room"}, Text: "I am"})
	waittest.Until(t, "the reply after the restart", func() bool { return strings.Join(again.lines("#room", "bot"), "") == "I am" })
}

// Ergo has what makes IRC reliable: ids, receipts and the lines that were missed.
func TestInteropHistory(t *testing.T) {
	server := ergo(t, true)
	server.up(t)
	in := &memory{}
	s := settings.IRC{Server: server.address, TLS: &off, Nick: "bot", Join: []string{"#room"}}
	stop := serve(t, channel(t, s), in)
	waittest.Until(t, "logged in", func() bool { return in.name() == "bot" })
	ana := newHuman(t, server.address, "human")
	ana.join(t, "#room")
	ana.write(t, "#room", "one")
	first := in.next(t, 1)
	if strings.Contains(first.ID, "/") || first.ID == "" {
		t.Errorf("id %q is not the server's", first.ID)
	}
	waittest.Until(t, "how far is noted", func() bool { return len(in.noted()) == 2 })
	stop()

	bea := newHuman(t, server.address, "bea")
	bea.join(t, "#room")
	want := []string{"one"}
	for i := range 60 { // more than a page
		ana.write(t, "#room", fmt.Sprintf("missed %d", i))
		want = append(want, fmt.Sprintf("missed %d", i))
	}
	waittest.Until(t, "all is said", func() bool { return len(bea.lines("#room", "human")) == 60 })
	c := channel(t, s)
	serve(t, c, in)
	in.next(t, 61)
	ana.write(t, "#room", "live")
	in.next(t, 62)
	want = append(want, "live")
	var got []string
	for _, m := range in.messages() {
		got = append(got, m.Text)
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q", got)
	}
	if id := deliver(t, c, plugins.Message{Place: plugins.Place{Chat: "#room"}, Text: "receipt"}); id == "" {
		t.Error("the receipt has no id")
	}
}

func (in *memory) noted() map[string][]byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	return maps.Clone(in.notes)
}

// clients are people at ii.
type clients struct {
	t   testing.TB
	all map[string]*human
}

func (c clients) write(nick, target, text string) {
	if target == "bot" {
		c.all[nick].tell(c.t, target, text)
		return
	}
	c.all[nick].write(c.t, target, text)
}

func (c clients) sent(target string) []string {
	if target == "#room" {
		return c.all["ana"].lines(target, "bot")
	}
	return append(c.all[target].lines(target, "bot"), c.all[target].lines("bot", "bot")...)
}

// The suite of channels, with a real server and a real client.
func TestInteropSuite(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform {
				server := n.make(t, false)
				server.up(t)
				who := clients{t, map[string]*human{}}
				for _, nick := range []string{"ana", "ben"} {
					who.all[nick] = newHuman(t, server.address, nick)
					who.all[nick].join(t, "#room")
				}
				return platform(t, settings.IRC{Server: server.address, TLS: &off, Nick: "bot", Join: []string{"#room"}, Rate: 20}, who)
			}})
		})
	}
}

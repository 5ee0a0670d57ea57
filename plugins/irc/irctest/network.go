package irctest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/internal/freeport"
	"agenthost/internal/interop"
	"agenthost/internal/waittest"
)

// A Network is a real server that can be killed and started again.
type Network struct {
	Address string

	start   func(t testing.TB) *exec.Cmd
	process *exec.Cmd
}

// Up starts the server and waits until it listens.
func (n *Network) Up(t testing.TB) {
	t.Helper()
	n.process = n.start(t)
	waittest.Until(t, "the server listens", func() bool {
		conn, err := net.Dial("tcp", n.Address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// Kill ends it at once.
func (n *Network) Kill() {
	n.process.Process.Kill()
	n.process.Wait()
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

// NGIRCd is a server without extensions. throttled: with the limits of its default.
func NGIRCd(t testing.TB, throttled bool) *Network {
	program, dir, port := interop.Program(t, "ngircd"), t.TempDir(), freeport.Port(t)
	file := filepath.Join(dir, "n.conf")
	text := fmt.Sprintf("[Global]\nName=irc.test\nInfo=t\nPorts=%s\nListen=127.0.0.1\nServerUID=root\nServerGID=root\n"+
		"[Limits]\nMaxConnectionsIP=0\nMaxPenaltyTime=%d\n[Options]\nDNS=no\nIdent=no\nPAM=no\n", port, map[bool]int{true: -1}[throttled])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Network{Address: "127.0.0.1:" + port, start: func(t testing.TB) *exec.Cmd {
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

// Ergo is a server with all extensions and a history. throttled: with the limits of its
// default.
func Ergo(t testing.TB, throttled bool) *Network {
	pkg, dir, port := ergoDir(t), t.TempDir(), freeport.Port(t)
	program := filepath.Join(pkg, "usr/bin/ergochat")
	example, err := os.ReadFile(filepath.Join(pkg, "usr/share/doc/ergochat/examples/traditional.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(example)
	for _, change := range [][2]string{
		{"\":6667\":", "\"127.0.0.1:" + port + "\":"},
		{"\":6697\":", "\"127.0.0.1:" + freeport.Port(t) + "\":"},
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
	return &Network{Address: "127.0.0.1:" + port, start: func(t testing.TB) *exec.Cmd {
		return launch(t, dir, program, "run", "--conf", "ircd.yaml")
	}}
}

package builtin_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/tools/builtin"
)

func confined(t *testing.T) bench {
	t.Helper()
	if ok, why := builtin.Sandboxed(); !ok {
		t.Skip(why)
	}
	return open(t, builtin.Options{})
}

func TestSandboxedSaysWhat(t *testing.T) {
	ok, why := builtin.Sandboxed()
	if why == "" || ok != strings.HasPrefix(why, "landlock ") {
		t.Errorf("got %v, %q", ok, why)
	}
}

func TestSandboxKeepsCommandsIn(t *testing.T) {
	b := confined(t)
	secret := filepath.Join(filepath.Dir(b.dir), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"read beside the workspace":    "cat " + secret,
		"read by ..":                   "cat ../secret",
		"read by a link":               "ln -s ../secret l && cat l",
		"list beside the workspace":    "ls ..",
		"write beside the workspace":   "echo x > " + secret,
		"make beside the workspace":    "touch ../new",
		"remove beside the workspace":  "rm -f " + secret,
		"empty beside the workspace":   "truncate -s 0 " + secret,
		"move out":                     "echo x >mine; mv mine ../",
		"link in":                      "ln " + secret + " hard",
		"write to /tmp":                "touch /tmp/agenthost-should-not-be",
		"write to /usr":                "touch /usr/agenthost-should-not-be",
		"read the passwords":           "cat /etc/shadow",
		"read the home of the host":    "ls /root",
		"environment of the host":      fmt.Sprintf("cat /proc/%d/environ", os.Getpid()),
		"signal to the host":           fmt.Sprintf("kill -0 %d", os.Getpid()),
		"mount":                        "mount -t tmpfs none .",
		"become another, or root anew": "chroot / true",
		"a file above 1 GB":            "truncate -s 2G big",
		"raise a limit":                "ulimit -n 4096",
	}
	for name, command := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := b.call(t, "run_command", quoted(t, map[string]string{"command": command}))
			if err != nil || !result.Failed || strings.Contains(result.Text, "secret\n[") {
				t.Errorf("got %q, %v, want it refused", result.Text, err)
			}
		})
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("the file outside: got %q, %v", got, err)
	}
}

func TestSandboxLetsCommandsWork(t *testing.T) {
	b := confined(t)
	for name, command := range map[string]string{
		"write, move, remove":   "mkdir -p a b && echo x >a/f && mv a/f b/g && rm -r a && cat b/g",
		"a temporary file":      `f=$(mktemp) && echo x >"$f" && mv "$f" here`,
		"into nothing":          "echo x >/dev/null && head -c 5 /dev/urandom >r",
		"a script":              "printf '#!/bin/sh\\necho ran\\n' >s && chmod +x s && ./s",
		"processes":             "sleep 600 & kill $! && wait; true",
		"who am I":              "id -un",
		"standard output again": "echo x >/dev/stdout",
	} {
		t.Run(name, func(t *testing.T) {
			b.text(t, "run_command", quoted(t, map[string]string{"command": command}))
		})
	}
}

func TestSandboxHasNoTCP(t *testing.T) {
	if _, why := builtin.Sandboxed(); !strings.Contains(why, "TCP") {
		t.Skip(why)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dial := quoted(t, map[string]string{"command": fmt.Sprintf("%s -c ': </dev/tcp/%s/%s'", bash, host, port)})
	result, err := open(t, builtin.Options{}).call(t, "run_command", dial)
	if err != nil || !result.Failed || !strings.Contains(result.Text, "Permission denied") {
		t.Errorf("got %q, %v, want it refused", result.Text, err)
	}
	open(t, builtin.Options{NoSandbox: true}).text(t, "run_command", dial)
}

func TestProcessorTimeIsLimited(t *testing.T) {
	b := open(t, builtin.Options{})
	got := b.text(t, "run_command", `{"command":"ulimit -t; ulimit -c; ulimit -n","timeout":"5s"}`)
	var seconds, core, files int
	if _, err := fmt.Sscan(got, &seconds, &core, &files); err != nil || seconds < 5 || core != 0 || files > 1024 {
		t.Errorf("got %q, %v", got, err)
	}
}

// The helper is this test program, started as run_command starts it.
func TestHelperWithBadArguments(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"too few":        {[]string{dir}, "sandbox: 1 arguments, want 4\n"},
		"not a number":   {[]string{dir, dir, "x", "true"}, `sandbox: seconds of processor time: strconv.ParseUint: parsing "x": invalid syntax` + "\n"},
		"no such folder": {[]string{dir + "/none", dir, "9", "true"}, "sandbox: restrict to " + dir + "/none: "},
	} {
		t.Run(name, func(t *testing.T) {
			if ok, why := builtin.Sandboxed(); !ok && name == "no such folder" {
				t.Skip(why)
			}
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
			cmd.Args = append([]string{"agenthost-sandbox"}, tt.args...)
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 126 || !strings.HasPrefix(string(out), tt.want) {
				t.Errorf("got %q, %v, want %q and exit status 126", out, err, tt.want)
			}
		})
	}
}

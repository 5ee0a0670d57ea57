package builtin_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/tools/builtin"
)

func TestSandboxedSaysWhat(t *testing.T) {
	got := builtin.Sandboxed()
	if levels := builtin.Levels(); got.Layers == "" || got.Confined != (len(levels) > 0) {
		t.Errorf("got %+v with %v", got, levels)
	}
}

func TestProtectionSaysWhatIsOpen(t *testing.T) {
	if got := builtin.ProtectionAt("namespaces"); !got.Confined || !strings.HasPrefix(got.Layers, "namespaces, ") || got.Open != nil {
		t.Errorf("namespaces: got %+v", got)
	}
	got := builtin.ProtectionAt("landlock", "namespaces: only for root")
	if !got.Confined || !strings.HasSuffix(got.Layers, "seccomp; no namespaces (namespaces: only for root)") || len(got.Open) < 2 {
		t.Errorf("landlock: got %+v", got)
	}
	got = builtin.ProtectionAt("nothing", "a: no", "b: no")
	if want := "the kernel refuses all that is needed: a: no; b: no"; got.Confined || got.Layers != want {
		t.Errorf("nothing: got %+v", got)
	}
}

func TestSandboxKeepsCommandsIn(t *testing.T) {
	for _, level := range builtin.Levels() {
		t.Run(level, func(t *testing.T) { sandboxKeepsIn(t, open(t, builtin.AtLevel(level))) })
	}
}

func sandboxKeepsIn(t *testing.T, b bench) {
	t.Helper()
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
		"remove beside the workspace":  "rm " + secret,
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
	for _, level := range builtin.Levels() {
		t.Run(level, func(t *testing.T) { sandboxLetsCommandsWork(t, open(t, builtin.AtLevel(level))) })
	}
}

func sandboxLetsCommandsWork(t *testing.T, b bench) {
	t.Helper()
	for name, command := range map[string]string{
		"write, move, remove":   "mkdir -p a b && echo x >a/f && mv a/f b/g && rm -r a && cat b/g",
		"a temporary file":      `f=$(mktemp) && echo x >"$f" && mv "$f" here`,
		"into nothing":          "echo x >/dev/null && head -c 5 /dev/urandom >r",
		"a script":              "printf '#!/bin/sh\\necho ran\\n' >s && chmod +x s && ./s",
		"processes":             "sleep 600 & kill $! && wait; true",
		"who am I":              "id -un",
		"standard output again": "echo x >/dev/stdout",
		"not a TTY":             "! test -t 0 && ! test -t 1",
		"the words of /etc":     "cat /etc/passwd /etc/group >all",
	} {
		t.Run(name, func(t *testing.T) {
			b.text(t, "run_command", quoted(t, map[string]string{"command": command}))
		})
	}
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
		"too few":       {[]string{dir}, "sandbox: 1 arguments, want 7\n"},
		"not a number":  {[]string{dir, dir, "x", "landlock", "false", "1000", "true"}, `sandbox: seconds of processor time: strconv.ParseUint: parsing "x": invalid syntax` + "\n"},
		"no such level": {[]string{dir, dir, "9", "x", "false", "1000", "true"}, `sandbox: no such level: "x"` + "\n"},
		"not a bool":    {[]string{dir, dir, "9", "landlock", "x", "1000", "true"}, `sandbox: network: strconv.ParseBool: parsing "x": invalid syntax` + "\n"},
		"no size":       {[]string{dir, dir, "9", "landlock", "false", "-1", "true"}, `sandbox: size of a file: strconv.ParseUint: parsing "-1": invalid syntax` + "\n"},
		"no host":       {[]string{dir, dir, "9", "landlock", "false", "1000", "true"}, "sandbox: there is no connection to the host\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
			cmd.Args = append([]string{"agenthost-sandbox"}, tt.args...)
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 126 || string(out) != tt.want {
				t.Errorf("got %q, %v, want %q and exit status 126", out, err, tt.want)
			}
		})
	}
}

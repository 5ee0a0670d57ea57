package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agenthost/internal/cli"

	"github.com/google/go-cmp/cmp"
)

// nearlyFull is a folder with room for so many pages of 4 KB beside the files, by name and text, and
// the folders that are in it.
func nearlyFull(t *testing.T, pages int, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		write(name, text)
	}
	used := syscall.Statfs_t{}
	if err := syscall.Statfs(dir, &used); err != nil {
		t.Fatal(err)
	}
	write("else", strings.Repeat("x", 4096*(int(used.Bavail)-pages)))
	return dir
}

// wantFiles checks which files a folder has in the end.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && name != "else" {
			var data []byte
			data, err = os.ReadFile(filepath.Join(dir, name))
			got[name] = string(data)
		}
		return err
	})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; (-want +got)\n%s", err, diff)
	}
}

// A configuration that there was no room for is not found by the next try; one that it was to
// replace stays, with its secrets, wherever the disk is full.
func TestInitOnAFullDisk(t *testing.T) {
	for pages := range 4 { // the schema takes more
		t.Run(fmt.Sprint("new, ", pages), func(t *testing.T) {
			t.Chdir(nearlyFull(t, pages, nil))
			_, stderr := call(t, cli.CodeFailed, "", "init", "--model", "echo")
			if strings.Count(stderr, cli.DefaultConfig)+strings.Count(stderr, schemaFile) != 1 || !strings.Contains(stderr, "no space left on device") {
				t.Errorf("got %s", stderr)
			}
			wantFiles(t, ".", map[string]string{})
		})
		t.Run(fmt.Sprint("replaced, ", pages), func(t *testing.T) {
			files := map[string]string{cli.DefaultConfig: "mine: true\n", schemaFile: "{}\n", "secrets/irc-main-password": "former"}
			t.Chdir(nearlyFull(t, pages, files))
			call(t, cli.CodeFailed, "", "init", "--force", "--no-check", "--model", "echo", "--channel", "irc",
				"--set", "irc.server=irc.test:6697", "--set", "irc.nick=ana", "--set", "irc.password=new")
			wantFiles(t, ".", files)
		})
	}
}

// A context that there is no room for leaves the one before.
func TestNATSContextOnAFullDisk(t *testing.T) {
	files := map[string]string{"nats/context/agenthost.json": "{}\n", "nats/context.txt": "agenthost"}
	dir := nearlyFull(t, 0, files)
	t.Setenv("XDG_CONFIG_HOME", dir)
	_, stderr := call(t, cli.CodeFailed, "", "nats-context", "--force", "-s", "nats://127.0.0.1:1")
	if !strings.Contains(stderr, "no space left on device") {
		t.Errorf("got %s", stderr)
	}
	wantFiles(t, dir, files)
}

// What a file has no room for is not done.
func TestResultIntoAFullFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{"config show", "config show --json", "nats-permissions --for cli", "version", "schema", "heartbeat --dry-run", "doctor --offline", "--help"} {
		t.Run(line, func(t *testing.T) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip(err)
			}
			defer full.Close()
			var stderr bytes.Buffer
			code := execute(t.Context(), strings.Fields(line), strings.NewReader(""), full, &stderr)
			if code != cli.CodeFailed || strings.Count(stderr.String(), "no space left on device") != 1 {
				t.Errorf("exit code %d, %s", code, stderr.String())
			}
		})
	}
}

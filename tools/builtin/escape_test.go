//go:build unix

package builtin_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agenthost/tools/builtin"
)

// outside makes a workspace with many ways out of it, and returns the file that
// nobody may reach.
func outside(t *testing.T, b bench) string {
	t.Helper()
	secret := filepath.Join(filepath.Dir(b.dir), "secret")
	b.put(t, "in/side.txt", "fine")
	links := map[string]string{
		"absolute":       secret,
		"up":             "../secret",
		"folder":         filepath.Dir(secret),
		"parent":         "..",
		"in/upup":        "../../secret",
		"chain":          "in/upup",
		"dangling":       "../new",
		"loop":           "loop",
		"itself":         b.dir,
		"etc":            "/etc",
		"proc":           "/proc/self",
		"in/beyond":      "../in/../../secret",
		"inside-and-out": "in/../..",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestPathsThatLeadOut(t *testing.T) {
	b := open(t, builtin.Options{})
	secret := outside(t, b)
	paths := []string{
		"..", "../secret", "../../etc/passwd", "./../secret", "in/../../secret", "in/../in/../../secret",
		"/etc/passwd", "//etc/passwd", secret, b.dir + "/in/side.txt", "/proc/self/environ", "/",
		"absolute", "up", "chain", "in/upup", "in/beyond", "dangling", "loop",
		"folder/secret", "parent/secret", "in/../parent/secret", "folder/ana/in/side.txt",
		"inside-and-out/secret", "itself/in/side.txt", "etc/passwd", "proc/environ", "proc/root/etc/passwd",
		"in/side.txt/../../../secret", "\x00", "in/side.txt\x00/../../secret", "",
	}
	tools := map[string]func(path string) string{
		"read_file":    func(p string) string { return quoted(t, map[string]string{"path": p}) },
		"write_file":   func(p string) string { return quoted(t, map[string]string{"path": p, "text": "taken"}) },
		"edit_file":    func(p string) string { return quoted(t, map[string]string{"path": p, "old": "secret", "new": "taken"}) },
		"list_files":   func(p string) string { return quoted(t, map[string]string{"path": p}) },
		"search_files": func(p string) string { return quoted(t, map[string]string{"path": p, "pattern": "secret"}) },
	}
	for name, args := range tools {
		for _, path := range paths {
			t.Run(fmt.Sprintf("%s %q", name, path), func(t *testing.T) {
				result, err := b.call(t, name, args(path))
				if path == "" && err == nil { // means the workspace to some
					return
				}
				if err == nil {
					t.Fatalf("got %q, want it refused", result.Text)
				}
				if strings.Contains(err.Error(), "taken") {
					t.Errorf("error shows what was to be written: %v", err)
				}
			})
		}
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("the file outside: got %q, %v", got, err)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(secret), "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made through a link: %v", err)
	}
}

func TestWalksDoNotFollowLinks(t *testing.T) {
	b := open(t, builtin.Options{})
	outside(t, b)
	if got, want := b.text(t, "list_files", `{"glob":"**/s*"}`), "in/side.txt 4\n"; got != want {
		t.Errorf("list: got %q, want %q", got, want)
	}
	if got, want := b.text(t, "search_files", `{"pattern":"secret|fine|root:"}`), "in/side.txt:1: fine\n"; got != want {
		t.Errorf("search: got %q, want %q", got, want)
	}
}

// swap makes dir a folder and a link to what is outside in turns, and puts in
// order what the writers did to it meanwhile.
func swap(root string, stop <-chan struct{}) (times int) {
	dir, away, link := filepath.Join(root, "dir"), filepath.Join(root, "away"), filepath.Join(root, "link")
	for {
		select {
		case <-stop:
			return times
		default:
		}
		err := errors.Join(os.Symlink("..", link), os.Rename(dir, away), os.Rename(link, dir))
		if err == nil {
			times++
		}
		os.Remove(link)
		os.RemoveAll(dir)
		os.Rename(away, dir)
	}
}

func TestWhatIsNoFile(t *testing.T) {
	b := open(t, builtin.Options{})
	b.put(t, "dir/f", "")
	if err := syscall.Mkfifo(filepath.Join(b.dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(b.dir) // the path of a socket is short
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	tests := map[string]struct{ path, want string }{
		"folder": {"dir", "not a regular file"},
		"fifo":   {"fifo", "not a regular file"},
		"socket": {"socket", "no such device"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b.fails(t, "read_file", fmt.Sprintf(`{"path":%q}`, tt.path), tt.want)
			b.fails(t, "edit_file", fmt.Sprintf(`{"path":%q,"old":"a","new":"b"}`, tt.path), tt.want)
			b.fails(t, "write_file", fmt.Sprintf(`{"path":%q,"text":""}`, tt.path), "not a regular file")
			if name != "folder" {
				b.fails(t, "search_files", fmt.Sprintf(`{"path":%q,"pattern":"x"}`, tt.path), tt.want)
				b.fails(t, "list_files", fmt.Sprintf(`{"path":%q}`, tt.path), "")
			}
		})
	}
	if got, want := b.text(t, "list_files", `{}`), "dir/\nfifo\nsocket\n"; got != want {
		t.Errorf("list: got %q, want %q", got, want)
	}
}

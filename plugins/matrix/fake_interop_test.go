//go:build interop

package matrix_test

import (
	"os"
	"path/filepath"
	"testing"

	"agenthost/plugins/matrix/matrixtest"
)

// What the fake says counts because a client of others works on it.
func TestInteropFakeProvedByNio(t *testing.T) {
	s := matrixtest.New(t)
	s.AddUser("ana", "a")
	s.AddUser("ben", "b")
	talk(t, newPerson(t, s.URL, "ana", "a"), newPerson(t, s.URL, "ben", "b"))
}

func TestInteropSynapseByNio(t *testing.T) {
	s := startSynapse(t, "")
	ana, ben := s.register("ana", "a", false), s.register("ben", "b", false)
	talk(t, newPerson(t, s.url, ana, "a"), newPerson(t, s.url, ben, "b"))
}

// talk is the conversation that has to be the same on both.
func talk(t *testing.T, ana, ben *person) {
	room := ana.room(true, ben.id)
	ana.sawJoin(room, ben.id)
	hello := ana.say(room, "hello")
	ben.sees("hello", room, func(e event) bool { return e.ID == hello && e.Content.Body == "hello" && e.Sender == ana.id })

	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := ben.order("upload", map[string]any{"path": path, "mime": "text/plain", "name": "a.txt"}).URL
	ben.send(room, map[string]any{"msgtype": "m.file", "body": "a.txt", "url": url})
	file := ana.sees("a file", room, func(e event) bool { return e.Content.Type == "m.file" })
	ana.order("download", map[string]any{"url": file.Content.URL, "path": path + ".out"})
	if got, err := os.ReadFile(path + ".out"); err != nil || string(got) != "content" {
		t.Errorf("the file is %q, %v", got, err)
	}
}

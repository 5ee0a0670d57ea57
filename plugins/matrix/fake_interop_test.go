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
	talk(t, matrixtest.NewPerson(t, s.URL, "ana", "a"), matrixtest.NewPerson(t, s.URL, "ben", "b"))
}

func TestInteropSynapseByNio(t *testing.T) {
	s := matrixtest.StartSynapse(t, "")
	ana, ben := s.Register("ana", "a", false), s.Register("ben", "b", false)
	talk(t, matrixtest.NewPerson(t, s.URL, ana, "a"), matrixtest.NewPerson(t, s.URL, ben, "b"))
}

// talk is the conversation that has to be the same on both.
func talk(t *testing.T, ana, ben *matrixtest.Person) {
	room := ana.Room(true, ben.ID)
	ana.SawJoin(room, ben.ID)
	hello := ana.Say(room, "hello")
	ben.Sees("hello", room, func(e matrixtest.Seen) bool { return e.ID == hello && e.Content.Body == "hello" && e.Sender == ana.ID })

	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := ben.Order("upload", map[string]any{"path": path, "mime": "text/plain", "name": "a.txt"}).URL
	ben.Send(room, map[string]any{"msgtype": "m.file", "body": "a.txt", "url": url})
	file := ana.Sees("a file", room, func(e matrixtest.Seen) bool { return e.Content.Type == "m.file" })
	ana.Order("download", map[string]any{"url": file.Content.URL, "path": path + ".out"})
	if got, err := os.ReadFile(path + ".out"); err != nil || string(got) != "content" {
		t.Errorf("the file is %q, %v", got, err)
	}
}

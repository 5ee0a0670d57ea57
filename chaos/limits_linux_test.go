//go:build long

package chaos_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/internal/freeport"

	"golang.org/x/sys/unix"
)

// bound lowers a soft limit of a process until the returned function is called.
func (p *process) bound(resource int, most uint64) (lift func()) {
	p.t.Helper()
	pid := int(p.pid.Load())
	var before unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &before); err != nil {
		p.t.Fatal(err)
	}
	set := func(r unix.Rlimit) {
		p.t.Helper()
		if err := unix.Prlimit(pid, resource, &r, nil); err != nil {
			p.t.Fatal(err)
		}
	}
	set(unix.Rlimit{Cur: most, Max: before.Max})
	return func() { set(before) }
}

// withHTTP has the hosts of a configuration file serve /readyz, and returns
// what it says, empty when it says nothing.
func withHTTP(t testing.TB, file string) (readyz func() string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	address := freeport.Address(t)
	writeFile(t, file, strings.Replace(string(text), `http: {listen: ""}`, `http: {listen: "`+address+`"}`, 1))
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second} // it keeps its connection
	t.Cleanup(client.CloseIdleConnections)
	return func() string {
		resp, err := client.Get("http://" + address + "/readyz")
		if err != nil {
			return ""
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return string(body)
	}
}

func awaitReady(t testing.TB, readyz func() string) {
	t.Helper()
	await(t, "a host that is ready", func() bool { return strings.Contains(readyz(), `"status":"ready"`) })
}

func awaitReason(t testing.TB, readyz func() string, reason string) {
	t.Helper()
	await(t, "the reason "+reason, func() bool {
		body := readyz()
		return strings.Contains(body, `"status":"not ready"`) && strings.Contains(body, reason)
	})
}

// A disk is a small one that only the test uses.
type disk struct {
	t    testing.TB
	path string
}

// newDisk mounts a disk, for which the test has to be root.
func newDisk(t testing.TB, path string) *disk {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, "size=32m"); err != nil {
		t.Fatalf("mount a small disk: %v; run this as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return &disk{t, path}
}

func (d *disk) filler() string { return filepath.Join(d.path, "filler") }

// fill leaves no byte free.
func (d *disk) fill() {
	d.t.Helper()
	f, err := os.Create(d.filler())
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
}

func (d *disk) free() {
	d.t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.t.Fatal(err)
	}
}

// The disk of a host is filled and emptied under load; the host is killed while
// it is full, and started both with and without room.
func TestDiskFull(t *testing.T) {
	if !long { // it mounts disks
		return
	}
	for name, kill := range map[string]bool{"lives": false, "is killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := embedded(t, "")
			d := newDisk(t, filepath.Join(filepath.Dir(w.config), "data"))
			readyz := withHTTP(t, w.config)
			h := newHost(t, w.config, "a")
			h.start()
			awaitReady(t, readyz)
			said := w.begin(load(10, 60, time.Minute)...)
			for range 3 {
				d.fill()
				awaitReason(t, readyz, "no space left on device; free space there")
				if kill {
					h.kill()
					h.start()
					awaitReason(t, readyz, "no space left on device; free space there")
				}
				d.free()
				awaitReady(t, readyz)
			}
			<-said
			w.audit()
		})
	}
}

// A first start on a full disk waits for space.
func TestStartOnAFullDisk(t *testing.T) {
	if !long { // it mounts a disk
		return
	}
	t.Parallel()
	w := embedded(t, "")
	d := newDisk(t, filepath.Join(filepath.Dir(w.config), "data"))
	d.fill()
	readyz := withHTTP(t, w.config)
	h := newHost(t, w.config, "a")
	h.start()
	awaitReason(t, readyz, "free space there")
	d.free()
	awaitReady(t, readyz)
	w.hold(load(10, 2, time.Second)...)
	w.audit()
}

// An external NATS whose disk is full is named, with what to do, and the host
// goes on when it is back.
func TestDiskOfNATSFull(t *testing.T) {
	if !long { // it mounts a disk
		return
	}
	t.Parallel()
	w := external(t, "")
	readyz := withHTTP(t, w.config)
	d := newDisk(t, w.nats.args[3]) // its store
	w.nats.kill()
	w.nats.start()
	h := newHost(t, w.config, "a")
	h.start()
	awaitReady(t, readyz)
	w.hold(load(10, 2, time.Second)...)
	said := w.begin(talk{channel: chat, people: 5, each: 40, every: time.Second, from: 10})
	d.fill()
	awaitReason(t, readyz, "free space there and restart that server")
	await(t, "the log", func() bool { return h.logged("publish: nothing is stored") })
	d.free()
	w.nats.kill()
	w.nats.start()
	awaitReady(t, readyz)
	<-said
	w.audit()
}

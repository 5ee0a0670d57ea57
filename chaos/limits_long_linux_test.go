//go:build long

package chaos_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A host whose files cannot be written, as on a full disk, says so and goes on
// by itself when they can.
func TestStoreCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := embedded(t, "")
	readyz := withHTTP(t, w.config)
	h := newHost(t, w.config, "a")
	h.start()
	awaitReady(t, readyz)
	said := w.begin(load(10, pick(20, 60), pick(6*time.Second, time.Minute))...)
	for times := pick(1, 5); times > 0; times-- {
		lift := h.bound(unix.RLIMIT_FSIZE, 0)
		awaitReason(t, readyz, "cannot be written")
		lift()
		awaitReady(t, readyz)
	}
	<-said
	w.audit()
}

// A host without descriptors does not blame its model: every message is
// answered once there are some, and meanwhile the host is not ready.
func TestDescriptorsUsedUp(t *testing.T) {
	t.Parallel()
	m := startModel(t, 0)
	w := external(t, m.url)
	readyz := withHTTP(t, w.config)
	h := newHost(t, w.config, "a")
	h.start()
	awaitReady(t, readyz)
	lift := h.bound(unix.RLIMIT_NOFILE, 3)
	w.hold(talk{channel: chat, people: 5, each: 1})
	awaitReason(t, readyz, "no file descriptors left")
	await(t, "the log", func() bool { return h.logged("ulimit -n") })
	lift()
	w.audit()
	awaitReady(t, readyz)
}

//go:build unix

package hardening

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// data looks at who can read what the host stores.
func (r *review) data(dir string) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() { // the host makes it, for its user alone
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		r.advise(dir, "give it to the user of the host: chown -R", "it belongs to another user (%d), who can read all that was said", st.Uid)
	}
	if exposed(path, info.Mode()) {
		r.advise(dir, "chmod 700 "+dir, "other users of this machine can look into it (mode %04o)", info.Mode().Perm())
	}
}

// exposed reports whether the mode of a folder, and of all above it, lets others in.
func exposed(path string, mode fs.FileMode) bool {
	if mode.Perm()&0o077 == 0 {
		return false
	}
	for path != filepath.Dir(path) {
		path = filepath.Dir(path)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o011 == 0 {
			return false
		}
	}
	return true
}

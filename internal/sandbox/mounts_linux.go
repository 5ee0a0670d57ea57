package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	harmless = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnly = harmless | unix.MOUNT_ATTR_RDONLY
	device   = readOnly &^ unix.MOUNT_ATTR_NODEV // it can be written to, but not changed
	dirMode  = 0o755
)

// A tree is the root folder that a command gets: an empty file system with the
// readable paths, the workspace and the temporary folder at their places.
type tree struct {
	root  string   // where it is made
	shown []string // the paths of the host that it has
}

// enterTree makes a tree in the temporary folder of s and goes there for good.
func enterTree(s spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	temp, err := unix.Open(s.temp, unix.O_PATH|unix.O_CLOEXEC, 0) // the mount below hides its name
	if err != nil {
		return &os.PathError{Op: "open", Path: s.temp, Err: err}
	}
	defer unix.Close(temp)
	t := tree{root: s.temp, shown: readablePaths(s.network)}
	if err := t.fileSystem("", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return err
	}
	for _, step := range []func() error{
		t.show, t.devices, t.processes,
		func() error { return t.bind(s.dir, s.dir, harmless) },
		func() error { return t.uncover(temp, s.temp) },
		t.enter,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (t tree) show() error {
	for _, path := range t.shown {
		if err := t.add(path); err != nil {
			return err
		}
	}
	return nil
}

// add shows a path of the host, as a link where it is one to what is shown.
func (t tree) add(path string) error {
	info, err := os.Lstat(path)
	switch {
	case absent(err):
		return nil
	case err != nil:
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 && t.follows(path) {
		to, err := os.Readlink(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(t.at(filepath.Dir(path)), dirMode); err != nil {
			return err
		}
		return os.Symlink(to, t.at(path))
	}
	attributes := uint64(readOnly)
	if strings.HasPrefix(path, "/dev/") {
		attributes = device
	}
	if err := t.bind(path, path, attributes); err != nil && !absent(err) {
		return err
	}
	return nil
}

// follows reports whether a link leads to something that is shown.
func (t tree) follows(link string) bool {
	to, err := filepath.EvalSymlinks(link)
	return err == nil && slices.ContainsFunc(t.shown, func(path string) bool {
		return path != link && (to == path || strings.HasPrefix(to, path+"/"))
	})
}

func (t tree) at(path string) string { return filepath.Join(t.root, path) }

// bind has a file or folder of the host appear at path.
func (t tree) bind(source, path string, attributes uint64) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	target := t.at(path)
	if err := place(target, info.IsDir()); err != nil {
		return err
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return &os.PathError{Op: "mount", Path: path, Err: err}
	}
	return limitMount(target, path, attributes)
}

// uncover has the folder that the tree covers appear at path, without the tree.
func (t tree) uncover(folder int, path string) error {
	target := t.at(path)
	if err := place(target, true); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", folder), target, "", unix.MS_BIND, ""); err != nil {
		return &os.PathError{Op: "mount", Path: path, Err: err}
	}
	return limitMount(target, path, harmless)
}

func limitMount(target, path string, attributes uint64) error {
	attr := unix.MountAttr{Attr_set: attributes}
	if err := unix.MountSetattr(unix.AT_FDCWD, target, unix.AT_RECURSIVE, &attr); err != nil {
		return &os.PathError{Op: "mount", Path: path, Err: err}
	}
	return nil
}

// place makes what a mount needs below it.
func place(path string, dir bool) error {
	if dir {
		return os.MkdirAll(path, dirMode)
	}
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func (t tree) fileSystem(path, kind string, flags uintptr, options string) error {
	if err := os.MkdirAll(t.at(path), dirMode); err != nil {
		return err
	}
	if err := unix.Mount(kind, t.at(path), kind, flags, options); err != nil {
		return &os.PathError{Op: "mount " + kind, Path: "/" + path, Err: err}
	}
	return nil
}

func (t tree) devices() error {
	for _, path := range writableDevices() {
		if err := t.bind(path, path, device); err != nil && !absent(err) {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink("/proc/self/"+to, t.at("dev/"+name)); err != nil {
			return err
		}
	}
	return t.fileSystem("dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=512m")
}

// processes shows those of the command, and little of the machine.
func (t tree) processes() error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY
	if err := t.fileSystem("proc", "proc", flags, ""); err != nil {
		return err
	}
	for _, name := range hiddenProc {
		if _, err := os.Lstat(t.at("proc/" + name)); err != nil {
			continue
		}
		if err := unix.Mount(t.at("dev/null"), t.at("proc/"+name), "", unix.MS_BIND, ""); err != nil {
			return &os.PathError{Op: "hide", Path: "/proc/" + name, Err: err}
		}
	}
	return nil
}

// enter makes the tree the root of this process, and lets go of the host's.
func (t tree) enter() error {
	if err := unix.MountSetattr(unix.AT_FDCWD, t.root, 0, &unix.MountAttr{Attr_set: readOnly}); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	if err := unix.Chdir(t.root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the old root comes to lie on top of the new one
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	return ownInput()
}

// ownInput opens the standard input again: it is a file of the host, which root
// could change through it.
func ownInput() error {
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/dev/null", Err: err}
	}
	defer unix.Close(null)
	return unix.Dup3(null, 0, 0)
}

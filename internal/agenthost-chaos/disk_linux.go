package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// A disk is a file system in memory that can be made full. It takes as much memory as is
// stored in it.
type disk struct{ dir string }

const roomOfDisk = 4 << 30

// mountDisk makes a disk of a folder; only root may.
func mountDisk(dir string) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := syscall.Mount("agenthost-chaos", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", roomOfDisk)); err != nil {
		return nil, fmt.Errorf("mount a tmpfs at %s: %w", dir, err)
	}
	return &disk{dir}, nil
}

// fill takes all room that is left away. What is written meanwhile counts: a size below
// what is in use is refused.
func (d *disk) fill() (err error) {
	for range 100 {
		var now syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &now); err != nil {
			return err
		}
		err = d.resize((now.Blocks - now.Bfree) * uint64(now.Bsize))
		if !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return err
}

// free gives the room back.
func (d *disk) free() error { return d.resize(roomOfDisk) }

func (d *disk) resize(size uint64) error {
	return syscall.Mount("", d.dir, "", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size))
}

// unmount forgets what is on the disk.
func (d *disk) unmount() error { return syscall.Unmount(d.dir, syscall.MNT_DETACH) }

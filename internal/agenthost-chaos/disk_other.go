//go:build unix && !linux

package main

import "errors"

// A disk that can be made full is known on Linux only.
type disk struct{}

func mountDisk(string) (*disk, error) { return nil, errors.New("a tmpfs is mounted on Linux only") }

func (*disk) fill() error    { return nil }
func (*disk) free() error    { return nil }
func (*disk) unmount() error { return nil }

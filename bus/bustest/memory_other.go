//go:build !linux

package bustest

func findMemory() string { return "" }

//go:build long

package main

import "testing"

func TestLongScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script/long")
}

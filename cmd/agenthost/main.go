// Command agenthost runs a fleet of LLM agents on NATS, and talks to one that
// runs.
//
// It exits with 0 when done, 1 when what was asked for failed, and 2 when the
// question itself was wrong. Results go to standard output, all else to
// standard error.
package main

import (
	"context"
	"os"

	"agenthost/host"
)

func main() {
	host.Begin()
	ctx, stop := untilSignal(context.Background(), os.Exit)
	code := execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

//go:build unix

// Package natsnode is a nats-server in a process of a program that is another one.
package natsnode

import (
	"flag"

	"github.com/nats-io/nats-server/v2/server"
)

// Serve is a nats-server until a signal ends it; it understands the same
// arguments.
func Serve(args []string) error {
	none := func() {}
	opts, err := server.ConfigureOptions(flag.NewFlagSet("nats-server", flag.ContinueOnError), args, none, none, none)
	if err != nil {
		return err
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	ns.ConfigureLogger()
	if err := server.Run(ns); err != nil {
		return err
	}
	ns.WaitForShutdown()
	return nil
}

package main

import (
	"context"
	"strings"

	"agenthost/bus"
	"agenthost/client"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"
)

// eachKept calls do with what a bucket has, and with each entry that comes,
// until do is done with it.
func eachKept(ts *testscript.TestScript, bucket string, do func(jetstream.JetStream) bool) {
	nc := dial(ts)
	defer nc.Close()
	js, err := jetstream.New(nc)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	kv, err := js.KeyValue(ctx, bucket)
	ts.Check(err)
	watch, err := kv.WatchAll(ctx)
	ts.Check(err)
	defer func() { _ = watch.Stop() }()
	for !do(js) {
		select {
		case <-watch.Updates():
		case <-ctx.Done():
			ts.Fatalf("%s does not have it", bucket)
		}
	}
}

// waiting waits until a call of a session waits for a person, or for what is
// named: waiting SESSION [KIND]. SESSION may be the beginning of its key; $ID is
// the id of the call.
func waiting(ts *testscript.TestScript, _ bool, args []string) {
	eachKept(ts, bus.WaitingBucket, func(js jetstream.JetStream) bool {
		list, err := client.New(js.Conn(), js, client.Options{}).Waiting(context.Background())
		ts.Check(err)
		for _, w := range list {
			fits := len(args) == 1 && w.Kind != client.ForDelegate || len(args) == 2 && w.Kind == args[1]
			if fits && strings.HasPrefix(w.Session, args[0]) {
				ts.Setenv("ID", w.ID)
				return true
			}
		}
		return false
	})
}

// allowed waits until something is allowed for longer than once; $ALLOWED is
// its id.
func allowed(ts *testscript.TestScript, _ bool, _ []string) {
	eachKept(ts, bus.AllowedBucket, func(js jetstream.JetStream) bool {
		list, err := client.New(js.Conn(), js, client.Options{}).Allowed(context.Background())
		ts.Check(err)
		if len(list) == 0 {
			return false
		}
		ts.Setenv("ALLOWED", list[0].ID)
		return true
	})
}

// askedPairing waits until a stranger has asked for a pairing: asked-pairing FROM. $CODE is
// the code.
func askedPairing(ts *testscript.TestScript, _ bool, args []string) {
	eachKept(ts, bus.PairingsBucket, func(js jetstream.JetStream) bool {
		ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
		defer cancel()
		list, err := client.New(js.Conn(), js, client.Options{}).Pairings(ctx)
		ts.Check(err)
		for _, p := range list {
			if p.From == args[0] && p.Code != "" {
				ts.Setenv("CODE", p.Code)
				return true
			}
		}
		return false
	})
}

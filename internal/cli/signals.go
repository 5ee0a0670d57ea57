package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// ErrInterrupted is why the context of UntilSignal has ended.
var ErrInterrupted = errors.New("interrupted")

// UntilSignal is a context that the first SIGINT or SIGTERM ends, so that what
// is under way may end well. A second one calls exit at once.
func UntilSignal(parent context.Context, exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel(ErrInterrupted)
		case <-done:
			return
		}
		select {
		case <-signals:
			exit(CodeFailed)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// OnHangup calls do for each SIGHUP, which would otherwise end the host, until
// stop is called. Those that come meanwhile are one.
func OnHangup(do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range hangups {
			do(ctx)
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		cancel()
		<-done
	}
}

package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// clusterSize is how many servers a cluster has.
const clusterSize = 3

// startServers starts the NATS that hosts share: none, where it is in the host.
func (o Options) startServers(ctx context.Context, dir string) (url string, stop func(), err error) {
	var list []*process
	stop = func() {
		for _, p := range list {
			p.stop()
		}
	}
	n := 0
	if o.ownNATS() {
		n = o.replicas()
	}
	routes, err := freeAddresses(ctx, n)
	if err != nil {
		return "", nil, fmt.Errorf("start NATS: %w", err)
	}
	var urls []string
	for i := range n {
		p, err := o.startNATS(ctx, filepath.Join(dir, fmt.Sprint("nats-", i)), i, routes)
		if err != nil {
			stop()
			return "", nil, err
		}
		list, urls = append(list, p), append(urls, p.url)
	}
	return strings.Join(urls, ","), stop, nil
}

// startNATS starts a NATS server in a process of its own.
func (o Options) startNATS(ctx context.Context, dir string, i int, routes []string) (*process, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a store: %w", err)
	}
	text := fmt.Sprintf("listen: \"127.0.0.1:-1\"\nserver_name: nats-%d\njetstream: {store_dir: %q, sync_interval: %s}\n", i, filepath.Join(dir, "data"), o.Sync)
	if len(routes) > 1 {
		text += fmt.Sprintf("cluster: {name: bench, listen: %q, routes: [\"nats://%s\"]}\n", routes[i], strings.Join(routes, "\", \"nats://"))
	}
	file := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write a configuration of NATS: %w", err)
	}
	program, args := o.NATSServer, []string{"-c", file}
	if program == "" {
		program, args = o.Program, []string{"bench", "nats", file}
	}
	url := ""
	return startProcess(ctx, func(line string) (string, bool) {
		if _, address, ok := strings.Cut(line, "Listening for client connections on "); ok {
			url = "nats://" + address
		}
		return url, strings.HasSuffix(line, "Server is ready")
	}, nil, program, args...)
}

// NATS is a nats-server with the configuration in file, as that program is, until stdin
// or ctx ends.
func NATS(ctx context.Context, file string, stdin io.Reader) error {
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	opts.NoSigs = true
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	srv.ConfigureLogger()
	srv.Start()
	ended := make(chan struct{})
	go func() { // ends with stdin, or with this process
		_, _ = io.Copy(io.Discard, stdin)
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	srv.Shutdown()
	srv.WaitForShutdown()
	return nil
}

// freeAddresses are addresses of this machine on which nothing listens.
func freeAddresses(ctx context.Context, n int) (list []string, err error) {
	for range n {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // once all are known
		list = append(list, l.Addr().String())
	}
	return list, nil
}

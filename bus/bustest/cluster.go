package bustest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe" // for what has no name outside the server

	"agenthost/internal/freeport"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Cluster is three servers with JetStream in this process. It is for one
// goroutine.
type Cluster struct {
	t       testing.TB
	js      jetstream.JetStream
	options []server.Options
	servers []*server.Server
}

const clusterWithin = 60 * time.Second

// StartCluster starts a Cluster, which can be used when it returns. It is
// stopped when the test ends.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	c := StartFreshCluster(t)
	c.await("a cluster that can make a stream", func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // without a leader there is no answer
		defer cancel()
		_, err := c.js.CreateStream(ctx, jetstream.StreamConfig{Name: "first", Replicas: 3})
		return err == nil
	})
	if err := c.js.DeleteStream(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	return c
}

// StartFreshCluster starts a Cluster that need not have a leader yet.
func StartFreshCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	routes := freePorts(t, 3)
	for i, own := range routes {
		c.start(fmt.Sprintf("nats-%d", i), own, routes)
	}
	nc, err := nats.Connect(c.URL(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if c.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.settle)
	return c
}

// settle waits until every server has its copies of all streams: one that is
// stopped while it makes a copy never stops the store of that.
func (c *Cluster) settle() {
	if c.t.Failed() || slices.Contains(c.servers, nil) {
		return
	}
	var lags []string
	defer func() {
		if c.t.Failed() {
			c.t.Log(strings.Join(lags, "\n"))
		}
	}()
	c.await("all copies to be there", func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		lags = c.lags(ctx)
		return len(lags) == 0
	})
}

// lags says which copies are not there yet.
func (c *Cluster) lags(ctx context.Context) (lags []string) {
	if !slices.ContainsFunc(c.servers, leadsAll) {
		lags = append(lags, "streams to make or to delete")
	}
	list := c.js.ListStreams(ctx)
	for info := range list.Info() {
		lags = append(lags, lag("stream "+info.Config.Name, info.Cluster)...)
		s, err := c.js.Stream(ctx, info.Config.Name)
		if err != nil {
			lags = append(lags, err.Error())
			continue
		}
		consumers := s.ListConsumers(ctx)
		for info := range consumers.Info() {
			lags = append(lags, lag("consumer "+info.Name+" of "+info.Stream, info.Cluster)...)
		}
		if err := consumers.Err(); err != nil {
			lags = append(lags, err.Error())
		}
	}
	if err := list.Err(); err != nil {
		lags = append(lags, err.Error())
	}
	return lags
}

// leadsAll reports whether srv is the leader of the cluster, and no other server
// has streams to make or to delete yet.
func leadsAll(srv *server.Server) bool {
	z, err := srv.Jsz(nil)
	return err == nil && srv.JetStreamIsLeader() && z.Meta != nil &&
		!slices.ContainsFunc(z.Meta.Replicas, func(p *server.PeerInfo) bool { return !p.Current || p.Offline || p.Lag > 0 })
}

// lag says which copies lag behind.
func lag(what string, cluster *jetstream.ClusterInfo) (lags []string) {
	if cluster == nil {
		return nil
	}
	if cluster.Leader == "" {
		lags = append(lags, what+" has no leader")
	}
	for _, p := range cluster.Replicas {
		if !p.Current || p.Offline {
			lags = append(lags, fmt.Sprintf("%s, led by %s: %+v", what, cluster.Leader, *p))
		}
	}
	return lags
}

func (c *Cluster) start(name string, own *url.URL, routes []*url.URL) {
	c.t.Helper()
	c.options = append(c.options, server.Options{
		ServerName: name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: Dir(c.t), DisableJetStreamBanner: true,
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: portOf(own)}, Routes: routes,
	})
	c.servers = append(c.servers, nil)
	i := len(c.servers) - 1
	c.Start(i)
	c.t.Cleanup(func() { c.Stop(i) })
}

// URL is that of a server: 0, 1 or 2.
func (c *Cluster) URL(i int) string { return c.servers[i].ClientURL() }

// Lag keeps what is stored in streams from now on from one copy of each, and has
// only that copy answer direct gets, until catchUp is called.
func (c *Cluster) Lag(streams ...string) (catchUp func()) {
	c.t.Helper()
	var undo []func()
	for _, stream := range streams {
		undo = append(undo, c.lag(stream))
	}
	return sync.OnceFunc(func() {
		for _, do := range undo {
			do()
		}
	})
}

func (c *Cluster) lag(stream string) (catchUp func()) {
	c.t.Helper()
	c.await("all copies of "+stream+" to answer", func(ctx context.Context) bool {
		for _, srv := range c.servers {
			if !c.complete(ctx, srv, stream) || !answers(srv, stream) {
				return false
			}
		}
		return true
	})
	var slow server.RaftNode
	var mute []unsafe.Pointer
	for _, srv := range c.servers {
		copied, err := lookupStream(srv.GlobalAccount(), stream)
		if err != nil {
			c.t.Fatal(err)
		}
		if node := raftNode(copied); slow == nil && node.PauseApply() == nil { // the leader refuses
			slow = node
			continue
		}
		mute = append(mute, copied)
		underLock(copied, unsubscribeToDirect)
	}
	return func() {
		slow.ResumeApply()
		for _, copied := range mute {
			underLock(copied, func(p unsafe.Pointer) { _ = subscribeToDirect(p) }) // it fails for a closed one
		}
	}
}

// complete reports whether the copy of a server is as long as the stream.
func (c *Cluster) complete(ctx context.Context, srv *server.Server, stream string) bool {
	s, err := c.js.Stream(ctx, stream)
	if err != nil {
		return false
	}
	z, err := srv.Jsz(&server.JSzOptions{Streams: true, Accounts: true})
	if err != nil {
		return false
	}
	for _, account := range z.AccountDetails {
		for _, have := range account.Streams {
			if have.Name == stream {
				return have.State.LastSeq == s.CachedInfo().State.LastSeq
			}
		}
	}
	return false
}

// answers reports whether a server answers direct gets from its copy of a
// stream, as it does some time after it became a follower.
func answers(srv *server.Server, stream string) bool {
	const all = 1 << 20
	subs, err := srv.Subsz(&server.SubszOptions{Subscriptions: true, Limit: all, Account: server.DEFAULT_GLOBAL_ACCOUNT})
	last := fmt.Sprintf(server.JSDirectGetLastBySubjectT, stream, ">") // the later of two
	return err == nil && slices.ContainsFunc(subs.Subs, func(sub server.SubDetail) bool { return sub.Subject == last })
}

// await waits for a condition that the servers tell of nowhere.
func (c *Cluster) await(what string, is func(ctx context.Context) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), clusterWithin) // also when the test has ended
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.t.Fatalf("waited %s for %s", clusterWithin, what)
		}
	}
}

// underLock calls do with a copy of a stream whose lock, its first field, is held.
func underLock(copied unsafe.Pointer, do func(unsafe.Pointer)) {
	mu := (*sync.RWMutex)(copied)
	mu.Lock()
	defer mu.Unlock()
	do(copied)
}

// What the server does not show: it rests on internals of NATS, which are named
// here; TestClusterLags fails when a new release no longer has them.

//go:linkname lookupStream github.com/nats-io/nats-server/v2/server.(*Account).lookupStream
func lookupStream(account *server.Account, name string) (unsafe.Pointer, error)

//go:linkname raftNode github.com/nats-io/nats-server/v2/server.(*stream).raftNode
func raftNode(copied unsafe.Pointer) server.RaftNode

//go:linkname subscribeToDirect github.com/nats-io/nats-server/v2/server.(*stream).subscribeToDirect
func subscribeToDirect(copied unsafe.Pointer) error

//go:linkname unsubscribeToDirect github.com/nats-io/nats-server/v2/server.(*stream).unsubscribeToDirect
func unsubscribeToDirect(copied unsafe.Pointer)

// freePorts are addresses at which nothing listens.
func freePorts(t testing.TB, n int) (urls []*url.URL) {
	t.Helper()
	for _, address := range freeport.Addresses(t, n) {
		urls = append(urls, &url.URL{Scheme: "nats", Host: address})
	}
	return urls
}

func portOf(u *url.URL) int {
	addr, err := net.ResolveTCPAddr("tcp", u.Host)
	if err != nil {
		return 0
	}
	return addr.Port
}

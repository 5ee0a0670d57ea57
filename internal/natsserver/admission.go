package natsserver

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"

	"agenthost/bus"

	"github.com/nats-io/nats-server/v2/server"
)

// An admission decides what a connection to the embedded server may do: all
// with the token, else what nats.embedded.anonymous says.
type admission struct {
	token, anonymous, domain string

	mu       sync.Mutex
	server   *server.Server
	channels *server.Account // made for the first that needs it
}

// admit has the server ask for the token, unless its own file says who may
// connect.
func admit(o *server.Options, e bus.Embedded) error {
	e.Store = o.StoreDir // the server's own file may name it
	if guarded(o) {
		_ = os.Remove(e.TokenFile()) // commands would log in with it
		return nil
	}
	if err := checkReach(o, e); err != nil {
		return err
	}
	token, err := makeToken(e)
	if err != nil {
		return err
	}
	a := &admission{token: token, anonymous: e.Anonymous, domain: o.JetStreamDomain}
	o.CustomClientAuthentication = a
	// Leaf nodes are not asked by Check; they know these.
	none := &server.SubjectPermission{Deny: []string{">"}}
	o.Users = []*server.User{
		{Username: bus.EmbeddedUser, Password: token},
		{Username: anonymousUser, Password: rand.Text(), Permissions: &server.Permissions{Publish: none, Subscribe: none}},
	}
	if a.anonymous != bus.AnonymousNone {
		o.NoAuthUser = anonymousUser // clients need no credentials
	}
	return nil
}

// admits reports whether the server asks for the token.
func admits(o *server.Options) bool {
	_, ok := o.CustomClientAuthentication.(*admission)
	return ok
}

// serve is called before ns starts.
func (a *admission) serve(ns *server.Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.server, a.channels = ns, nil
}

// Check implements server.Authentication.
func (a *admission) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	a.mu.Lock()
	defer a.mu.Unlock()
	user := &server.User{Username: anonymousUser, Account: a.server.GlobalAccount()}
	switch {
	case o.Username == bus.EmbeddedUser && subtle.ConstantTimeCompare([]byte(o.Password), []byte(a.token)) == 1:
		user.Username = bus.EmbeddedUser
	case o.Username != "" || o.Password != "" || o.Token != "" || o.Nkey != "" || o.JWT != "" || a.anonymous == bus.AnonymousNone:
		return false
	case a.anonymous != bus.AnonymousAll:
		account, err := a.channelAccount()
		if err != nil {
			a.server.Errorf("admit a connection without the token: %v", err)
			return false
		}
		user.Account, user.Permissions = account, channelPermissions(a.domain)
	}
	c.RegisterUser(user)
	return true
}

// checkReach refuses an address that other machines reach without the token.
func checkReach(o *server.Options, e bus.Embedded) error {
	if err := checkRoutes(o); err != nil || e.Anonymous == bus.AnonymousNone {
		return err
	}
	for _, l := range []struct {
		key, host string
		port      int
	}{
		{"nats.embedded.listen", o.Host, listenPort(o)},
		{"websocket of nats.embedded.config", o.Websocket.Host, o.Websocket.Port},
		{"mqtt of nats.embedded.config", o.MQTT.Host, o.MQTT.Port},
	} {
		if l.port != 0 && !bus.Loopback(l.host) {
			return fmt.Errorf("%s %s: other machines reach it without authentication; set nats.embedded.anonymous to none (who connects needs the password in %q then), or give it users in nats.embedded.config, or have it listen on 127.0.0.1",
				l.key, net.JoinHostPort(l.host, strconv.Itoa(l.port)), e.TokenFile())
		}
	}
	return nil
}

func listenPort(o *server.Options) int {
	if o.DontListen {
		return 0
	}
	return cmp.Or(o.Port, server.DEFAULT_PORT)
}

// checkRoutes refuses ports for other servers, which may do everything, where
// any machine can be one.
func checkRoutes(o *server.Options) error {
	for key, l := range map[string]struct {
		host, user string
		port       int
		tls        *tls.Config
	}{
		"cluster": {o.Cluster.Host, o.Cluster.Username, o.Cluster.Port, o.Cluster.TLSConfig},
		"gateway": {o.Gateway.Host, o.Gateway.Username, o.Gateway.Port, o.Gateway.TLSConfig},
	} {
		if l.port != 0 && !bus.Loopback(l.host) && l.user == "" && (l.tls == nil || l.tls.ClientAuth != tls.RequireAndVerifyClientCert) {
			return fmt.Errorf("%s of nats.embedded.config: other machines reach it without authentication; give it an authorization block or TLS with verify", key)
		}
	}
	return nil
}

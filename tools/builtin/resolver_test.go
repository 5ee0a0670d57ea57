package builtin_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// A nameServer answers from memory: the first question for a name with the
// first of its answers, the next with the next, and then always with the last.
type nameServer struct {
	t       testing.TB
	mu      sync.Mutex
	answers map[string][][]string
}

func (n *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server)
		return client, nil
	}}
}

// serve speaks as over TCP: each message comes after its length.
func (n *nameServer) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		request := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, request); err != nil {
			return
		}
		answer := n.answer(request)
		binary.BigEndian.PutUint16(length[:], uint16(len(answer)))
		if _, err := conn.Write(append(length[:], answer...)); err != nil {
			return
		}
	}
}

func (n *nameServer) answer(request []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(request); err != nil {
		n.t.Error(err)
		return nil
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	question := m.Questions[0]
	addresses, known := n.next(question)
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range addresses {
		if body := resource(netip.MustParseAddr(address), question.Type); body != nil {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class}, Body: body,
			})
		}
	}
	packed, err := m.Pack()
	if err != nil {
		n.t.Error(err)
	}
	return packed
}

// next goes on to the next answer after a question for IPv4 addresses; the one
// for IPv6 comes beside it.
func (n *nameServer) next(q dnsmessage.Question) (addresses []string, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	all, known := n.answers[name]
	if !known {
		return nil, false
	}
	if q.Type == dnsmessage.TypeA && len(all) > 1 {
		n.answers[name] = all[1:]
	}
	return all[0], true
}

func resource(addr netip.Addr, kind dnsmessage.Type) dnsmessage.ResourceBody {
	switch {
	case kind == dnsmessage.TypeA && addr.Is4():
		return &dnsmessage.AResource{A: addr.As4()}
	case kind == dnsmessage.TypeAAAA && addr.Is6():
		return &dnsmessage.AAAAResource{AAAA: addr.As16()}
	}
	return nil
}

package irc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"

	"agenthost/plugins"
)

// receiptWithin is how long the server has to say that it has a line.
const receiptWithin = time.Minute

// A receipt is what the server says of a line that was sent.
type receipt struct {
	target string
	batch  string // the batch in which its answer comes
	id     string
	holder string // the account that has target as its nick, where that was asked
	err    error
	done   chan struct{}
}

var errLost = errors.New("the connection was lost before the server said that it has the line")

// Deliver says one line, and returns when the server has it.
func (c *Channel) Deliver(ctx context.Context, m plugins.Message) (id string, err error) {
	conn := c.live.Load()
	if conn == nil {
		return "", errors.New("not connected")
	}
	target, err := c.target(ctx, conn, m.Place)
	if err != nil {
		return "", err
	}
	if !isTarget(target) {
		return "", plugins.Permanent(fmt.Errorf("%q is no nick and no channel", target))
	}
	text := m.Text
	if m.File != nil {
		text = strings.TrimSpace(text + " " + fileLine(m.File))
	}
	room := lineLength - overhead(longestPrefix(c.settings.Nick), len(target))
	for _, piece := range cut(clean(text), room) {
		if strings.TrimSpace(piece) == "" {
			continue // a server refuses a line without text
		}
		if err := c.pace.Wait(ctx); err != nil {
			return id, err
		}
		if id, err = conn.say(ctx, target, piece); err != nil {
			return "", err
		}
	}
	return id, nil
}

// fileLine stands for a file, which IRC cannot carry.
func fileLine(f *plugins.File) string {
	return strings.TrimSpace("[" + f.Name + "] " + f.URL)
}

// target is the name to which a line for a place is sent.
func (c *Channel) target(ctx context.Context, conn *connection, to plugins.Place) (string, error) {
	if to.Chat != "" {
		return to.Chat, nil
	}
	if nick, ok := strings.CutPrefix(to.To, guest); ok || !conn.has("account-tag") {
		return nick, nil
	}
	nick, known := conn.nickOf(to.To)
	if known || !isTarget(nick) {
		return nick, nil
	}
	if err := c.pace.Wait(ctx); err != nil {
		return "", err
	}
	return nick, conn.identify(ctx, nick, to.To)
}

// say sends a line and waits for the server's word on it. Few lines are under way at once: where
// the server slows the account down, those of many chats would wait there for longer than its word
// is waited for, and come twice.
func (c *connection) say(ctx context.Context, target, text string) (string, error) {
	select {
	case c.unheard <- struct{}{}:
		defer func() { <-c.unheard }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	label, r := c.expect(target)
	defer c.forget(label)
	if err := c.sendLabeled(label, target, text); err != nil {
		return "", err
	}
	return r.await(ctx)
}

// await waits for the server's word.
func (r *receipt) await(ctx context.Context) (string, error) {
	timeout := time.NewTimer(receiptWithin)
	defer timeout.Stop()
	select {
	case <-r.done:
		return r.id, r.err
	case <-timeout.C:
		return "", fmt.Errorf("the server has not said within %s that it has the line", receiptWithin)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// sendLabeled sends a line so that the server's answer to it can be told from others: by
// its label, else by the answer to a PING behind it.
func (c *connection) sendLabeled(label, target, text string) error {
	if c.has("labeled-response") {
		return c.send(map[string]string{"label": label}, "PRIVMSG", target, text)
	}
	if err := c.write("PRIVMSG", target, text); err != nil {
		return err
	}
	return c.write("PING", label)
}

func (c *connection) expect(target string) (string, *receipt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.labels++
	label := "out-" + strconv.Itoa(c.labels)
	r := &receipt{target: c.fold(target), done: make(chan struct{})}
	c.receipts[label] = r
	return label, r
}

func (c *connection) forget(label string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.receipts, label)
}

// lose ends the wait for all receipts: the connection is lost.
func (c *connection) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for label := range c.receipts {
		c.settle(label, "", errLost)
	}
}

// settle gives a receipt to who waits for it. c.mu is held.
func (c *connection) settle(label, id string, err error) {
	r := c.receipts[label]
	if r == nil {
		return
	}
	delete(c.receipts, label)
	r.id = id
	if r.err == nil {
		r.err = err
	}
	close(r.done)
}

// receive looks for receipts in a line. It reports whether the line was nothing else.
func (c *connection) receive(m ircmsg.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m.Command {
	case "BATCH":
		return c.receiveBatch(m)
	case "PONG":
		label := last(m)
		_, ok := c.receipts[label]
		c.settle(label, "", nil)
		return ok
	case "330":
		return c.receiveHolder(m)
	}
	_, msgid := m.GetTag("msgid")
	err := refusal(m)
	if ok, label := m.GetTag("label"); ok && c.receipts[label] != nil {
		c.settle(label, msgid, err)
		return true
	}
	if ok, ref := m.GetTag("batch"); ok {
		return c.inBatch(ref, msgid, err)
	}
	if err == nil || c.has("labeled-response") {
		return false
	}
	return c.refuse(m, err)
}

// receiveBatch follows a batch that is the answer to a line.
func (c *connection) receiveBatch(m ircmsg.Message) bool {
	ref := param(m, 0)
	if ok, label := m.GetTag("label"); ok && strings.HasPrefix(ref, "+") && c.receipts[label] != nil {
		c.receipts[label].batch = ref[1:]
		return true
	}
	for label, r := range c.receipts {
		if strings.HasPrefix(ref, "-") && r.batch == ref[1:] {
			c.settle(label, r.id, nil)
			return true
		}
	}
	return false
}

// inBatch keeps what a line in the batch of a receipt says.
func (c *connection) inBatch(ref, msgid string, err error) bool {
	for _, r := range c.receipts {
		if r.batch != "" && r.batch == ref {
			r.id, r.err = cmp.Or(msgid, r.id), cmp.Or(r.err, err)
			return true
		}
	}
	return false
}

// refuse keeps a refusal until the answer to the PING comes.
func (c *connection) refuse(m ircmsg.Message, err error) bool {
	for _, r := range c.receipts {
		if slices.ContainsFunc(m.Params, func(p string) bool { return c.fold(p) == r.target }) {
			r.err = err
			return true
		}
	}
	return false
}

// forGood are the refusals that another try does not change: no text, no name, too
// long, who takes no messages.
var forGood = []string{"407", "411", "412", "413", "414", "417", "531"}

// refusal is the error of a line that refuses something.
func refusal(m ircmsg.Message) error {
	numeric := len(m.Command) == 3 && (m.Command[0] == '4' || m.Command[0] == '5')
	if !numeric && m.Command != "FAIL" {
		return nil
	}
	err := fmt.Errorf("%s %s", m.Command, strings.Join(m.Params[min(1, len(m.Params)):], " "))
	if slices.Contains(forGood, m.Command) {
		return plugins.Permanent(err)
	}
	return err
}

package plugins_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"agenthost/plugins"
)

// A terminal is a channel of a program's own: a line that is typed is a message, and
// replies are printed.
type terminal struct {
	person string
	lines  *bufio.Scanner
	read   int
}

// Run hands each line to the inbox. It may be sent again if Take fails: the id is the
// same.
func (c *terminal) Run(ctx context.Context, in *plugins.Inbox) error {
	in.Connected(c.person)
	for c.lines.Scan() {
		c.read++
		m := plugins.Received{ID: fmt.Sprintf("line-%d", c.read), From: c.person, Text: c.lines.Text()}
		if err := in.Take(ctx, m); err != nil {
			return fmt.Errorf("take line %d: %w", c.read, err)
		}
	}
	<-ctx.Done()
	return nil
}

// Deliver prints one message. Most platforms return an id of their own.
func (c *terminal) Deliver(_ context.Context, m plugins.Message) (string, error) {
	if m.To != c.person {
		return "", plugins.Permanent(fmt.Errorf("no person %q is here", m.To))
	}
	fmt.Println(m.Text)
	return m.Key, nil
}

// Typing and Preview are not called, as Limits has neither.
func (c *terminal) Typing(context.Context, plugins.Place) error { return nil }

func (c *terminal) Preview(context.Context, plugins.Place, string, string) (string, error) {
	return "", nil
}

// Limits: any length, and no files; their names are printed.
func (c *terminal) Limits() plugins.Limits { return plugins.Limits{} }

func ExampleChannel() {
	var ch plugins.Channel = &terminal{person: "ana", lines: bufio.NewScanner(strings.NewReader("hello\n"))}
	if _, err := ch.Deliver(context.Background(), plugins.Message{Place: plugins.Place{To: "ana"}, Text: "Hello Ana"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	_, err := ch.Deliver(context.Background(), plugins.Message{Place: plugins.Place{To: "bob"}, Text: "Hello Bob"})
	fmt.Println(err)
	// Output:
	// Hello Ana
	// no person "bob" is here
}

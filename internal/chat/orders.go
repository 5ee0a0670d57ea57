package chat

import (
	"fmt"
	"strings"
)

// The orders of a chat, whatever their case.
const (
	quitWord = "/quit"
	exitWord = "/exit"
	stopWord = "/stop"
	helpWord = "/help"
	newWord  = "/new"
)

const chatHelp = `  /stop   stop what is under way (or press Ctrl-C)
  /new    begin another session; this one stays, see agenthost sessions ls
  /quit   end the chat (or press Ctrl-D)
  Alt-Enter, or a backslash at the end of a line, begins another line.
  When the agent asks, the next line is the answer: approve, deny, or text.

`

// order is the order that a line is: one word of letters behind a slash, as in the
// chats of a host. Empty: the line is a message, as one that begins with a space is.
func order(line string) string {
	word := strings.ToLower(strings.TrimRight(line, " \t\r\n"))
	word = strings.TrimRight(word, ".!,;:")
	if len(word) < 2 || word[0] != '/' || strings.Trim(word[1:], "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return word
}

func leaves(line string) bool { return order(line) == quitWord || order(line) == exitWord }

// obey carries out an order while the agent is idle. It reports whether there is one.
func (c *Chat) obey(word string) (done bool, err error) {
	switch {
	case word == stopWord:
		c.notice("there is nothing to stop")
	case !c.person || word == "":
		return false, nil
	case word == helpWord:
		c.printHelp()
	case word == newWord:
		err = c.startOver()
	default:
		c.notice("there is no order %s; with a space before it, it is sent as a message", word)
		c.printHelp()
	}
	return true, err
}

func (c *Chat) printHelp() { fmt.Fprint(c.Stdout, chatHelp) }

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"agenthost/internal/cli"
	"agenthost/internal/starter"
	"agenthost/internal/terminal"

	"golang.org/x/term"
)

// An interviewer asks a person on a terminal.
type interviewer struct {
	app *app
	in  *bufio.Reader
}

// interview asks for the model and the channels. What does not work is asked again, or
// left out.
func (a *app) interview(ctx context.Context) (starter.Choice, error) {
	i := interviewer{a, bufio.NewReader(a.Stdin)}
	c := starter.Choice{}
	var err error
	if c.Model, err = i.model(ctx); err != nil {
		return c, err
	}
	c.Accounts, err = i.accounts(ctx)
	return c, err
}

// ask asks for a line; an empty one is standard.
func (i interviewer) ask(ctx context.Context, question, standard string) (string, error) {
	if standard != "" {
		question += " [" + terminal.Printable(standard) + "]"
	}
	fmt.Fprint(i.app.Stdout, question+": ")
	line, err := cli.Await(ctx, func() (string, error) { return i.in.ReadString('\n') })
	if ctx.Err() != nil {
		return "", i.left(ctx)
	}
	if line = strings.TrimSpace(line); line == "" {
		line = standard
	}
	if errors.Is(err, io.EOF) {
		return "", fmt.Errorf("the input has ended; nothing is written")
	}
	return line, err
}

// left is why nothing is asked any more.
func (i interviewer) left(ctx context.Context) error {
	fmt.Fprintln(i.app.Stdout)
	return fmt.Errorf("%w; nothing is written", context.Cause(ctx))
}

// askSecret is ask without showing what is typed.
func (i interviewer) askSecret(ctx context.Context, question string) (string, error) {
	f, ok := i.app.Stdin.(*os.File)
	if !ok || i.in.Buffered() > 0 { // it was typed ahead, and shown
		return i.ask(ctx, question, "")
	}
	fmt.Fprint(i.app.Stdout, question+" (not shown): ")
	shown, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", err
	}
	secret, err := cli.Await(ctx, func() (string, error) {
		typed, err := term.ReadPassword(int(f.Fd()))
		return string(typed), err
	})
	if ctx.Err() != nil {
		_ = term.Restore(int(f.Fd()), shown) // the read, which hides what is typed, goes on
		return "", i.left(ctx)
	}
	fmt.Fprintln(i.app.Stdout)
	return strings.TrimSpace(secret), err
}

// model asks for the model until one works or is taken all the same.
func (i interviewer) model(ctx context.Context) (starter.Model, error) {
	found := starter.FindModel(ctx, i.app.Getenv)
	fmt.Fprintln(i.app.Stdout, "Which model? Such as openai/gpt-5-mini, anthropic/claude-haiku-4-5,")
	fmt.Fprintln(i.app.Stdout, "gemini/gemini-2.5-flash, ollama/llama3.2:3b, or echo, which repeats what it is told.")
	for {
		name, err := i.ask(ctx, "Model", strings.TrimSuffix(found.Provider+"/"+found.Name, "/"))
		if err != nil {
			return found, err
		}
		m := starter.NewModel(name, i.app.Getenv)
		if m.Provider == found.Provider && m.Name == found.Name {
			m = found
		}
		if m.Needs() {
			if m.APIKey, err = i.askSecret(ctx, "Key for "+m.Provider); err != nil {
				return m, err
			}
		}
		if again, err := i.works(ctx, starter.Choice{Model: m}); err != nil || !again {
			return m, err
		}
	}
}

// works tries what there is of a choice. It reports whether to ask again.
func (i interviewer) works(ctx context.Context, c starter.Choice) (again bool, err error) {
	failed := i.app.try(ctx, c)
	if failed == nil {
		return false, nil
	}
	fmt.Fprintln(i.app.Stdout, terminal.Printable(failed.Error()))
	answer, err := i.ask(ctx, "Enter it again? yes, or no to write it as it is", "yes")
	return !strings.HasPrefix(strings.ToLower(answer), "n"), err
}

// accounts asks for the channels and what each needs.
func (i interviewer) accounts(ctx context.Context) ([]starter.Account, error) {
	fmt.Fprintln(i.app.Stdout, "Which channels? Any of "+strings.Join(starter.Channels(), ", ")+", with a dot")
	fmt.Fprintln(i.app.Stdout, "and a name for more than one account, such as telegram.sales; or none.")
	for {
		line, err := i.ask(ctx, "Channels", starter.DefaultChannel)
		if err != nil {
			return nil, err
		}
		list, unknown := accountsOf(line)
		if unknown != "" {
			fmt.Fprintf(i.app.Stdout, "There is no channel %s. Name some of %s, or none.\n", terminal.Printable(unknown), strings.Join(starter.Channels(), ", "))
			continue
		}
		for n := range list {
			if err := i.account(ctx, list[n]); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
}

// accountsOf are the accounts that a line names, once each.
func accountsOf(line string) (list []starter.Account, unknown string) {
	if line == "none" {
		return nil, ""
	}
	known := map[string]bool{}
	for _, name := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		account, ok := starter.NewAccount(name)
		if !ok {
			return nil, name
		}
		if !known[account.Name()] {
			known[account.Name()] = true
			list = append(list, account)
		}
	}
	return list, ""
}

// account asks for what an account needs until it works or is taken all the same.
func (i interviewer) account(ctx context.Context, account starter.Account) error {
	list, _ := starter.Fields(account.Channel)
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintf(i.app.Stdout, "%s, as docs/channels/%s.md says:\n", account.Name(), account.Channel)
	for {
		for _, f := range list {
			if f.Unasked {
				continue
			}
			value, err := i.field(ctx, account, f)
			if err != nil {
				return err
			}
			account.Values[f.Key] = value
		}
		again, err := i.works(ctx, starter.Choice{Model: starter.Model{Provider: "echo"}, Accounts: []starter.Account{account}})
		if err != nil || !again {
			return err
		}
	}
}

func (i interviewer) field(ctx context.Context, account starter.Account, f starter.Field) (string, error) {
	question := "  " + f.Ask
	if f.Example != "" {
		question += ", such as " + f.Example
	}
	for {
		standard := account.Values[f.Same]
		var value string
		var err error
		switch {
		case f.Secret && standard != "":
			value, err = i.askSecret(ctx, question+", or nothing for the same")
		case f.Secret:
			value, err = i.askSecret(ctx, question)
		default:
			value, err = i.ask(ctx, question, standard)
		}
		if value == "" {
			value = standard
		}
		if err != nil || value != "" || f.Optional {
			return value, err
		}
	}
}

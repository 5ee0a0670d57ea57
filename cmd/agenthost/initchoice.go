package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"agenthost/config"
	"agenthost/internal/cli"
	"agenthost/internal/doctor"
	"agenthost/internal/starter"
)

// tryWithin bounds one try of a model or an account.
const tryWithin = 30 * time.Second

// mostNames is how many models of a server are named.
const mostNames = 8

// choice is what the flags say.
func (in initializing) choice(ctx context.Context, getenv func(string) string) (starter.Choice, error) {
	c := starter.Choice{}
	if in.model != "" {
		if provider, model, _ := strings.Cut(in.model, "/"); provider == "" || (model == "" && provider != "echo") {
			return c, cli.Usage("--model %s: want provider/model, such as openai/gpt-5-mini, ollama/llama3.2:3b or echo", in.model)
		}
		c.Model = starter.NewModel(in.model, getenv)
	} else {
		c.Model = starter.FindModel(ctx, getenv)
	}
	names := in.channels
	if len(names) == 0 {
		names = []string{starter.DefaultChannel}
	}
	for _, name := range names {
		account, ok := starter.NewAccount(name)
		if !ok {
			return c, cli.Usage("--channel %s: want %s, with a dot and a name for another account than main", name, strings.Join(starter.Channels(), ", "))
		}
		if slices.ContainsFunc(c.Accounts, func(other starter.Account) bool { return other.Name() == account.Name() }) {
			return c, cli.Usage("--channel %s is there twice", account.Name())
		}
		c.Accounts = append(c.Accounts, account)
	}
	if err := in.setAll(&c); err != nil {
		return c, err
	}
	for _, account := range c.Accounts {
		if missing, ok := account.Complete(); !ok {
			return c, cli.Usage("%s wants --set %s.%s=…", account.Name(), account.Name(), missing.Key)
		}
	}
	return c, nil
}

// setAll sets what --set and --set-file give.
func (in initializing) setAll(c *starter.Choice) error {
	for _, one := range in.set {
		key, value, ok := strings.Cut(one, "=")
		switch {
		case !ok:
			return cli.Usage("--set %s: want key=value", one)
		case value == "":
			return cli.Usage("--set %s: the value is empty, as that of a shell variable that is not set", one)
		case !set(c, key, value):
			return cli.Usage("--set %s: neither the model nor a --channel has that key", key)
		}
	}
	for _, one := range in.setFile {
		key, name, ok := strings.Cut(one, "=")
		switch {
		case !ok:
			return cli.Usage("--set-file %s: want key=file", one)
		case name == "":
			return cli.Usage("--set-file %s: the name of the file is empty, as that of a shell variable that is not set", one)
		}
		value, err := wholeValue(name)
		if err != nil {
			return fmt.Errorf("--set-file %s: %w", key, err)
		}
		if !set(c, key, value) {
			return cli.Usage("--set-file %s: neither the model nor a --channel has that key", key)
		}
	}
	return nil
}

// wholeValue is what a file holds, without the ends of its lines behind it.
func wholeValue(name string) (string, error) {
	data, err := os.ReadFile(name)
	value := strings.TrimRight(string(data), "\r\n")
	if err == nil && value == "" {
		err = fmt.Errorf("%s is empty", name)
	}
	return value, err
}

// set sets a value of --set or --set-file; it is false where nothing has the key.
func set(c *starter.Choice, key, value string) bool {
	if field, ok := strings.CutPrefix(key, "model."); ok && c.Model.Set(field, value) {
		return true
	}
	for _, account := range c.Accounts {
		for _, name := range []string{account.Name(), account.Channel} {
			if field, ok := strings.CutPrefix(key, name+"."); ok && account.Has(field) {
				account.Values[field] = value
				return true
			}
		}
	}
	return false
}

// parts are the model, if one was named, and each account of a choice by
// itself, to be tried.
func parts(c starter.Choice) (list []starter.Choice) {
	if c.Model.Given {
		list = append(list, starter.Choice{Model: c.Model})
	}
	for _, account := range c.Accounts {
		list = append(list, starter.Choice{Model: starter.Model{Provider: "echo"}, Accounts: []starter.Account{account}})
	}
	return list
}

// try tries what there is of a choice: the model, or the one account.
func (a *app) try(ctx context.Context, c starter.Choice) error {
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	cfg, err := config.Parse(cli.DefaultConfig, []byte(c.Config(schemaFile, starter.Literal)))
	if wrong, ok := errors.AsType[*config.FileError](err); ok { // at lines of a file that there is not
		var texts []string
		for _, p := range wrong.Problems {
			texts = append(texts, p.Text)
		}
		return cli.Usage("%s: %s", tried(c), strings.Join(texts, "; "))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", tried(c), err)
	}
	if len(c.Accounts) == 0 {
		return a.tryModel(ctx, cfg, c.Model)
	}
	for _, e := range cfg.Plugins.Entries() {
		calm := a.Working("trying " + e.Name())
		as, err := doctor.TryAccount(ctx, e)
		calm()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", e.Name(), err)
		case as != "":
			a.Warn("%s: logged in as %s", e.Name(), as)
		}
	}
	return nil
}

func tried(c starter.Choice) string {
	if len(c.Accounts) == 0 {
		return strings.TrimSpace("model " + c.Model.Name)
	}
	return c.Accounts[0].Name()
}

func (a *app) tryModel(ctx context.Context, cfg *config.Config, m starter.Model) error {
	if m.Provider == "echo" {
		return nil
	}
	calm := a.Working("trying " + m.Name)
	has, names, err := doctor.TryModel(ctx, cfg.Models["main"])
	calm()
	switch {
	case err != nil:
		return fmt.Errorf("model %s: %w", m.Name, err)
	case !has && len(names) > 0:
		hint := "; it has " + strings.Join(names[:min(len(names), mostNames)], ", ")
		if near := config.Nearest(m.Name, names); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return fmt.Errorf("model %s: the server takes the key and has no such model%s", m.Name, hint)
	}
	a.Warn("model %s: the server answers", m.Name)
	return nil
}

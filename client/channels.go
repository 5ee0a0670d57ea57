package client

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// ChannelsSubject is where every host answers with its accounts of channels.
const ChannelsSubject = "agenthost.channels"

// An AccountStatus is how an account of a channel is doing on one host.
type AccountStatus struct {
	Channel  string   `json:"channel"`
	Instance string   `json:"instance,omitempty"`
	Agents   []string `json:"agents"` // that are bound to it
	Owns     bool     `json:"owns"`   // the host connects to the platform
	AccountState
}

// An AccountState is what is told of an account.
type AccountState struct {
	State     string    `json:"state"`
	As        string    `json:"as,omitempty"` // the name it is logged in under
	Connected time.Time `json:"connected_since,omitzero"`
	// In counts messages taken and Out replies delivered since the host started,
	// Retries tries that failed and were made again, Dead what became a dead letter.
	In      uint64 `json:"in"`
	Out     uint64 `json:"out"`
	Retries uint64 `json:"retries"`
	Dead    uint64 `json:"dead"`
	// Waiting is how many replies are not delivered, Oldest when the first of them was
	// sent.
	Waiting int       `json:"waiting"`
	Oldest  time.Time `json:"oldest_undelivered,omitzero"`
	Error   string    `json:"last_error,omitempty"`
}

// A ChannelReport is the accounts of one host.
type ChannelReport struct {
	Host     string          `json:"host"`
	Accounts []AccountStatus `json:"accounts"`
}

// ReadChannels reads the answer of a host on ChannelsSubject.
func ReadChannels(data []byte) (ChannelReport, error) {
	r := ChannelReport{}
	err := json.Unmarshal(data, &r)
	return r, err
}

// StateUnconfigured is the state of an account that no host has in its configuration any
// more, and whose consumer is still there.
const StateUnconfigured = "not configured"

// A ChannelAccount is an account over the whole fleet. What its owner says counts;
// the numbers are those of all hosts.
type ChannelAccount struct {
	Channel  string   `json:"channel"`
	Instance string   `json:"instance,omitempty"`
	Agents   []string `json:"agents"`
	Owner    string   `json:"owner,omitempty"` // empty: no host owns it at the moment
	Hosts    []string `json:"hosts"`           // that serve it, or stand by; none: it is not configured any more
	AccountState
}

// Name is channel and instance as subjects have them, such as telegram.sales.
func (a ChannelAccount) Name() string { return strings.TrimSuffix(a.Channel+"."+a.Instance, ".") }

// Channels lists the accounts of channels that the hosts serve, by name. That there
// is no host is ErrNoHost.
func (c *Client) Channels(ctx context.Context) ([]ChannelAccount, error) {
	before := c.nc.LastError()
	reports, err := gather(ctx, c.nc, ChannelsSubject, quietMost, ReadChannels, func(ChannelReport) bool { return false })
	if err == nil && len(reports) == 0 {
		err = cmp.Or(questionRefused(c.nc, ChannelsSubject, before), ErrNoHost)
	}
	return joinAccounts(reports), err
}

// joinAccounts makes one entry of what the hosts say of an account.
func joinAccounts(reports []ChannelReport) []ChannelAccount {
	list, at := []ChannelAccount{}, map[string]int{}
	slices.SortFunc(reports, func(a, b ChannelReport) int { return cmp.Compare(a.Host, b.Host) })
	unconfigured := []AccountStatus{}
	for _, report := range reports {
		for _, s := range report.Accounts {
			if s.State == StateUnconfigured {
				unconfigured = append(unconfigured, s)
				continue
			}
			one := ChannelAccount{Channel: s.Channel, Instance: s.Instance, Agents: s.Agents, AccountState: s.AccountState}
			i, known := at[one.Name()]
			if !known {
				i = len(list)
				at[one.Name()] = i
				list = append(list, one)
			}
			list[i].add(report.Host, s, known)
		}
	}
	for _, s := range unconfigured { // as far as that host knows
		one := ChannelAccount{Channel: s.Channel, Instance: s.Instance, Agents: s.Agents, Hosts: []string{}, AccountState: s.AccountState}
		if _, known := at[one.Name()]; !known {
			at[one.Name()] = len(list)
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b ChannelAccount) int { return cmp.Compare(a.Name(), b.Name()) })
	return list
}

// add notes what one more host says of the account.
func (a *ChannelAccount) add(host string, s AccountStatus, more bool) {
	a.Hosts = append(a.Hosts, host)
	in, out, retries, dead := a.In, a.Out, a.Retries, a.Dead
	if s.Owns {
		a.Owner, a.Agents, a.AccountState = host, s.Agents, s.AccountState
	}
	if more {
		a.In, a.Out, a.Retries, a.Dead = in+s.In, out+s.Out, retries+s.Retries, dead+s.Dead
	}
}

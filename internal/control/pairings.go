package control

import (
	"context"
	"strings"

	"agenthost/client"
)

// A PairingListing is the open codes and the people that were approved.
type PairingListing struct {
	Pairings []client.Pairing `json:"pairings"`
}

func (h Host) pairings(ctx context.Context, asked byAgent) (PairingListing, error) {
	all, err := h.client().Pairings(ctx)
	list := PairingListing{Pairings: []client.Pairing{}}
	for _, p := range seen(ctx, all, func(p client.Pairing) string { return p.Agent }) {
		if asked.keeps(p.Agent) {
			list.Pairings = append(list.Pairings, p)
		}
	}
	return list, err
}

// A PairingCode is the code of a stranger.
type PairingCode struct {
	Code string `json:"code"`
}

// codeOfSeen refuses the code of an agent that the caller may not see.
func (h Host) codeOfSeen(ctx context.Context, code string) error {
	if !callerOf(ctx).limited() {
		return nil
	}
	all, err := h.pairings(ctx, byAgent{})
	for _, p := range all.Pairings {
		if p.Code != "" && strings.EqualFold(p.Code, strings.TrimSpace(code)) { // as it is taken then
			return nil
		}
	}
	if err == nil {
		err = client.ErrNoCode
	}
	return err
}

func (h Host) approvePairing(ctx context.Context, c PairingCode) (client.Pairing, error) {
	if err := h.codeOfSeen(ctx, c.Code); err != nil {
		return client.Pairing{}, err
	}
	return h.client().ApprovePairing(ctx, c.Code, callerOf(ctx).by(""))
}

func (h Host) denyPairing(ctx context.Context, c PairingCode) (client.Pairing, error) {
	if err := h.codeOfSeen(ctx, c.Code); err != nil {
		return client.Pairing{}, err
	}
	return h.client().DenyPairing(ctx, c.Code)
}

// A Paired names a person that was approved.
type Paired struct {
	Person string `json:"person" doc:"such as telegram.sales/42"`
	Agent  string `json:"agent,omitempty" doc:"only with this agent"`
}

func (h Host) revokePairing(ctx context.Context, p Paired) (PairingListing, error) {
	if callerOf(ctx).limited() && p.Agent == "" {
		return PairingListing{}, coded(client.CodeBad, "name the agent: this token is for some agents only")
	}
	all, err := h.pairings(ctx, byAgent{p.Agent})
	if err != nil {
		return PairingListing{}, err
	}
	for _, one := range all.Pairings {
		if one.Approved && one.Person() == p.Person {
			gone, err := h.client().RevokePairing(ctx, p.Agent, p.Person)
			return PairingListing{notNil(gone)}, err
		}
	}
	return PairingListing{}, coded(client.CodeNotFound, "no paired person is called %q; want <channel>[.<instance>]/<from>", p.Person)
}

package control

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/url"
	"strings"
	"time"

	"agenthost/agents"
	"agenthost/llm"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// A CostRequest says which days to add up, and for whom.
type CostRequest struct {
	byAgent
	Days   int  `json:"days,omitempty" doc:"days of UTC with today: 7, up to 35"`
	People bool `json:"people,omitempty" doc:"also by person, from the logs of the sessions, which takes longer"`
}

// A Cost is what was spent on models in a day, in micro-cents, all hosts together.
// Of people there is a sum of all the days.
type Cost struct {
	Day    string `json:"day,omitempty"`
	Agent  string `json:"agent,omitempty"`
	Model  string `json:"model,omitempty"`
	Person string `json:"person,omitempty"` // <channel>[.<instance>]/<from>
	Spent  int64  `json:"spent"`
}

// A BudgetLeft is what an agent may still spend, in micro-cents.
type BudgetLeft struct {
	Agent string `json:"agent"`
	Span  string `json:"span"` // day or month
	Limit int64  `json:"limit"`
	Spent int64  `json:"spent"`
	Left  int64  `json:"left"` // 0 at least
}

// A CostReport is what was spent.
type CostReport struct {
	Days    int          `json:"days"`
	Agents  []Cost       `json:"agents"` // by day and agent
	Models  []Cost       `json:"models"` // by day, agent and model
	People  []Cost       `json:"people,omitempty"`
	Budgets []BudgetLeft `json:"budgets"`
	// More says that the logs were too long to add all of them up for people.
	More bool `json:"more,omitempty"`
}

const (
	defaultDays = 7
	mostDays    = 35 // that the bucket keeps
)

func (h Host) costs(ctx context.Context, asked CostRequest) (CostReport, error) {
	report := CostReport{
		Days: min(cmp.Or(max(asked.Days, 0), defaultDays), mostDays), Agents: []Cost{}, Models: []Cost{}, Budgets: []BudgetLeft{},
	}
	from := now().AddDate(0, 0, 1-report.Days).Truncate(24 * time.Hour)
	spends, err := agents.SpentSince(ctx, h.JS, from)
	if err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return report, err
	}
	for _, s := range spends {
		if !asked.keeps(s.Agent) || !callerOf(ctx).reaches(s.Agent) {
			continue
		}
		report.Agents = append(report.Agents, Cost{Day: s.Day, Agent: s.Agent, Spent: s.Spent})
		for _, model := range sortedKeys(s.Models) {
			report.Models = append(report.Models, Cost{Day: s.Day, Agent: s.Agent, Model: model, Spent: s.Models[model]})
		}
	}
	if report.Budgets, err = h.budgets(ctx, asked); err != nil || !asked.People {
		return report, err
	}
	report.People, report.More, err = h.costOfPeople(ctx, asked, from)
	return report, err
}

// budgets is what is left of the budgets of a day and a month.
func (h Host) budgets(ctx context.Context, asked CostRequest) ([]BudgetLeft, error) {
	list := []BudgetLeft{}
	today, err := agents.SpentToday(ctx, h.JS, now())
	if err != nil {
		return list, err
	}
	for _, p := range seen(ctx, h.Profiles(), func(p AgentProfile) string { return p.ID }) {
		if !asked.keeps(p.ID) {
			continue
		}
		if p.Budget.Day > 0 {
			list = append(list, left(p.ID, "day", p.Budget.Day, today.Agents[p.ID]))
		}
		if p.Budget.Month > 0 {
			spent, err := agents.SpentInMonth(ctx, h.JS, p.ID, now())
			if err != nil {
				return list, err
			}
			list = append(list, left(p.ID, "month", p.Budget.Month, spent))
		}
	}
	return list, nil
}

func left(agent, span string, dollars float64, spent int64) BudgetLeft {
	limit := int64(math.Round(dollars * llm.MicroCents))
	return BudgetLeft{agent, span, limit, spent, max(0, limit-spent)}
}

// mostCommits bounds how many commits are added up for people.
const mostCommits = 200_000

// costOfPeople adds up the calls of models in the direct sessions of people.
func (h Host) costOfPeople(ctx context.Context, asked CostRequest, from time.Time) (list []Cost, more bool, err error) {
	sums, c, n := map[[2]string]int64{}, callerOf(ctx), 0
	for spent, err := range session.NewArchive(h.JS).Spent(ctx, asked.Agent, from) {
		if err != nil {
			return nil, false, err
		}
		if n++; n > mostCommits {
			more = true
			break
		}
		if person := personOf(string(spent.Key)); person != "" && c.reaches(spent.Agent) {
			at := [2]string{person, spent.Agent}
			sums[at] = llm.Sum(sums[at], spent.Cost)
		}
	}
	list = []Cost{}
	for _, at := range sortedPairs(sums) {
		list = append(list, Cost{Person: at[0], Agent: at[1], Spent: sums[at]})
	}
	return list, more, nil
}

// personOf is the person of a direct session, such as telegram.sales/42; empty for
// other sessions.
func personOf(key string) string {
	parts := strings.Split(key, "/")
	if len(parts) < 3 || parts[1] != "dm" || parts[0] == "route" {
		return ""
	}
	from, err := url.PathUnescape(parts[2])
	if err != nil {
		from = parts[2]
	}
	return parts[0] + "/" + from
}

// now is the time, for what depends on the day.
func now() time.Time { return time.Now().UTC() }

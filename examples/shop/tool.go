package main

import (
	"context"
	"fmt"
	"slices"

	"agenthost/tools"
)

type hoursArgs struct {
	Day string `json:"day" jsonschema:"a day of the week, in English"`
}

var openingHours = tools.Typed(tools.Tool{
	Name:        "opening_hours",
	Description: "Tells when the shop is open on a day of the week.",
	ReadOnly:    true, // so that no person is asked before it runs
	Rerun:       true, // so that it runs again if the host dies meanwhile
}, hours)

func hours(_ context.Context, _ tools.Call, in hoursArgs) (string, error) {
	if !slices.Contains(days, in.Day) {
		return "", fmt.Errorf("day %q: want one of %v", in.Day, days)
	}
	if in.Day == "Sunday" {
		return "closed", nil
	}
	return "9 to 18", nil
}

var days = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

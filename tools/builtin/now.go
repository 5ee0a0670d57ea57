package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"agenthost/tools"
)

func nowTool() tools.Tool {
	return tools.Tool{
		Name:        "now",
		Description: "Tells the date, the time and the day of the week.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
			"timezone":{"type":"string","description":"IANA name such as Europe/Paris; UTC by default"}}}`),
		ReadOnly: true,
		Rerun:    true,
		Run:      decoded(now),
	}
}

func now(_ context.Context, _ tools.Call, args struct{ Timezone string }) (tools.Result, error) {
	if args.Timezone == "Local" { // LoadLocation's word for the machine's zone, which stays private
		return tools.Result{}, fmt.Errorf("time zone %q: unknown", args.Timezone)
	}
	zone, err := time.LoadLocation(args.Timezone)
	if err != nil {
		return tools.Result{}, fmt.Errorf("time zone %q: unknown", args.Timezone)
	}
	t := time.Now().In(zone)
	return tools.Result{Text: fmt.Sprintf("%s, %s (%s)", t.Weekday(), t.Format(time.RFC3339), zone)}, nil
}

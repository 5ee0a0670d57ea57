package config

import (
	"fmt"

	"agenthost/heartbeat"
	"agenthost/internal/yamldoc"
)

func (k *checker) checkEvents(at string, a Agent) {
	first := make(map[string]int)
	for i, e := range a.Events {
		p := fmt.Sprintf("%s[%d]", at, i)
		k.checkEventSubject(p+".subject", a.ID, e.Subject)
		if j, double := first[e.Subject]; double && e.Subject != "" {
			k.Fault(p+".subject", "subject %s is at %s as well; keep one", k.Quote(p+".subject"), k.NodeAt(fmt.Sprintf("%s[%d].subject", at, j)).At)
		} else {
			first[e.Subject] = i
		}
		if k.required(p+".prompt", e.Prompt, "prompt", "the event") {
			_, err := heartbeat.ParsePrompt(e.Prompt)
			for _, fault := range yamldoc.Each(err) {
				k.Fault(p+".prompt", "prompt: %v", fault)
			}
		}
		k.checkAddress(p+".to", e.To)
	}
}

func (k *checker) checkEventSubject(at, agent, subject string) {
	if !k.required(at, subject, "subject", "the event") {
		return
	}
	if err := heartbeat.CheckSubject(agent, subject); err != nil {
		k.Fault(at, "subject %s: %v", k.Quote(at), err)
	}
}

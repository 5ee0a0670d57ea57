package profile

// Shadow reports whether the agent is a shadow: one that gets what another gets and publishes
// no replies. It has sessions of its own, in whose logs its replies are kept. It uses only
// tools that change nothing (toolcall/shadow.go). It asks no questions and hands nothing on.
// Its bindings are those of the other agent (internal/build/shadow.go); internal/eval/shadowdiff.go
// compares the two.
func (p *Profile) Shadow() bool { return p.Config.ShadowOf != "" }

// NotRun is what a model is told of a call that a shadow must not make.
const NotRun = "not run: shadow"

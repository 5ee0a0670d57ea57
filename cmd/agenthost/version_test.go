package main

import (
	"runtime/debug"
	"testing"

	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go/micro"
)

func TestCommitOfABuild(t *testing.T) {
	const hash = "f5ab68910d7a6e524921042cddec30a135e29e88"
	git := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261129085101-f5ab68910d7a"}, Settings: []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: hash}, {Key: "vcs.modified", Value: modified},
		}}
	}
	module := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}}
	}
	nc := bustest.Open(t).NC
	for name, tt := range map[string]struct {
		info                    *debug.BuildInfo
		source, commit, release string
	}{
		"a clone":            {info: git("false"), commit: "f5ab68910d7a", release: "0.1.0+f5ab68910d7a"},
		"with changes":       {info: git("true"), commit: "f5ab68910d7a+changes", release: "0.1.0+f5ab68910d7a.changes"},
		"go install @main":   {info: module("v0.1.1-0.20261129085101-f5ab68910d7a"), commit: "f5ab68910d7a", release: "0.1.0+f5ab68910d7a"},
		"go install @v0.1.0": {info: module("v0.1.0"), release: "0.1.0"},
		"go run":             {info: module("(devel)"), release: "0.1.0"},
		"told by the linker": {info: module("(devel)"), source: hash, commit: "f5ab68910d7a", release: "0.1.0+f5ab68910d7a"},
		"git describe":       {info: module("(devel)"), source: "v0.1_3/x+", commit: "v0.1_3/x+", release: "0.1.0+v0.1.3.x"},
		"both":               {info: git("false"), source: "0123456789ab", commit: "f5ab68910d7a", release: "0.1.0+f5ab68910d7a"},
		"no build info":      {release: "0.1.0"},
		"linker, no info":    {source: hash, commit: "f5ab68910d7a", release: "0.1.0+f5ab68910d7a"},
	} {
		t.Run(name, func(t *testing.T) {
			b := builtFrom(tt.info, tt.source)
			if b.Commit != tt.commit || b.release() != tt.release {
				t.Errorf("got commit %q, release %q; want %q, %q", b.Commit, b.release(), tt.commit, tt.release)
			}
			// A host whose version is no semantic version would have no service.
			svc, err := micro.AddService(nc, micro.Config{Name: "agenthost", Version: b.release()})
			if err != nil {
				t.Fatal(err)
			}
			svc.Stop()
		})
	}
}

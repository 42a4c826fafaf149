package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.0",
		Main:      debug.Module{Path: "github.com/flyball-io/flyball/cmd/flyball", Version: "v0.3.0"},
		Deps: []*debug.Module{
			{Path: "github.com/spf13/cobra", Version: "v1.10.2"},
			{Path: "k8s.io/client-go", Version: "v0.37.2"},
			{Path: "k8s.io/api", Version: "v0.37.2", Replace: &debug.Module{Path: "../api"}},
		},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abcd"}, {Key: "vcs.modified", Value: "true"}, {Key: "CGO_ENABLED", Value: "0"}},
	}
	var b bytes.Buffer
	if err := versionsOf(info).write(&b, false); err != nil {
		t.Fatal(err)
	}
	want := `flyball           v0.3.0
commit            0123abcd, with changes
go                go1.26.0 ` + runtime.GOOS + "/" + runtime.GOARCH + `
k8s.io/api        v0.37.2 => ../api
k8s.io/client-go  v0.37.2
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	b.Reset()
	if err := versionsOf(info).write(&b, true); err != nil {
		t.Fatal(err)
	}
	var back versions
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Flyball != "v0.3.0" || back.Libraries["k8s.io/client-go"] != "v0.37.2" || !back.Modified {
		t.Errorf("%s, %v", &b, err)
	}
}

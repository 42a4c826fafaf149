package apiserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/apiserver"
)

// An option that can only be a mistake is named.
func TestOptionsThatCannotBe(t *testing.T) {
	for want, o := range map[string]apiserver.Options{
		"Options.Port 65536: a port is a number from 0 to 65535":     {Port: 65536},
		"Options.Port -1: a port is a number":                        {Port: -1},
		"Options.Port 8080: a server with InMemory listens nowhere":  {Port: 8080, InMemory: true},
		"Options.History -1s: it is negative":                        {History: -time.Second},
		"Options.Bookmarks -1s: it is negative":                      {Bookmarks: -time.Second},
		"Options.Latency -1s: it is negative":                        {Latency: -time.Second},
		"Options.Controllers: there is no controller \"deploymint\"": {Controllers: []string{"deploymint"}},
	} {
		s, err := apiserver.New(t.Context(), o)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A user without a name would be an administrator.
func TestAUserWithoutAName(t *testing.T) {
	for _, o := range []apiserver.Options{{}, {RBAC: true}} {
		s := apiserver.Start(t, o)
		if _, err := s.UserConfig(""); err == nil || !strings.Contains(err.Error(), "the user has no name") {
			t.Errorf("a configuration: %v", err)
		}
		if _, err := s.UserKubeconfig("", "developers"); err == nil {
			t.Error("a kubeconfig of a user without a name")
		}
	}
}

// An object of a kind that is not served is named, with what is missing.
func TestApplyAnUnknownKind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "toy.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: example.com/v1\nkind: Toy\nmetadata: {name: a}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fatal{TB: t}
	func() {
		defer func() { _ = recover() }()
		apiserver.Start(f, apiserver.Options{}).Apply(file)
	}()
	for _, want := range []string{"Toy a", `no matches for kind "Toy" in version "example.com/v1"`, "Options.CRDs"} {
		if !strings.Contains(f.text, want) {
			t.Errorf("the error does not have %q: %s", want, f.text)
		}
	}
}

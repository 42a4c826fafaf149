package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

func TestRowSaysWhatFailed(t *testing.T) {
	s := server{version: "1.33.13", asked: true}
	err := s.read(strings.NewReader("ok  \tgithub.com/flyball-io/flyball/cache\t2.1s\n" +
		"--- FAIL: TestA (0.10s)\n    a_test.go:1: no\n    --- FAIL: TestA/sub (0.00s)\n--- FAIL: TestB (0.10s)\nFAIL\n" +
		"FAIL\tgithub.com/flyball-io/flyball/client\t3.0s\n" +
		"ok  \tgithub.com/flyball-io/flyball/ops/cert\t(cached)\n" +
		"FAIL\tgithub.com/flyball-io/flyball/ops/leader [build failed]\nFAIL\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.row(nil), "| 1.33.13 | no | 4 | failed: client (TestA, TestB); ops/leader |"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s = server{version: "1.34.4", asked: true, streaming: true, passed: 2}
	if got, want := s.row(nil), "| 1.34.4 | yes | 2 | ok |"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s = server{version: "1.30"}
	if got, want := s.row(errors.New("too old\nmore")), "| 1.30 | ? | 0 | not tested: too old |"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The tests of a package that only reads an imported name do not count.
func TestPackagesWithAControlPlane(t *testing.T) {
	tier.Audit(t, "runs the go command")
	got, err := withControlPlane(t.Context(), []string{"../../cache", "../../store", "../../adapter/ctrlcache"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "github.com/flyball-io/flyball/cache github.com/flyball-io/flyball/adapter/ctrlcache"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/lab/internal/suites"
)

const report = `[{"SpecReports": [
	{"LeafNodeType": "BeforeSuite", "State": "passed"},
	{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Cache", "as a Reader"], "LeafNodeText": "lists", "State": "passed"},
	{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Cache"], "LeafNodeText": "waits", "State": "pending"},
	{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Cache"], "LeafNodeText": "is not wanted", "State": "skipped"},
	{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Cache"], "LeafNodeText": "should be able to change object in informer cache", "State": "failed", "Failure": {"Message": "not equal"}},
	{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Cache"], "LeafNodeText": "gets", "State": "timedout", "Failure": {"Message": "late"}},
	{"LeafNodeType": "AfterSuite", "State": "failed", "Failure": {"Message": "left"}}
]}]`

// Every failure that no exception explains is a problem, those of the hooks of a suite and of the default cache
// included.
func TestReportsAreJudged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	specs, err := suites.Ginkgo(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &suites.Result{Report: *specs, Calls: 7, Foreign: 1}
	if got, want := row("cache", nil, r, 0), "| cache | 4 (1 pending) | not run | 1 | 7, and 1 with NewInformer to the default cache |"; got != want {
		t.Errorf("the row is %s, want %s", got, want)
	}
	was := &suites.Result{Report: suites.Report{Names: r.Names, Failed: []string{"Cache lists\nno"}}}
	bad, known, out := judge("cache", was, r)
	if len(bad) != 3 || len(known) != 1 || out != 0 || !strings.Contains(known[0], "change object") {
		t.Errorf("problems %q, exceptions %q", bad, known)
	}
	if bad, _, _ := judge("cache", nil, &suites.Result{}); len(bad) != 2 {
		t.Errorf("a suite without specs and calls: %q", bad)
	}
}

// A spec that does not run over the code of Flyball is a problem, unless it is left out for a reason.
func TestMissingSpecsAreFound(t *testing.T) {
	was := &suites.Result{Report: suites.Report{Specs: 5, Passed: 5, Names: []string{"TestIndexer", "TestEventPanics", "TestEventPanics/many", "TestA", "TestA"}}}
	is := &suites.Result{Report: suites.Report{Specs: 2, Passed: 2, Names: []string{"TestA", "TestIndexer"}}, Calls: 1}
	bad, known, out := judge(informerSuite, was, is)
	if len(bad) != 1 || !strings.Contains(bad[0].Error(), "TestA ran") || len(known) != len(leftOut) || out != 2 {
		t.Errorf("problems %q, exceptions %q, %d left out", bad, known, out)
	}
	if got, want := row(informerSuite, was, is, out), "| shared-informer | 5 (2 left out) | 5 | 2 | 1 |"; got != want {
		t.Errorf("the row is %s, want %s", got, want)
	}
	if bad, _, _ := judge("cache", was, is); len(bad) != 3 {
		t.Errorf("nothing is left out of another suite: %q", bad)
	}
}

const peerTest = `package cache

import (
	"fmt"
	"time"

	clock "example.com/testing/v2"
	"example.com/log/v2"
)

// helper reaches into the package.
func helper(i SharedInformer) int { return len(i.(*sharedIndexInformer).private) }

// TestOne is run.
func TestOne() {
	i := NewSharedInformer(nil).(*sharedIndexInformer)
	log.Println(i, helper(i))
}

func TestTwo() { fmt.Println(time.Now(), clock.New()) }
`

func TestAdaptedFile(t *testing.T) {
	if got, err := testsIn([]byte(peerTest)); err != nil || strings.Join(got, " ") != "TestOne TestTwo" {
		t.Errorf("%v, %v", got, err)
	}
	out, err := adapt([]byte(peerTest), "packed", "example.com/cache", []string{"helper", "TestTwo"}, map[string]string{"NewSharedInformer": "newPacked", "sharedIndexInformer": "packed"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `package packed

import . "example.com/cache"

import (
	"example.com/log/v2"
)

// TestOne is run.
func TestOne() {
	i := newPacked(nil).(*packed)
	log.Println(i, helper(i))
}
`
	if strings.Join(strings.Fields(string(out)), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("%s", out)
	}
}

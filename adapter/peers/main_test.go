package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/adapter/internal/suites"
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
	r := &result{Report: *specs}
	r.calls, r.foreign = 7, 1
	if got, want := row("cache", false, &result{}, r), "| cache | 4 (1 pending) | not run | 1 | 7, and 1 with NewInformer to the default cache |"; got != want {
		t.Errorf("the row is %s, want %s", got, want)
	}
	bad, known := judge("cache", &result{Report: suites.Report{Failed: []string{"Cache lists\nno"}}}, r)
	if len(bad) != 3 || len(known) != 1 || !strings.Contains(known[0], "change object") {
		t.Errorf("problems %q, exceptions %q", bad, known)
	}
	if bad, _ := judge("cache", &result{}, &result{}); len(bad) != 1 {
		t.Errorf("a suite without specs: %q", bad)
	}
}

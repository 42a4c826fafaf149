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

const goEvents = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"run","Package":"p","Test":"TestA/two"}
{"Action":"output","Package":"p","Test":"TestA/two","Output":"not equal"}
{"Action":"fail","Package":"p","Test":"TestA/two"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"run","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
`

// Tests without tests within them count. One that has no outcome failed.
func TestEventsAreCounted(t *testing.T) {
	r, err := events([]byte(goEvents))
	if err != nil {
		t.Fatal(err)
	}
	if r.Specs != 4 || r.Passed != 1 || r.Pending != 1 || len(r.Failed) != 2 || !strings.Contains(strings.Join(r.Failed, " "), "TestA/two\nnot equal") {
		t.Errorf("%+v", r)
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

package adopt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// ginkgoReport is a report of Ginkgo on specs with these states, in this order; some have equal names.
func ginkgoReport(t *testing.T, states []string) []byte {
	t.Helper()
	var specs []map[string]any
	for i, s := range states {
		specs = append(specs, map[string]any{
			"ContainerHierarchyTexts": []string{"A controller"}, "LeafNodeType": "It", "LeafNodeText": fmt.Sprintf("does %d", i/2), "State": s,
		})
	}
	specs = append(specs, map[string]any{"LeafNodeType": "AfterSuite", "State": "failed"})
	data, err := json.Marshal([]any{map[string]any{"SpecReports": specs}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The specs of one test of Go are compared one by one: also where the suite failed before. Without a report, as of a
// process that ended early, none has passed.
func TestSpecsAreCompared(t *testing.T) {
	states := []string{"passed", "failed", "skipped", "pending", "panicked", "timedout", "interrupted", "aborted"}
	name := func(i int) string {
		return `m "A controller does ` + fmt.Sprint(i/2) + `"` + []string{"", "#01"}[i%2]
	}
	dir := t.TempDir()
	run := runs([]testedPackage{{ImportPath: "m", Dir: dir, XTestImports: []string{ginkgoPath}}})[0]
	read := func(states []string) *report {
		r := newReport()
		r.end("m", "fail")
		r.end("m TestSuite", "fail")
		if states != nil {
			put(t, filepath.Join(dir, specFile), string(ginkgoReport(t, states)))
		}
		if err := run.readSpecs(r); err != nil {
			t.Fatal(err)
		}
		if err := run.prepare(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i := range states {
		before := slices.Concat(states[i:], states[:i])
		for j := range states {
			after := slices.Concat(states[j:], states[:j])
			if j == i+1 {
				after = nil
			}
			var want, got []string
			for k, s := range before {
				if s == "passed" && (after == nil || after[k] != "passed") {
					want = append(want, name(k))
				}
			}
			for _, b := range read(after).broken(read(before)) {
				got = append(got, b.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, then %q: %q, want %q", before, after, got, want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, specFile)); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestPackagesOfGinkgoRunApart(t *testing.T) {
	all := runs([]testedPackage{{ImportPath: "a"}, {ImportPath: "b", TestImports: []string{"fmt", ginkgoPath}}, {ImportPath: "c"}})
	if len(all) != 2 || !slices.Equal(all[0].paths(), []string{"a", "c"}) || all[0].args != nil || !slices.Equal(all[1].paths(), []string{"b"}) || all[1].args == nil {
		t.Errorf("%+v", all)
	}
}

package adopt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ginkgoPath is the package of suites whose specs are no tests of Go: "go test" knows one test for all of them.
const ginkgoPath = "github.com/onsi/ginkgo/v2"

// specFile is where the suites of a run write what became of their specs, each in its folder of the copy.
const specFile = "flyball-adopt-specs.json"

// testedPackage is a package, as "go list" describes it.
type testedPackage struct {
	ImportPath, Dir           string
	TestImports, XTestImports []string
}

func (p *testedPackage) ginkgo() bool {
	return slices.Contains(p.TestImports, ginkgoPath) || slices.Contains(p.XTestImports, ginkgoPath)
}

// testRun is one call of "go test": packages that take the same arguments.
type testRun struct {
	packages []testedPackage
	args     []string
}

// runs divides packages into those of plain tests, and those of Ginkgo, which also tell of their specs.
func runs(all []testedPackage) []*testRun {
	plain, ginkgo := &testRun{}, &testRun{args: []string{"-args", "-ginkgo.json-report=" + specFile}}
	for _, p := range all {
		to := plain
		if p.ginkgo() {
			to = ginkgo
		}
		to.packages = append(to.packages, p)
	}
	return slices.DeleteFunc([]*testRun{plain, ginkgo}, func(r *testRun) bool { return len(r.packages) == 0 })
}

func (r *testRun) paths() (all []string) {
	for _, p := range r.packages {
		all = append(all, p.ImportPath)
	}
	return all
}

// prepare removes what an earlier run wrote of specs.
func (r *testRun) prepare() error {
	for _, p := range r.packages {
		if err := os.Remove(filepath.Join(p.Dir, specFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readSpecs adds the specs of the packages to a report. One that ended early has written none.
func (r *testRun) readSpecs(to *report) error {
	for _, p := range r.packages {
		data, err := os.ReadFile(filepath.Join(p.Dir, specFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = to.readSpecs(p.ImportPath, data)
		}
		if err != nil {
			return fmt.Errorf("%s: the specs of %s: %w", specFile, p.ImportPath, err)
		}
	}
	return nil
}

// spec is what Ginkgo's report says of one.
type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	Failure                 struct{ Message, ForwardedPanic string }
}

// readSpecs adds the specs of a report of Ginkgo. Several of one name are told apart by their order.
func (r *report) readSpecs(pkg string, data []byte) error {
	var suites []struct{ SpecReports []spec }
	if err := json.Unmarshal(data, &suites); err != nil {
		return err
	}
	seen := map[string]int{}
	for _, s := range suites {
		for _, s := range s.SpecReports {
			if s.LeafNodeType != "It" {
				continue // what fails around specs fails the suite
			}
			name := fmt.Sprintf("%s %q", pkg, strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " "))
			if seen[name]++; seen[name] > 1 {
				name += fmt.Sprintf("#%02d", seen[name]-1)
			}
			switch s.State {
			case "passed":
				r.end(name, "pass")
			case "skipped", "pending":
				r.end(name, "skip")
			default:
				r.end(name, "fail")
				r.print(name, strings.TrimSpace(name+": "+s.Failure.Message+"\n"+s.Failure.ForwardedPanic)+"\n")
			}
		}
	}
	return nil
}

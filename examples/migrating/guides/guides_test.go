// Package guides tests the guides for those who come from other libraries: their tables against the
// exported API and the metrics of those libraries, as they are in the module cache.
package guides

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// read returns the text of a guide.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// peers are the tables of names, and what they are about.
var peers = []struct {
	guide, name, below string
	patterns           []string
}{
	{"migrating/api-controller-runtime.md", "controller-runtime", "/pkg", []string{
		"sigs.k8s.io/controller-runtime", "sigs.k8s.io/controller-runtime/pkg/...",
	}},
	{"migrating/api-client-go.md", "client-go", "", []string{
		"k8s.io/client-go/tools/cache", "k8s.io/client-go/util/workqueue", "k8s.io/client-go/informers", "k8s.io/client-go/listers",
		"k8s.io/client-go/dynamic/dynamicinformer", "k8s.io/client-go/dynamic/dynamiclister", "k8s.io/client-go/metadata/metadatainformer",
		"k8s.io/client-go/tools/leaderelection", "k8s.io/client-go/tools/leaderelection/resourcelock",
		"k8s.io/client-go/tools/record", "k8s.io/client-go/tools/events", "k8s.io/client-go/tools/metrics", "k8s.io/client-go/util/retry",
	}},
}

// TestEachNameHasARow compares the tables with the exported API of the peers, in the version that the
// guide names.
func TestEachNameHasARow(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			text := read(t, p.guide)
			peer, tested := readAPI(t, p.below, p.patterns...)
			current(t, text, p.name, tested)
			for _, problem := range compareAPI(tables(text), peer) {
				t.Error(problem)
			}
			names := 0
			for _, n := range peer {
				names += len(n)
			}
			t.Logf("%s %s: %d packages, %d names", p.name, tested, len(peer), names)
		})
	}
}

// current fails unless the guide is about this version of the peer, the one that this module requires.
func current(t *testing.T, text, name, tested string) {
	t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(name) + ` (\d+\.\d+\.\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("the guide does not say which %s it is about", name)
	}
	if m[1] != tested {
		t.Errorf("the guide is about %s %s, and the tested one is %s", name, m[1], tested)
	}
}

// TestTablesAreChecked takes names from the tables and adds others, and expects to hear of each.
func TestTablesAreChecked(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			text := read(t, p.guide)
			peer, _ := readAPI(t, p.below, p.patterns...)
			for pkg, rows := range tables(text) {
				for i, r := range rows {
					without := tables(text)
					without[pkg] = slices.Delete(slices.Clone(rows), i, i+1)
					problems := compareAPI(without, peer)
					for _, name := range r.names {
						name = strings.TrimSuffix(name, ".*")
						if !slices.Contains(problems, pkg+": "+name+" has no row") && len(without[pkg]) > 0 {
							t.Errorf("%s: nobody misses %s", pkg, name)
						}
					}
				}
			}
			stale := tables(text)
			for pkg, rows := range stale {
				stale[pkg] = append(slices.Clone(rows), row{[]string{"NoSuchName"}, "nothing"}, rows[0])
				problems := compareAPI(stale, peer)
				for _, want := range []string{pkg + ": NoSuchName does not exist", pkg + ": " + strings.TrimSuffix(rows[0].names[0], ".*") + " has two rows"} {
					if !slices.Contains(problems, want) {
						t.Errorf("not reported: %s", want)
					}
				}
				break
			}
		})
	}
}

var (
	// member matches a field or a method as code.
	member = regexp.MustCompile(`^([A-Z]\w*)\.([A-Z]\w*)`)
	// recorded matches the members of types in the recorded API of Flyball.
	recorded = regexp.MustCompile(`(?m)^\S+: (?:method \(\*?(\w+)\) (\w+)\(|type (\w+) (?:struct|interface), (\w+))`)
)

// TestTheOtherSideExists looks up what the tables name in Flyball as a field or method of a type, such as
// "Queue.AddWith". Names with their package are looked up by internal/lint.
func TestTheOtherSideExists(t *testing.T) {
	ours := map[string]bool{}
	for _, m := range recorded.FindAllStringSubmatch(read(t, "api.txt"), -1) {
		ours[m[1]+m[3]+"."+m[2]+m[4]] = true
	}
	if len(ours) < 500 {
		t.Fatalf("found %d fields and methods: the search is broken", len(ours))
	}
	for _, p := range peers {
		peer, _ := readAPI(t, p.below, p.patterns...)
		theirs := map[string]bool{} // rows refer to other rows
		for _, names := range peer {
			for n := range names {
				theirs[n] = true
			}
		}
		found := 0
		for pkg, rows := range tables(read(t, p.guide)) {
			for _, r := range rows {
				for _, c := range code.FindAllStringSubmatch(r.here, -1) {
					m := member.FindString(c[1])
					if m == "" {
						continue
					}
					found++
					if !ours[m] && !theirs[m] {
						t.Errorf("%s: %s: there is no %s", pkg, r.names[0], m)
					}
				}
			}
		}
		if found < 30 {
			t.Errorf("%s: found %d names: the search is broken", p.guide, found)
		}
	}
}

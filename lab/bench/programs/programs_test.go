package programs

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

const flyball = "github.com/flyball-io/flyball"

// apart says which packages the program of a library must have, and which of others it must not
// have, directly or indirectly.
var apart = map[string]struct {
	has string
	not []string
	// of are the packages of Flyball that it has, besides those in bench. Nil means any.
	of []string
}{
	"flyball": {
		has: flyball + "/cache",
		not: []string{
			"k8s.io/client-go/tools/cache", "k8s.io/client-go/informers", "k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/metadata", "k8s.io/client-go/discovery",
			"sigs.k8s.io/controller-runtime", flyball + "/lab/bench/contender/clientgo", flyball + "/lab/bench/contender/controllerruntime",
		},
	},
	"client-go": {
		has: "k8s.io/client-go/tools/cache",
		not: []string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go/kubernetes", flyball + "/lab/bench/contender/flyball", flyball + "/lab/bench/contender/controllerruntime"},
		of:  []string{flyball + "/object", flyball + "/scheme"},
	},
	"transport": {
		has: flyball + "/lab/bench/contender/transport",
		not: []string{"k8s.io/client-go/tools/cache", "sigs.k8s.io/controller-runtime"},
		of:  []string{flyball + "/object", flyball + "/scheme"},
	},
	"controller-runtime": {
		has: "sigs.k8s.io/controller-runtime/pkg/cache",
		not: []string{flyball + "/lab/bench/contender/flyball"},
		of:  []string{flyball + "/object", flyball + "/scheme"},
	},
}

// TestApart keeps the memory of contenders comparable, since everything that a program links counts
// in its RSS. No program links another contender's library or the replay server.
func TestApart(t *testing.T) {
	tier.Audit(t, "runs the go command")
	for name, rule := range apart {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		has := false
		for pkg := range strings.Lines(string(out)) {
			pkg = strings.TrimSpace(pkg)
			has = has || pkg == rule.has
			for _, bad := range append(rule.not, flyball+"/lab/bench/measure", flyball+"/lab/bench/replay", "net/http/httptest") {
				if below(pkg, bad) {
					t.Errorf("%s has %s", name, pkg)
				}
			}
			if rule.of != nil && below(pkg, flyball) && !below(pkg, flyball+"/lab/bench") && !slices.Contains(rule.of, pkg) {
				t.Errorf("%s has %s", name, pkg)
			}
		}
		if !has {
			t.Errorf("%s does not have %s: the test is blind", name, rule.has)
		}
	}
}

func below(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

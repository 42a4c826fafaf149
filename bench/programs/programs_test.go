package programs

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const flyball = "github.com/flyball-io/flyball"

// apart says what the program of a library must have, and what of others it must not have, with all
// that is below it.
var apart = map[string]struct {
	has string
	not []string
	// of are what is had of Flyball, besides what is in bench. Nil: anything.
	of []string
}{
	"flyball": {
		has: flyball + "/cache",
		not: []string{
			"k8s.io/client-go/tools/cache", "k8s.io/client-go/informers", "k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/metadata", "k8s.io/client-go/discovery",
			"sigs.k8s.io/controller-runtime", flyball + "/bench/contender/clientgo", flyball + "/bench/contender/controllerruntime",
		},
	},
	"client-go": {
		has: "k8s.io/client-go/tools/cache",
		not: []string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go/kubernetes", flyball + "/bench/contender/flyball", flyball + "/bench/contender/controllerruntime"},
		of:  []string{flyball + "/object", flyball + "/scheme"},
	},
	"controller-runtime": {
		has: "sigs.k8s.io/controller-runtime/pkg/cache",
		not: []string{flyball + "/bench/contender/flyball"},
		of:  []string{flyball + "/object", flyball + "/scheme"},
	},
}

// TestApart keeps the memory of contenders comparable: what a program links counts in its RSS. None
// has anything of another, nor of what plays the server.
func TestApart(t *testing.T) {
	for name, rule := range apart {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		has := false
		for pkg := range strings.Lines(string(out)) {
			pkg = strings.TrimSpace(pkg)
			has = has || pkg == rule.has
			for _, bad := range append(rule.not, flyball+"/bench/measure", flyball+"/bench/replay", "net/http/httptest") {
				if below(pkg, bad) {
					t.Errorf("%s has %s", name, pkg)
				}
			}
			if rule.of != nil && below(pkg, flyball) && !below(pkg, flyball+"/bench") && !slices.Contains(rule.of, pkg) {
				t.Errorf("%s has %s", name, pkg)
			}
		}
		if !has {
			t.Errorf("%s does not have %s: the test is blind", name, rule.has)
		}
	}
}

func below(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

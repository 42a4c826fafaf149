package lint

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// room is a part of the core module with a bound on its lines.
type room struct {
	name string
	// limit is the most lines of non-test Go: lower it when a change makes it possible. A rise needs its line in
	// limits.txt. goal is what it is to fall to.
	limit, goal int
	// packages are the folders of the room. A pattern that ends with "/..." includes those below.
	packages []string
}

// rooms have every package of the core module, and so a place for each line. The first room that names
// a package has it. test kits are counted apart from the core.
var rooms = []room{
	{"pipeline", 28350, 19000, []string{
		".", "client", "store", "reflector", "informer", "cache", "internal/delta", "internal/inline", "internal/ctxkey", "workqueue", "controller",
		"reconcile", "handler", "predicate", "object", "event", "option",
	}},
	{"shelf", 12020, 10000, []string{
		"ops/...", "webhook/...", "condition", "finalizer", "child",
	}},
	// The API server in memory, and what of it the simulation stands on (ADR 31).
	{"API server in memory", 21120, 16000, []string{"internal/apiserver/...", "apiserver"}},
	{"simulation", 7370, 3500, []string{"sim", "sim/...", "internal/simreport"}},
	{"test kits", 7480, 4600, []string{
		"test/...", "internal/ledger", "internal/manifest", "internal/feedtest", "internal/faults", "internal/heap/heaptest",
		"internal/lint", "internal/guide", "internal/testobj", "internal/livetest", "internal/leaktest", "internal/managerload", "internal/replicas", "internal/sizes",
	}},
	// What the command-line tool shares with the benchmarks and the test kits. No operator has it in it.
	{"tools", 240, 200, []string{"internal/gomod", "internal/recording"}},
	{"internal", 14540, 11500, []string{"internal/...", "run", "scheme"}},
}

// maxCore is how many lines all rooms but test kits, tools, the simulation and the API server in memory may have. 40,000 is the goal.
const maxCore = 54900

func (r room) has(pkg string) bool {
	return slices.ContainsFunc(r.packages, func(p string) bool {
		folder, below := strings.CutSuffix(p, "/...")
		return pkg == folder || below && strings.HasPrefix(pkg, folder+"/")
	})
}

// TestRoomsKeepToTheirLimits counts the lines of non-test Go by room.
func TestRoomsKeepToTheirLimits(t *testing.T) {
	lines := map[string]int{}
	for _, f := range files(t) {
		if f.test || strings.HasPrefix(f.pkg, "examples/") {
			continue
		}
		i := slices.IndexFunc(rooms, func(r room) bool { return r.has(cmp.Or(f.pkg, ".")) })
		if i < 0 {
			t.Errorf("%s is in no room", f.path)
			continue
		}
		lines[rooms[i].name] += f.lines
	}
	core := 0
	for _, r := range rooms {
		n := lines[r.name]
		t.Logf("%s: %d lines, limit %d, goal %d", r.name, n, r.limit, r.goal)
		if n > r.limit {
			t.Errorf("%s has %d lines, want at most %d", r.name, n, r.limit)
		}
		if !slices.Contains([]string{"test kits", "tools", "simulation", "API server in memory"}, r.name) {
			core += n
		}
	}
	if core > maxCore {
		t.Errorf("the core has %d lines, want at most %d", core, maxCore)
	}
}

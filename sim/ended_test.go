package sim_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/sim"
)

// badProgram is set in the processes of TestProcesses.
const badProgram = "FLYBALL_TEST_BAD_PROGRAM"

// TestBadProgram is run by TestProcesses.
func TestBadProgram(t *testing.T) {
	run := badPrograms[os.Getenv(badProgram)]
	if run == nil {
		return // not one of those processes
	}
	sim.Check(t, sim.Scenario{Steps: []sim.Step{app("a", `"x":"y"`, "")}, Program: run})
}

// restarts counts the starts of all programs of the process.
var restarts atomic.Int64

var badPrograms = map[string]func(context.Context, *rest.Config) error{
	"exits at its second start": func(ctx context.Context, cfg *rest.Config) error {
		if restarts.Add(1) == 4 {
			os.Exit(3)
		}
		return idle(ctx, cfg)
	},
	"panics in a goroutine": func(ctx context.Context, cfg *rest.Config) error {
		if restarts.Add(1) == 4 {
			go panic("lost")
		}
		return idle(ctx, cfg)
	},
	"has state outside": func(ctx context.Context, cfg *rest.Config) error {
		late := restarts.Add(1) > 10
		return program(func(m *flyball.Manager) error {
			return operator(m, func(k kit) error {
				if k.deleted() || late {
					return nil
				}
				return k.ensure("a-run")
			})
		})(ctx, cfg)
	},
	"is wrong": func(ctx context.Context, cfg *rest.Config) error {
		b := bug{reconcile: stateless(func(k kit, _ bool) error {
			if k.deleted() || k.cm.Annotations["done"] != "" {
				return nil
			}
			if err := k.note("done", "yes"); err != nil {
				return err
			}
			return k.ensure("a-run")
		})}
		return program(func(m *flyball.Manager) error { return operator(m, b.reconcile(false)) })(ctx, cfg)
	},
}

// idle is an operator that does nothing.
func idle(ctx context.Context, cfg *rest.Config) error {
	return program(func(m *flyball.Manager) error { return operator(m, func(kit) error { return nil }) })(ctx, cfg)
}

// A program that ends the process leaves a line behind that repeats it, and a failure that only shows in a process with a
// past is told as such.
func TestProcesses(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"exits at its second start": {"sim: the process has ended in the midst of this plan", "again: go test -run '^TestBadProgram$' -sim.replay='"},
		"panics in a goroutine":     {"panic: lost", "sim: the process has ended in the midst of this plan", "again: go test -run '^TestBadProgram$' -sim.replay='"},
		"has state outside":         {"in a process of its own nothing is wrong after this plan. So state outlives the program", "secrets/default/a-run is missing"},
		"is wrong":                  {"secrets/default/a-run is missing", "again: go test -run '^TestBadProgram$' -sim.replay='"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestBadProgram$", "-sim.pairs=0", "-sim.part=1/1")
			cmd.Env, cmd.Dir = append(os.Environ(), badProgram+"="+name), t.TempDir()
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Error("it does not fail")
			}
			for _, w := range want {
				if !strings.Contains(string(out), w) {
					t.Errorf("it does not say %q:\n%s", w, out)
				}
			}
			if outlives := "state outlives the program"; strings.Contains(string(out), outlives) != (name == "has state outside") {
				t.Errorf("whether %s is wrong:\n%s", outlives, out)
			}
		})
	}
}

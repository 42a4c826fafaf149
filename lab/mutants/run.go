package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/tier"
)

// mutant is a change of the framework that breaks it.
type mutant struct {
	name string
	file string // from the root of the tree, with slashes
	// old is a text of the file that occurs once, and new takes its place.
	old, new string
	breaks   string // what a user sees of it, in a few words
	short    bool   // it is part of the short form
	survives string // why no simulation can find it; "": one must
}

// apply returns the file with the mutant.
func (m mutant) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	if n := bytes.Count(text, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s: %s has its text %d times: the mutant is gone; mend it or delete it", m.name, m.file, n)
	}
	return bytes.Replace(text, []byte(m.old), []byte(m.new), 1), nil
}

// simulation is a test that simulates a program over the framework.
type simulation struct {
	name, folder, run string
	packages          []string // of the framework, by folder; set by findPackages
}

// simulations are those of the programs that ship, and those of the parts that none of them uses. Those of one folder
// are one build.
var simulations = []simulation{
	{name: "podscaler", folder: "sim", run: "^TestPodscaler$"},
	{name: "candidates", folder: "sim", run: "^TestParts.+"},
	{name: "parts", folder: "sim", run: "^TestParts$"},
	{name: "podjournal", folder: "examples/podjournal", run: "^TestSim$"},
	{name: "memcached", folder: "examples/migrating/memcached/after", run: "^TestSim$"},
	{name: "guestbook", folder: "examples/guestbook/internal/controller", run: "^TestSim$"},
}

// bench builds and runs the simulations.
type bench struct {
	root, tmp   string
	simulations []simulation
}

// rootOf returns the root of the tree.
func rootOf(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOWORK").Output()
	work := strings.TrimSpace(string(out))
	if err == nil && (work == "" || work == "off") {
		err = errors.New("run it inside of the workspace")
	}
	return filepath.Dir(work), err
}

const module = "github.com/flyball-io/flyball/"

// findPackages finds the packages of the framework that each simulation has in it.
func (b *bench) findPackages(ctx context.Context) error {
	for i, s := range b.simulations {
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "./"+s.folder)
		cmd.Dir = b.root
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("go list of %s: %w", s.folder, err)
		}
		for line := range strings.Lines(string(out)) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if folder, ok := strings.CutPrefix(name, module); ok {
				b.simulations[i].packages = append(b.simulations[i].packages, folder)
			}
		}
	}
	return nil
}

// finding is what has noticed a mutant; by is "" for nothing.
type finding struct{ by, plan, what string }

// longest bounds a simulation. On a busy machine one of parts takes five minutes.
const longest = 20 * time.Minute

// try runs the simulations with a mutant, one after the other, until one notices it.
func (b *bench) try(ctx context.Context, m mutant, text []byte, pairs int) (finding, error) {
	overlay := ""
	if m.file != "" {
		var err error
		if overlay, err = b.overlay(m, text); err != nil {
			return finding{}, err
		}
	}
	built := map[string]string{} // by folder
	for _, s := range b.simulations {
		if m.file != "" && !slices.Contains(s.packages, path.Dir(m.file)) {
			continue
		}
		if built[s.folder] == "" {
			binary := filepath.Join(b.tmp, "simulation.test")
			args := []string{"test", "-c", "-vet=off", "-o", binary}
			if overlay != "" {
				args = append(args, "-overlay", overlay)
			}
			cmd := exec.CommandContext(ctx, "go", append(args, "./"+s.folder)...)
			cmd.Dir = b.root
			if out, err := cmd.CombinedOutput(); err != nil {
				return finding{}, fmt.Errorf("it does not build: %w\n%s", err, out)
			}
			clear(built) // one binary at a time
			built[s.folder] = binary
		}
		fmt.Fprintf(os.Stderr, "%s: %s, %d pairs\n", m.name, s.name, pairs)
		cmd := exec.CommandContext(ctx, built[s.folder], "-test.run", s.run, "-test.timeout", longest.String(), "-test.failfast", "-sim.keep=false", fmt.Sprint("-sim.pairs=", pairs))
		cmd.Dir, cmd.Env = filepath.Join(b.root, filepath.FromSlash(s.folder)), append(os.Environ(), tier.AuditEnv+"=1") // all of their faults
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return finding{}, context.Cause(ctx)
		}
		if strings.Contains(string(out), "panic: test timed out") {
			return finding{}, fmt.Errorf("%s is not at its end after %v: that shows nothing", s.name, longest)
		}
		if err != nil {
			plan, what := explain(string(out))
			return finding{s.name, plan, what}, nil
		}
	}
	return finding{}, nil
}

// overlay writes the file with the mutant, and what tells the go command of it.
func (b *bench) overlay(m mutant, text []byte) (string, error) {
	file := filepath.Join(b.tmp, "mutant.go")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return "", err
	}
	out, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(b.root, filepath.FromSlash(m.file)): file}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(b.tmp, "overlay.json")
	return name, os.WriteFile(name, out, 0o644)
}

// explain finds the first plan that failed in the output of a test, and what is wrong after it.
func explain(out string) (plan, what string) {
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		_, text, ok := strings.Cut(line, ": sim: ")
		if !ok || strings.Contains(text, " of ") && strings.Contains(text, " single faults") {
			continue
		}
		if what, ok := strings.CutPrefix(text, "without a fault: "); ok {
			return "none", short(what)
		}
		if i+1 < len(lines) {
			return text, short(strings.TrimSpace(lines[i+1]))
		}
	}
	for _, line := range lines {
		if _, what, ok := strings.Cut(line, "_test.go:"); ok {
			_, what, _ = strings.Cut(what, ": ")
			return "none", short(what)
		}
		if strings.Contains(line, "panic:") || strings.Contains(line, "fatal error:") {
			return "none", short(line)
		}
	}
	return "none", short(strings.TrimSpace(out))
}

// short bounds a text of the table. The end says most.
func short(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); len(r) > 110 {
		return "…" + string(r[len(r)-110:])
	}
	return text
}

// Command mutants breaks the framework in many ways, one at a time, and runs the simulations of programs over each: a
// table in Markdown of what notices it.
//
//	go run ./lab/mutants    # all
//	go run ./lab/mutants -only lost-add,late-fence -pairs 200
//	go run ./lab/mutants -short    # one of each part
//
// A mutant is a text of a file that is replaced by another one. Nothing is written to the tree: the go command builds
// with an overlay. A text that does not occur just once is an error, and so is a mutant that survives and says nothing of
// why. It first runs all simulations without a mutant.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.Func("only", "`names` of mutants, separated by commas; empty: all", func(names string) error {
		o.only = strings.Split(names, ",")
		return nil
	})
	flag.BoolVar(&o.short, "short", false, "a few mutants only, and no run without one")
	flag.IntVar(&o.pairs, "pairs", 200, "`pairs` of faults for mutants that survive the single ones")
	flag.StringVar(&o.simulations, "simulations", "", "`names` of the simulations to run, separated by commas; empty: all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	only        []string
	short       bool
	pairs       int
	simulations string
}

// chosen returns the mutants of the flags.
func (o options) chosen() ([]mutant, error) {
	for _, name := range o.only {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.name == name }) {
			return nil, fmt.Errorf("there is no mutant %q", name)
		}
	}
	return slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		return o.only != nil && !slices.Contains(o.only, m.name) || o.short && !m.short
	}), nil
}

func (o options) run(ctx context.Context) error {
	chosen, err := o.chosen()
	if err != nil {
		return err
	}
	root, err := rootOf(ctx)
	if err != nil {
		return err
	}
	var bad []error
	texts := map[string][]byte{}
	for _, m := range chosen {
		text, err := m.apply(root)
		bad = append(bad, err)
		texts[m.name] = text
	}
	if err := errors.Join(bad...); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	b := bench{root: root, tmp: tmp}
	for _, s := range simulations {
		if o.simulations == "" || slices.Contains(strings.Split(o.simulations, ","), s.name) {
			b.simulations = append(b.simulations, s)
		}
	}
	if err := b.findPackages(ctx); err != nil {
		return err
	}
	if !o.short && o.only == nil {
		if found, err := b.try(ctx, mutant{}, nil, 0); err != nil || found.by != "" {
			return errors.Join(fmt.Errorf("without a mutant: %s: %s", found.by, found.what), err)
		}
	}
	fmt.Println("| mutant | what it breaks | found by | plan | what it says | seconds |\n|---|---|---|---|---|---|")
	for _, m := range chosen {
		began := time.Now()
		found, err := b.try(ctx, m, texts[m.name], 0)
		if err == nil && found.by == "" && o.pairs > 0 {
			found, err = b.try(ctx, m, texts[m.name], o.pairs)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", m.name, err))
			continue
		}
		switch {
		case found.by == "" && m.survives == "":
			bad = append(bad, fmt.Errorf("%s survives", m.name))
			found.by = "**nothing**"
		case found.by == "":
			found.by = "nothing: " + m.survives
		case m.survives != "":
			bad = append(bad, fmt.Errorf("%s is found, and should survive: %s", m.name, m.survives))
		}
		fmt.Printf("| %s | %s: %s | %s | %s | %s | %.0f |\n", m.name, filepath.Dir(m.file), m.breaks, found.by, code(found.plan), code(found.what), time.Since(began).Seconds())
	}
	return errors.Join(bad...)
}

// code returns a text as code in a cell of a table.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.NewReplacer("|", "¦", "`", "'").Replace(text) + "`"
}

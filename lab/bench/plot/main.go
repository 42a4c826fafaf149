// Command plot measures the cost of holding objects over their number, and draws it:
//
//	go run -C lab ./bench/plot -o holding.svg
//
// -save stores the figures, and -from draws stored ones.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/flyball-io/flyball/lab/bench/command"
	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/measure"
	"github.com/flyball-io/flyball/lab/bench/progress"
	"github.com/flyball-io/flyball/lab/bench/replay"
)

const usage = `Usage: go run -C lab ./bench/plot -o FILE [flags]

Measures, for each number of Pods, the memory that they hold and the CPU until they are there, as
compare does with -cases hold, and draws both. A million Pods take 7 GB of disk, once, for what the
server sends.

Flags:
`

func main() {
	command.Main("plot", "interrupted", func(ctx context.Context) error {
		return run(ctx, os.Args[1:], os.Stderr)
	})
}

func run(ctx context.Context, args []string, log io.Writer) error {
	f := command.Flags("plot", usage, log)
	sizes := f.String("sizes", "1000,3000,10000,30000,100000,300000,1000000", "numbers of objects, separated by commas")
	peers := f.Int("peers", 100_000, "measure the peers up to so many: they need 2.5 GB of memory for each 100,000")
	owners := f.Int("owners", 50, "among how many owners the Pods are shared out")
	out := f.String("o", "", "`file` for the picture (SVG)")
	save := f.String("save", "", "`file` for the figures (JSON)")
	from := f.String("from", "", "`file` with figures that were saved: nothing is measured")
	tapes := f.String("tapes", "", "`folder` of the encoded objects (default in the user's cache folder)")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("there are no arguments, but %q; see -help", f.Args())
	case *out == "":
		return errors.New("-o: a file for the picture is missing; see -help")
	}
	var all []*measure.Results
	var err error
	if *from != "" {
		all, err = load(*from)
	} else {
		all, err = holding(ctx, *sizes, *peers, *owners, *tapes, log)
	}
	if err != nil {
		return err
	}
	if *save != "" {
		b, err := json.MarshalIndent(all, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(*save, append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	picture, err := draw(all)
	if err != nil {
		return err
	}
	return os.WriteFile(*out, picture, 0o644)
}

func load(file string) (all []*measure.Results, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

// holding measures each size.
func holding(ctx context.Context, sizes string, peers, owners int, tapes string, log io.Writer) (all []*measure.Results, err error) {
	var numbers []int
	for text := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-sizes: %q is not a number of objects", text)
		}
		numbers = append(numbers, n)
	}
	if tapes, err = replay.Dir(tapes); err != nil {
		return nil, err
	}
	show := progress.New(log)
	defer show.End()
	programs, err := measure.Build(ctx, contender.Libraries(), show.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, programs.Remove()) }()
	for _, n := range numbers {
		s := measure.Defaults()
		s.Spec.Kind, s.Spec.Objects, s.Spec.Owners, s.Tapes, s.Cases = "pods", n, owners, tapes, []string{"hold"}
		s.Runs, s.Contenders = 1, []string{contender.Flyball}
		if n <= peers {
			s.Contenders = append(contender.Libraries(), "controller-runtime-metadata")
		}
		s.Log = func(format string, args ...any) { show.Log(fmt.Sprintf("%7d objects: ", n)+format, args...) }
		r, err := measure.Run(ctx, programs, s)
		if err != nil {
			return nil, fmt.Errorf("%d objects: %w", n, err)
		}
		all = append(all, r)
	}
	return all, nil
}

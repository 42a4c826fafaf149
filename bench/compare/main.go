// Command compare measures what it costs to hold objects: Flyball beside client-go's informer and
// controller-runtime's cache, the same objects, one run, a process each, in turn.
//
//	compare: a replay server ◄── HTTP ── a contender's process   (list, watch, reads)
//	            │  ▲                        │
//	            │  └── answers: CPU, bytes ◄┘
//	            └───── commands: sync, seen 50000, reads, …
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/bench/replay"
)

const childEnv = "FLYBALL_BENCH_CHILD"

func main() {
	if os.Getenv(childEnv) != "" {
		if err := child(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "compare: contender:", err)
			os.Exit(1)
		}
		return
	}
	var s setup
	flag.StringVar(&s.spec.Kind, "kind", "pods", "what to hold: "+strings.Join(corpus.Kinds(), ", "))
	flag.IntVar(&s.spec.Objects, "objects", 100_000, "how many")
	flag.IntVar(&s.spec.Owners, "owners", 50, "among how many owners they are shared out")
	flag.BoolVar(&s.spec.ManagedFields, "managed-fields", true, "whether the objects carry managedFields")
	flag.Uint64Var(&s.spec.Seed, "seed", 1, "of the corpus")
	form := flag.String("form", "", "how objects travel: json or protobuf (default protobuf, where the kind has it)")
	flag.BoolVar(&s.tls, "tls", false, "TLS and HTTP/2 instead of HTTP/1.1")
	flag.BoolVar(&s.best, "best", false, "drop managedFields in all contenders, which are else as they are by default")
	flag.IntVar(&s.flat, "events", 50_000, "how many changes to play flat out")
	flag.IntVar(&s.paced, "paced", 20_000, "how many changes to play at 2,000 a second")
	s.reading = 500 * time.Millisecond
	only := flag.String("contenders", "flyball,client-go,controller-runtime", "which, separated by commas; there is controller-runtime-metadata, too")
	output := flag.String("o", "table", "table or json")
	tapes := flag.String("tapes", "", "folder of the recorded tapes (default in the user's cache folder)")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Usage: go run -C bench ./compare [flags]\n\nMeasures Flyball beside its peers. The first run with a corpus records it, which takes\nabout a minute for each 100,000 objects.\n\nFlags:\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 || *output != "table" && *output != "json" {
		fmt.Fprintln(os.Stderr, "compare: -o is table or json, and there are no arguments; see -help")
		os.Exit(2)
	}
	if *form == "" {
		*form = string(replay.Protobuf)
		if s.spec.Kind == "widgets" {
			*form = string(replay.JSON)
		}
	}
	s.form, s.contenders = replay.Form(*form), strings.Split(*only, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := run(ctx, s, *tapes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
	if *output == "json" {
		err = json.NewEncoder(os.Stdout).Encode(r)
	} else {
		err = r.table(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// tapeDir is where tapes are kept unless something else is asked for.
func tapeDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("a folder for the tapes, which -tapes names: %w", err)
	}
	return filepath.Join(cache, "flyball", "bench"), nil
}

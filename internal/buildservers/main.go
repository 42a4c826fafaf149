// Command buildservers builds the programs that tests talk to: "rules" of the API server in memory, and "controlplane",
// the real one. It compiles less than the tool, whose --build-only does the same.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/flyball-io/flyball/test/plane"
)

var builds = map[string]func(context.Context, io.Writer) (string, error){
	"rules":        plane.BuildRules,
	"controlplane": plane.Build,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, name := range os.Args[1:] {
		build := builds[name]
		if build == nil {
			fmt.Fprintf(os.Stderr, "buildservers: no program %q: want rules or controlplane\n", name)
			os.Exit(2)
		}
		file, err := build(ctx, os.Stderr)
		if err != nil {
			fmt.Fprintf(os.Stderr, "buildservers: %s: %v\n", name, err)
			os.Exit(1)
		}
		fmt.Println(file)
	}
}

// Command flyball is the command line tool of the Flyball framework.
//
// Exit status: 0 on success, also when a signal asked it to stop; 1 when it
// failed; 2 when the command line was wrong.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:])) }

// run executes one command line and returns the exit status. The command's context ends with the
// first SIGINT or SIGTERM. A second one ends the process at once.
func run(args []string) int {
	ctx, forget := endWithGoRun(context.Background())
	defer forget()
	ctx, restore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer restore()
	context.AfterFunc(ctx, restore)

	root := newRoot()
	root.SetArgs(args)
	understood := false
	root.PersistentPreRun = func(*cobra.Command, []string) { understood = true }
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return 0
	case understood:
		fmt.Fprintln(os.Stderr, "flyball:", err)
		return 1
	default:
		fmt.Fprintf(os.Stderr, "flyball: %v\nSee '%s --help'.\n", err, cmd.CommandPath())
		return 2
	}
}

// newRoot returns the whole command tree. A subcommand must not set PersistentPreRun: run sets it
// to tell errors of the command line from errors of the command.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "flyball",
		Short:         "Tools for Kubernetes controllers written with Flyball",
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newDemo(), newControlplane(), newAPIServer(), newWeigh(), newRBAC(), newGenerate(), newManifests(), newCRD(), newInit(), newCreate(), newEdit(), newDelete(), newBuildInstaller(),
		newInstall(), newUninstall(), newDeploy(), newUndeploy(), newRun(), newSim(), newVersion())
	return root
}

// complete sets what a shell offers for the value of a flag. Without values it offers nothing, for
// flags that do not name a file.
func complete(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil { // the command has no such flag
		panic(err)
	}
}

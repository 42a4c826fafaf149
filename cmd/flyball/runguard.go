package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/client"
)

// guardCommand is the hidden command of a guard.
const guardCommand = "run-guard"

// guard is a process that cleans up the cluster if "flyball run" is killed. A killed process runs
// no deferred calls, and a webhook without a server can block a whole cluster.
type guard struct {
	cmd *exec.Cmd
	in  io.Closer
	enc *json.Encoder
}

// guarded is the knowledge of a guard. Each message on its standard input adds to it.
type guarded struct {
	Back    back `json:"back,omitzero"`
	Program int  `json:"program,omitempty"` // process id of the project's program
	Over    bool `json:"over,omitempty"`    // nothing is left to do
}

// startGuard starts a guard for a cluster. The guard ends when over is called, or when this process
// has ended.
func startGuard(ctx context.Context, where client.ConfigOptions, b back, errOut io.Writer) (*guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the guard of this run: %w", err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, guardCommand, "--kubeconfig", where.Kubeconfig, "--context", where.Context)
	cmd.Stderr = errOut
	apart(cmd)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("the guard of this run: %w", err)
	}
	g := &guard{cmd: cmd, in: in, enc: json.NewEncoder(in)}
	if err := g.send(guarded{Back: b}); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// send sends a message to the guard. It does nothing if g is nil.
func (g *guard) send(m guarded) error {
	if g == nil {
		return nil
	}
	if err := g.enc.Encode(m); err != nil {
		return fmt.Errorf("the guard of this run: %w", err)
	}
	return nil
}

// close ends the guard without a clean-up.
func (g *guard) close() error {
	if g == nil {
		return nil
	}
	err := errors.Join(g.send(guarded{Over: true}), g.in.Close())
	return errors.Join(err, g.cmd.Wait())
}

func newRunGuard() *cobra.Command {
	var where client.ConfigOptions
	cmd := &cobra.Command{
		Use:    guardCommand,
		Short:  `Clean up after a "flyball run" that is killed, which starts this itself`,
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return stand(cmd.Context(), where, cmd.InOrStdin(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&where.Kubeconfig, "kubeconfig", "", "`FILE` of the cluster")
	cmd.Flags().StringVar(&where.Context, "context", "", "`NAME` of the context in it")
	return cmd
}

// stand waits until "flyball run" has ended. If it was killed, stand cleans up in its place.
func stand(ctx context.Context, where client.ConfigOptions, in io.Reader, errOut io.Writer) error {
	var g guarded
	for dec := json.NewDecoder(in); !g.Over; {
		if dec.Decode(&g) != nil { // the sender has ended, perhaps in the middle of a message
			break
		}
	}
	if g.Over {
		return nil
	}
	fmt.Fprintln(errOut, "flyball run was killed: its program is ended, and the API server calls this machine no more")
	if g.Program > 0 {
		end(g.Program, 15*time.Second)
	}
	cfg, err := client.Config(where)
	if err != nil {
		return err
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	return g.Back.put(ctx, c, errOut)
}

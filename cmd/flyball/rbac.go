package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/rbac"
)

// rbacFlags are the flags of "flyball rbac".
type rbacFlags struct {
	recorded, declared, with []string
	role, out, name          string
	check                    bool

	extra rbac.Rules // what --with stands for
}

func newRBAC() *cobra.Command {
	var f rbacFlags
	cmd := &cobra.Command{
		Use:   "rbac",
		Short: "Derive the least ClusterRole, or judge the one there is",
		Long: `Derive the least ClusterRole that a program needs: from what its tests asked the
API server for, from what it declares, and from features that no test shows.
It is printed, or written to --out. No rule ever has a "*".

With --role, judge that role instead: print a line for each permission that it
lacks or has too much, and fail if there is one.

    missing: patch deployments.apps
    excess: delete secrets

A test records with one line (package rbac), into the folder $` + rbac.FolderVariable + `:

    rbac.RecordTest(t, &options.Client)

Of what the tests both list and watch, as caches do, get is needed, too.`,
		Example: `  FLYBALL_RBAC=$PWD/bin/rbac go test ./...
  flyball rbac --recorded bin/rbac --with leases,events --role config/rbac/role.yaml

  # what a program needs that is not tested yet
  flyball rbac --recorded bin/rbac --declared config/rbac/extra.yaml --out config/rbac/role.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), f.parse(cmd.Flags().Changed("check")))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.OutOrStdout()) },
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.recorded, "recorded", nil, "`FILE` or folder that tests recorded to; may be repeated")
	fs.StringSliceVar(&f.declared, "declared", nil, "role or other `FILE` with rules, or folder of them, that are needed as well; may be repeated")
	fs.StringSliceVar(&f.with, "with", nil, "`FEATURE` that is used: leases, events, serving, certificates, or owning=RESOURCE.GROUP for owner references to such objects; may be repeated")
	fs.StringVar(&f.role, "role", "", "`FILE` with the roles to judge")
	fs.BoolVar(&f.check, "check", false, "judge the role (default: if --role is given)")
	fs.StringVar(&f.out, "out", "", "write the ClusterRole to this `FILE`")
	fs.StringVar(&f.name, "name", "manager-role", "`NAME` of the ClusterRole")
	return cmd
}

// parse refuses what can only be a mistake.
func (f *rbacFlags) parse(checkGiven bool) error {
	if len(f.recorded)+len(f.declared)+len(f.with) == 0 {
		return errors.New("nothing to derive from: give --recorded, --declared or --with")
	}
	if !checkGiven {
		f.check = f.role != ""
	}
	if f.check && f.role == "" {
		return errors.New("--check: give the --role to judge")
	}
	all := make([]rbac.Rules, len(f.with))
	for i, w := range f.with {
		feature, resource, _ := strings.Cut(w, "=")
		name, group, _ := strings.Cut(resource, ".")
		switch {
		case w == "leases":
			all[i] = rbac.Leases()
		case w == "events":
			all[i] = rbac.Events()
		case w == "serving":
			all[i] = rbac.Serving()
		case w == "certificates":
			all[i] = rbac.Certificates()
		case feature == "owning" && name != "" && !strings.ContainsAny(resource, "*/"):
			all[i] = rbac.Owning(group, name)
		default:
			return fmt.Errorf("--with %s: want leases, events, serving, certificates or owning=RESOURCE.GROUP", w)
		}
	}
	f.extra = rbac.Union(all...)
	return nil
}

func (f *rbacFlags) run(out io.Writer) error {
	recorded, err := rbac.Load(f.recorded...)
	if err != nil {
		return fmt.Errorf("--recorded: %w", err)
	}
	declared, err := rbac.Load(f.declared...)
	if err != nil {
		return fmt.Errorf("--declared: %w", err)
	}
	need := rbac.Union(rbac.Followed(recorded), declared, f.extra)
	var have rbac.Rules
	if f.check {
		if have, err = rbac.Load(f.role); err != nil {
			return fmt.Errorf("--role: %w", err)
		}
	}
	if f.out != "" {
		if err := os.WriteFile(f.out, need.ClusterRole(f.name), 0o644); err != nil {
			return err
		}
	}
	switch {
	case f.check:
		return judge(out, f.role, have, need)
	case f.out == "":
		_, err = out.Write(need.ClusterRole(f.name))
	}
	return err
}

func judge(out io.Writer, role string, have, need rbac.Rules) error {
	missing, excess := rbac.Missing(have, need), rbac.Excess(have, need)
	for _, p := range missing {
		fmt.Fprintln(out, "missing:", p)
	}
	for _, p := range excess {
		fmt.Fprintln(out, "excess:", p)
	}
	if len(missing)+len(excess) > 0 {
		return fmt.Errorf("%s: %d missing, %d in excess", role, len(missing), len(excess))
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/cmd/flyball/internal/roles"
	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
	"github.com/flyball-io/flyball/ops/rbac"
)

// rbacFlags are the flags of "flyball rbac".
type rbacFlags struct {
	recorded, declared, with, may, roles []string
	out, name                            string
	check                                bool

	extra, allowed rbac.Rules // the rules of --with and --may
}

func newRBAC() *cobra.Command {
	var f rbacFlags
	cmd := &cobra.Command{
		Use:   "rbac",
		Short: "Derive the least ClusterRole, or judge the one there is",
		Long: `Derive the least ClusterRole that a program needs: from what its tests asked the
API server for, from what it declares, and from features that no test shows.
It is printed, or written to --out. No rule ever has a "*".

With --role, judge these roles together instead: print a line for each permission
that they lack or have too much, and fail if there is one.

    missing: patch deployments.apps
    excess: delete secrets

If no permission is missing or in excess, it says so.

Where there are bindings to a ServiceAccount beside the roles, roles that none of
them names are left out. A grant for named objects counts if a test or a feature
needed that permission for any object.
A "*" in a role grants what it covers, and is in excess. An aggregated role grants
what the given roles grant that it selects.

Tests that start the program with package operatortest record into the folder
$` + rbac.FolderVariable + `; others need one line. With a client of Flyball, and with
controller-runtime or client-go, whose program needs nothing else of Flyball:

    rbac.RecordTest(t, &options.Client)
    operatortest.Record(t, cfg) // a *rest.Config, before its clients are made

Of what the tests both list and watch, as caches do, get is needed, too.`,
		Example: `  FLYBALL_RBAC=$PWD/bin/rbac go test -count=1 ./...
  flyball rbac --recorded bin/rbac --with leases,events,serving --may certificates,owning \
    --role config/rbac,config/webhook

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
	fs.StringSliceVar(&f.with, "with", nil, "`FEATURE` that is used: leases, events, serving, certificates, or owning=RESOURCE.GROUP for owner references to such objects, owning for those to all kinds that this project has a controller for; may be repeated")
	fs.StringSliceVar(&f.may, "may", nil, "`FEATURE` as in --with that the roles may grant, but need not; may be repeated")
	fs.StringSliceVar(&f.roles, "role", nil, "`FILE` with the roles to judge, or folder of them; may be repeated")
	fs.BoolVar(&f.check, "check", false, "judge the roles (default: if --role is given)")
	fs.StringVar(&f.out, "out", "", "write the ClusterRole to this `FILE`, which does not exist or has the first line of one that flyball wrote")
	fs.StringVar(&f.name, "name", "manager-role", "`NAME` of the ClusterRole")
	return cmd
}

// parse rejects what can only be a mistake.
func (f *rbacFlags) parse(checkGiven bool) error {
	if len(f.recorded)+len(f.declared)+len(f.with) == 0 {
		return errors.New("nothing to derive from: give --recorded, --declared or --with")
	}
	if !checkGiven {
		f.check = len(f.roles) > 0
	}
	if f.check && len(f.roles) == 0 {
		return errors.New("--check: give the --role to judge")
	}
	var err error
	if f.extra, err = features("--with", f.with); err != nil {
		return err
	}
	f.allowed, err = features("--may", f.may)
	return err
}

// features returns the rules for the values of a flag.
func features(flag string, names []string) (rbac.Rules, error) {
	var all []string
	for _, name := range names {
		if name != "owning" {
			all = append(all, name)
			continue
		}
		kinds, err := ownKinds()
		if err != nil {
			return rbac.Rules{}, fmt.Errorf("%s owning: %w", flag, err)
		}
		all = append(all, kinds...)
	}
	rules, err := rbac.Features(all...)
	if err != nil {
		return rules, fmt.Errorf("%s %w, or owning for the kinds of this project", flag, err)
	}
	return rules, nil
}

// ownKinds returns the features for owner references to the kinds of the project that contains the
// working directory.
func ownKinds() ([]string, error) {
	_, project, err := scaffold.Open(".")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, a := range project.APIs {
		if a.Controller {
			all = append(all, strings.TrimSuffix("owning="+a.Plural+"."+project.GroupOf(&a), "."))
		}
	}
	return all, nil
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
	nameless := rbac.Union(roles.Followed(recorded), f.extra)
	need := rbac.Union(nameless, declared)
	if f.out != "" {
		file, err := ours(f.out, generatedMark)
		if err != nil {
			return fmt.Errorf("--out %w", err)
		}
		text := append([]byte(generatedMark+". DO NOT EDIT.\n"), roles.ClusterRole(f.name, need)...)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	switch {
	case f.check:
		have, err := rbac.Granted(f.roles...)
		if err != nil {
			return fmt.Errorf("--role: %w", err)
		}
		need = rbac.Union(roles.Narrowed(nameless, have), declared)
		return judge(out, strings.Join(f.roles, ","), have, need, roles.Narrowed(f.allowed, have))
	case f.out == "":
		_, err = out.Write(roles.ClusterRole(f.name, need))
	}
	return err
}

func judge(out io.Writer, roles string, have, need, allowed rbac.Rules) error {
	missing, excess := rbac.Missing(have, need), rbac.Excess(have, rbac.Union(need, allowed))
	for _, p := range missing {
		fmt.Fprintln(out, "missing:", p)
	}
	for _, p := range excess {
		fmt.Fprintln(out, "excess:", p)
	}
	if len(missing)+len(excess) > 0 {
		return fmt.Errorf("%s: %d missing, %d in excess", roles, len(missing), len(excess))
	}
	fmt.Fprintf(out, "%s: all is well: no permission is missing, none is in excess\n", roles)
	return nil
}

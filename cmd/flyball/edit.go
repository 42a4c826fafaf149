package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
)

func newEdit() *cobra.Command {
	var f scaffold.Features
	o := scaffold.Options{Generate: generateAll}
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Switch features of a project on or off",
		Long: `Switch features of a project on or off. Those that are not given stay as they
are; the file PROJECT has them.

  --namespaced      The program watches the namespace that it runs in. Its
                    permissions are a Role there; that of all markers without
                    "namespace=" was a ClusterRole. Its webhooks are called for
                    that namespace only.
  --cert-manager    cert-manager makes the certificate of the webhooks. Without
                    it the program makes, shares and rotates it by itself.
  --network-policy  A NetworkPolicy says who reaches the metrics and webhooks.
  --prometheus      A ServiceMonitor has a Prometheus operator read the metrics.

--generate-embedded-object-meta and --allow-dangerous-types are options of
"flyball manifests", for good.

The groups of APIs have folders of their own in any case, so there is no
--multigroup.`,
		Example: `  flyball edit --namespaced
  flyball edit --network-policy --prometheus
  flyball edit --cert-manager=false`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return err
			}
			return cmd.ValidateFlagGroups()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return scaffolded(cmd, o, func(ctx context.Context, o scaffold.Options) (*scaffold.Result, error) {
				return scaffold.Edit(ctx, o, func(now *scaffold.Features) { givenFeatures(cmd.Flags(), f, now) })
			})
		},
	}
	bindFeatures(cmd.Flags(), &f)
	cmd.Flags().StringVar(&o.Dir, "dir", ".", "`DIR` of the project, or a folder in it")
	cmd.MarkFlagsOneRequired(featureFlags(&f)...)
	cmd.AddCommand(newEditAPI())
	return cmd
}

func newEditAPI() *cobra.Command {
	var n scaffold.NewHub
	o := scaffold.Options{Generate: generateAll}
	cmd := &cobra.Command{
		Use:   "api --group GROUP --kind KIND --hub VERSION",
		Short: "Make another version of a kind the one that is stored",
		Long: `Make another version of a kind the hub: the version that is stored, and that all
others are converted to. The conversion that was written between the old hub and
the new one is turned round, and what it does stays. Conversions of further
versions are made anew, with --yes also if they were edited.

Objects that a cluster has stored stay stored in the old version until they are
written again. What to do before that version can go is printed.`,
		Example: `  flyball edit api --group shop --kind Order --hub v2
  flyball delete api --group shop --version v1 --kind Order # once no cluster stores it`,
		Args: checked(n.Check),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return scaffolded(cmd, o, func(ctx context.Context, o scaffold.Options) (*scaffold.Result, error) {
				return scaffold.MoveHub(ctx, o, n)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&n.Group, "group", "", "`GROUP` of the API without the domain (required)")
	fs.StringVar(&n.Kind, "kind", "", "`KIND` of the objects (required)")
	fs.StringVar(&n.Hub, "hub", "", "`VERSION` that is stored from then on (required)")
	fs.BoolVarP(&n.Yes, "yes", "y", false, "make conversions anew that were edited, too")
	fs.StringVar(&o.Dir, "dir", ".", "`DIR` of the project, or a folder in it")
	required(cmd, "group", "kind", "hub")
	return cmd
}

// feature is the flag of a feature.
type feature struct {
	flag, usage string
	on          *bool
}

func switches(f *scaffold.Features) []feature {
	return []feature{
		{"namespaced", "the program watches the namespace that it runs in, and has a Role", &f.Namespaced},
		{"cert-manager", "cert-manager makes the certificate of the webhooks", &f.CertManager},
		{"network-policy", "a NetworkPolicy restricts who reaches the program", &f.NetworkPolicy},
		{"prometheus", "a ServiceMonitor has Prometheus read the metrics", &f.Prometheus},
		{"generate-embedded-object-meta", "CRDs have the fields of an ObjectMeta that is inside of a spec", &f.GenerateEmbeddedObjectMeta},
		{"allow-dangerous-types", "CRDs may have floats, which languages read differently", &f.AllowDangerousTypes},
	}
}

func bindFeatures(fs *pflag.FlagSet, f *scaffold.Features) {
	for _, x := range switches(f) {
		fs.BoolVar(x.on, x.flag, false, x.usage)
	}
}

func featureFlags(f *scaffold.Features) (out []string) {
	for _, x := range switches(f) {
		out = append(out, x.flag)
	}
	return out
}

// givenFeatures sets those features that the command line has.
func givenFeatures(fs *pflag.FlagSet, given scaffold.Features, now *scaffold.Features) {
	from, to := switches(&given), switches(now)
	for i, x := range from {
		if fs.Changed(x.flag) {
			*to[i].on = *x.on
		}
	}
}

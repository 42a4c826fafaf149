package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
)

func newDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Remove an API or webhooks from a project",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDeleteAPI(), newDeleteWebhook())
	return cmd
}

func newDeleteAPI() *cobra.Command {
	cmd, _ := newRemoval("api", "Remove a kind, or a version of a kind, and its controller", (*scaffold.Removal).CheckNames, scaffold.DeleteAPI)
	cmd.Long = `Remove a version of a kind from the project: what "flyball create api" and
"flyball create webhook" made for it, and what was generated from it. With the
last version the kind goes, and its controller. The hub goes last, or after
"flyball edit api --hub" has made another version the hub and each cluster has
written its objects in that one.

The rest of the project must build without it, or nothing is removed. Files that
were edited since they were made are only removed with --yes. In a cluster
nothing changes: "kubectl delete crd" removes a kind there, with all its objects.`
	cmd.Example = `  flyball delete api --group shop --version v1 --kind Order
  flyball delete api --group core --version v1 --kind Pod --yes`
	return cmd
}

func newDeleteWebhook() *cobra.Command {
	cmd, r := newRemoval("webhook", "Remove webhooks from an API: defaulting, validation, conversion", (*scaffold.Removal).CheckWebhooks, scaffold.DeleteWebhook)
	cmd.Long = `Remove webhooks of a kind from the project, with their tests. The rest of the
project must build without them, or nothing is removed. Files that were edited
since they were made are only removed with --yes.

VERSION is the one that the webhooks were made for; for --conversion it is the
hub, and the conversion of all versions goes. They must then have the same
fields, or what only one of them has is lost: "flyball manifests" warns of it.`
	cmd.Example = `  flyball delete webhook --group shop --version v1 --kind Order --defaulting`
	fs := cmd.Flags()
	fs.BoolVar(&r.Defaulting, "defaulting", false, "remove the webhook that sets defaults")
	fs.BoolVar(&r.Validation, "validation", false, "remove the webhook that refuses what is wrong")
	fs.BoolVar(&r.Validation, "programmatic-validation", false, "the same as --validation")
	fs.BoolVar(&r.Conversion, "conversion", false, "remove the webhook that converts between versions")
	return cmd
}

// newRemoval returns a command that removes what r names.
func newRemoval(use, short string, check func(*scaffold.Removal) error, remove func(context.Context, scaffold.Options, scaffold.Removal) (*scaffold.Result, error)) (*cobra.Command, *scaffold.Removal) {
	r, o := &scaffold.Removal{}, &scaffold.Options{Generate: generateAll}
	cmd := &cobra.Command{
		Use:   use + " --group GROUP --version VERSION --kind KIND",
		Short: short,
		Args:  checked(func() error { return check(r) }),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return scaffolded(cmd, *o, func(ctx context.Context, o scaffold.Options) (*scaffold.Result, error) { return remove(ctx, o, *r) })
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&r.Group, "group", "", "`GROUP` of the API, as it was created with (required)")
	fs.StringVar(&r.Version, "version", "", "`VERSION` of the API (required)")
	fs.StringVar(&r.Kind, "kind", "", "`KIND` of the objects (required)")
	fs.BoolVarP(&r.Yes, "yes", "y", false, "remove files that were edited, too")
	fs.StringVar(&o.Dir, "dir", ".", "`DIR` of the project, or a folder in it")
	required(cmd, "group", "version", "kind")
	return cmd, r
}

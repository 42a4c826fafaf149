package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
)

func newCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Add an API or webhooks to a project",
		Long: `Add an API or webhooks to a project. Symbolic links in the project are followed
as long as they lead to files of the project. What lies behind any other link is
read and never written: a step that would have to write there is refused.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCreateAPI(), newCreateWebhook())
	return cmd
}

func newCreateAPI() *cobra.Command {
	var n scaffold.NewAPI
	var namespaced bool
	o := scaffold.Options{Generate: generateAll}
	cmd := &cobra.Command{
		Use:   "api --group GROUP --version VERSION --kind KIND",
		Short: "Add a kind, or a version of a kind, and its controller",
		Long: `Add a kind to the project:

  api/GROUP/VERSION/KIND_types.go                its Go types: make them yours
  internal/controller/KIND_controller.go         its controller, with a test
  config/crd/bases, config/samples, config/rbac  what a cluster needs for it

The folder of an API is always api/GROUP/VERSION, also in projects of one group,
so that nothing has to move when a second one comes. GROUP is without the
domain: --group shop in a project of the domain example.com is the API group
shop.example.com.

Given another VERSION of a kind that the project has, it is made as a copy of
the hub, the version that is stored: that in which the kind was made first. If
the kind has a conversion webhook, the functions that convert to the hub and
back come with it, and a test; they copy every field and are yours to change.
Without one, two versions must have the same fields.

--resource=false adds a controller to a kind of the project that has none. One
for a kind that others define, such as Deployment, is written by hand and added
in cmd/main.go, after setup.Add.`,
		Example: `  flyball create api --group shop --version v1 --kind Order
  flyball create api --group shop --version v1 --kind Region --namespaced=false`,
		Args: checked(n.Check),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("namespaced") {
				n.Namespaced = &namespaced
			}
			return scaffolded(cmd, o, func(ctx context.Context, o scaffold.Options) (*scaffold.Result, error) {
				return scaffold.CreateAPI(ctx, o, n)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&n.Group, "group", "", "`GROUP` of the API without the domain, such as shop (required)")
	fs.StringVar(&n.Version, "version", "", "`VERSION` of the API, such as v1 or v1alpha1 (required)")
	fs.StringVar(&n.Kind, "kind", "", "`KIND` of the objects in the singular, such as Order (required)")
	fs.StringVar(&n.Plural, "plural", "", "`NAME` of the resource (default: the English plural of the kind, or that of its other versions)")
	fs.BoolVar(&namespaced, "namespaced", true, "objects live in namespaces")
	fs.BoolVar(&n.Resource, "resource", true, "make the Go types and the CRD")
	fs.BoolVar(&n.Controller, "controller", true, "make a controller")
	fs.StringVar(&o.Dir, "dir", ".", "`DIR` of the project, or a folder in it")
	required(cmd, "group", "version", "kind")
	return cmd
}

func newCreateWebhook() *cobra.Command {
	var n scaffold.NewWebhook
	o := scaffold.Options{Generate: generateAll}
	cmd := &cobra.Command{
		Use:   "webhook --group GROUP --version VERSION --kind KIND",
		Short: "Add webhooks to an API: defaulting, validation, conversion",
		Long: `Add webhooks to a kind of the project, each with a test:

  --defaulting  api/GROUP/VERSION/KIND_defaulting.go sets what a user left open
  --validation  api/GROUP/VERSION/KIND_validation.go refuses what is wrong
  --conversion  api/GROUP/OTHER/KIND_conversion.go for each OTHER version of the
                kind converts to the hub and back

Defaulting and validation belong to one version of a kind: what comes in in
another one is converted before it is asked about.

For --conversion VERSION is the hub, the version that is stored. While it is the
only one there is nothing to convert: the functions come with the next version,
by "flyball create api" or here by --spoke. They copy every field, and so does
their test demand: what goes to the hub and back must not change. A line is
added to the comment of the hub's Go type, +flyball:conversion=webhook, by which
"make manifests" knows.`,
		Example: `  flyball create webhook --group shop --version v1 --kind Order --defaulting --validation
  flyball create webhook --group shop --version v1 --kind Order --conversion --spoke v2`,
		Args: checked(n.Check),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return scaffolded(cmd, o, func(ctx context.Context, o scaffold.Options) (*scaffold.Result, error) {
				return scaffold.CreateWebhook(ctx, o, n)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&n.Group, "group", "", "`GROUP` of the API without the domain (required)")
	fs.StringVar(&n.Version, "version", "", "`VERSION` of the API (required)")
	fs.StringVar(&n.Kind, "kind", "", "`KIND` of the objects (required)")
	fs.BoolVar(&n.Defaulting, "defaulting", false, "make a webhook that sets defaults")
	fs.BoolVar(&n.Validation, "validation", false, "make a webhook that refuses what is wrong")
	fs.BoolVar(&n.Conversion, "conversion", false, "make a webhook that converts between versions")
	fs.StringSliceVar(&n.Spokes, "spoke", nil, "for --conversion: `VERSIONS` to make along with it")
	fs.StringVar(&o.Dir, "dir", ".", "`DIR` of the project, or a folder in it")
	required(cmd, "group", "version", "kind")
	return cmd
}

package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

--resource=false adds a controller to a kind of the project that has none, or
one for a kind that others define:

  - a kind of Kubernetes. GROUP is core, apps, batch, rbac and so on.
  - any other, by the package of its Go type, --external-api-path, which has a
    function AddToScheme. GROUP and --external-api-domain together are its API
    group. The tests need its CRD, in config/crd/external.`,
		Example: `  flyball create api --group shop --version v1 --kind Order
  flyball create api --group shop --version v1 --kind Region --namespaced=false

  # a controller of Deployments, and one of a kind of another operator
  flyball create api --group apps --version v1 --kind Deployment --resource=false
  flyball create api --group cert-manager --version v1 --kind Certificate --resource=false \
      --external-api-path github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1 \
      --external-api-domain io --external-api-module github.com/cert-manager/cert-manager@v1.18.2`,
		Args: checked(n.Check),
		RunE: func(cmd *cobra.Command, _ []string) error {
			n.Chosen = cmd.Flags().Changed("resource")
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
	bindExternal(fs, &n.External)
	fs.StringVar(&o.Dir, "dir", ".", "`DIR` of the project, or a folder in it")
	required(cmd, "group", "version", "kind")
	return cmd
}

// bindExternal adds the flags for kinds that others define.
func bindExternal(fs *pflag.FlagSet, n *scaffold.NewExternal) {
	fs.StringVar(&n.Path, "external-api-path", "", "import `PATH` of the package with the Go type of a kind that others define (default: that of Kubernetes)")
	fs.StringVar(&n.Domain, "external-api-domain", "", "`DOMAIN` that its API group ends with, such as io for cert-manager.io (default: GROUP is whole)")
	fs.StringVar(&n.Module, "external-api-module", "", "`MODULE@VERSION` of the package (default: what go.mod has, or else the latest)")
}

func newCreateWebhook() *cobra.Command {
	var n scaffold.NewWebhook
	o := scaffold.Options{Generate: generateAll}
	cmd := &cobra.Command{
		Use:   "webhook --group GROUP --version VERSION --kind KIND",
		Short: "Add webhooks to an API: defaulting, validation, conversion",
		Long: `Add webhooks to a kind, each with a test:

  --defaulting  api/GROUP/VERSION/KIND_defaulting.go sets what a user left open
  --validation  api/GROUP/VERSION/KIND_validation.go refuses what is wrong
  --conversion  api/GROUP/OTHER/KIND_conversion.go for each OTHER version of the
                kind converts to the hub and back

Defaulting and validation belong to one version of a kind: what comes in in
another one is converted before it is asked about.

For a kind that others define they are internal/webhook/KIND_defaulting.go and
KIND_validation.go: for one of Kubernetes, such as core/v1 Pod, or for any other
by --external-api-path, as for "flyball create api". They are called for all
namespaces but kube-system and the program's own: without the program, nothing
could be changed there, and the program not be started.

For --conversion VERSION is the hub, the version that is stored. While it is the
only one there is nothing to convert: the functions come with the next version,
by "flyball create api" or here by --spoke. They copy every field, and so does
their test demand: what goes to the hub and back must not change. A line is
added to the comment of the hub's Go type, +flyball:conversion=webhook, by which
"make manifests" knows.`,
		Example: `  flyball create webhook --group shop --version v1 --kind Order --defaulting --validation
  flyball create webhook --group shop --version v1 --kind Order --conversion --spoke v2
  flyball create webhook --group core --version v1 --kind Pod --defaulting`,
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
	fs.BoolVar(&n.Validation, "programmatic-validation", false, "the same as --validation")
	fs.BoolVar(&n.Conversion, "conversion", false, "make a webhook that converts between versions")
	bindExternal(fs, &n.External)
	fs.StringSliceVar(&n.Spokes, "spoke", nil, "for --conversion: `VERSIONS` to make along with it")
	fs.StringVar(&o.Dir, "dir", ".", "`DIR` of the project, or a folder in it")
	required(cmd, "group", "version", "kind")
	return cmd
}

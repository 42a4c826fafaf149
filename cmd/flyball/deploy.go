package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/manifest"
)

func newDeploy() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "deploy",
		Short: "Put a project's program, and all it needs, into a cluster",
		Long: `Apply everything in config/default to a cluster, server-side: namespace, CRDs,
permissions, the Deployment, Services, and webhook configurations, in an order
in which each finds what it needs. With --dry-run it is printed instead, as YAML
for "kubectl apply --server-side -f -". Nothing is applied if a change of a CRD
breaks clients or stored objects, unless --allow-breaking is given.`,
		Example: `  flyball deploy --image registry.example/shop:v1
  flyball deploy --dry-run`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, everything, false) },
	}
	f.bind(cmd)
	bindBreaking(cmd, &f.allowBreaking)
	cmd.Flags().StringVar(&f.image, "image", "", "`IMAGE` of the program (default: that of config/manager)")
	return cmd
}

func newUndeploy() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "undeploy",
		Short: "Take all of a project out of a cluster",
		Long: `Delete everything in config/default from a cluster: first the CRDs, with all
objects of their kinds, while the program still runs and can clean up after
them; then the rest. While that takes, it is printed which objects are left, and
for whose finalizers they wait. At the end of --timeout the error has them.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, everything, true) },
	}
	f.bind(cmd)
	return cmd
}

// managerContainer is the container of the program in its Deployment.
const managerContainer = "manager"

// setImage sets the image of the program.
func setImage(objs []manifest.Object, image string) error {
	found := false
	for _, o := range objs {
		if o.GetKind() != "Deployment" {
			continue
		}
		path := []string{"spec", "template", "spec", "containers"}
		containers, _, err := unstructured.NestedSlice(o.Object, path...)
		if err != nil {
			continue // the server reports what is wrong with it
		}
		for _, c := range containers {
			if c, ok := c.(map[string]any); ok && c["name"] == managerContainer {
				c["image"] = image
				found = true
			}
		}
		_ = unstructured.SetNestedSlice(o.Object, containers, path...)
	}
	if !found {
		return fmt.Errorf("--image %s: config/default has no Deployment with a container %q", image, managerContainer)
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/cmd/flyball/internal/crddiff"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/object"
)

func bindBreaking(cmd *cobra.Command, allow *bool) {
	cmd.Flags().BoolVar(allow, "allow-breaking", false, "apply CRDs although that breaks clients or stored objects of the cluster")
}

// gate returns an error if the CRDs among objs would break clients or stored objects of the cluster, and allow is not
// set. It prints each breaking change.
func gate(ctx context.Context, c *client.Live, objs []manifest.Object, allow bool, errOut io.Writer) error {
	now, next := crddiff.Set{}, crddiff.Set{}
	for _, o := range objs {
		if !manifest.IsCRD(o) {
			continue
		}
		there := &unstructured.Unstructured{}
		there.SetGroupVersionKind(o.GroupVersionKind())
		err := c.Get(ctx, object.KeyOf(o), there, client.GetOptions{})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil || there.GetDeletionTimestamp() != nil {
			continue
		}
		if err := stored(there, o); err != nil {
			return err
		}
		for set, o := range map[*crddiff.Set]manifest.Object{&now: there, &next: o} {
			text, err := o.MarshalJSON()
			if err == nil {
				err = set.Add(o.GetName(), text)
			}
			if err != nil {
				return err
			}
		}
	}
	breaking := 0
	for _, change := range crddiff.Diff(now, next) {
		if change.Breaking {
			breaking++
			fmt.Fprintln(errOut, change)
		}
	}
	if breaking == 0 || allow {
		return nil
	}
	return fmt.Errorf("%s of CRDs that the cluster has: nothing is applied; --allow-breaking applies them all the same", counted(breaking, "breaking change"))
}

// stored returns an error if a cluster may have objects in a version that a CRD does not have any more: the API server
// would refuse the CRD.
func stored(there, next manifest.Object) error {
	old, _, _ := unstructured.NestedStringSlice(there.Object, "status", "storedVersions")
	versions, _, _ := unstructured.NestedSlice(next.Object, "spec", "versions")
	for _, name := range old {
		if !slices.ContainsFunc(versions, func(v any) bool { m, _ := v.(map[string]any); return m["name"] == name }) {
			return fmt.Errorf("%s: the cluster may have objects that are stored as %s, which is gone: write each object once, and take %s out of status.storedVersions; docs/projects.md has the commands", manifest.Name(next), name, name)
		}
	}
	return nil
}

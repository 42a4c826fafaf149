package main

import (
	"context"
	"fmt"
	"io"

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

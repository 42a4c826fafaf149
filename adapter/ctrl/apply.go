package ctrl

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/client"
)

// Apply implements client.Writer. Without a field owner it applies as the program; see flyball.Options.Name.
func (c *clientOf) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...crclient.ApplyOption) error {
	o := crclient.ApplyOptions{}
	return c.apply(ctx, obj, nil, o.ApplyOptions(opts).AsPatchOptions(), "")
}

// apply applies a configuration, or another body to a subresource of its object. It fills obj with the answer.
func (c *clientOf) apply(ctx context.Context, obj, body runtime.ApplyConfiguration, as *metav1.PatchOptions, sub string) error {
	op := client.Op{Verb: "apply", Subresource: sub, Owner: as.FieldManager, Force: as.Force != nil && *as.Force}
	u, err := configured(obj)
	if err != nil {
		return err
	}
	op.Object = u
	if body != nil {
		b, err := configured(body)
		if err != nil {
			return err
		}
		op.Body = b
	}
	got, err := c.send(ctx, as.DryRun, op)
	if err != nil || got == nil {
		return err
	}
	return recode(got, obj)
}

var errNoConfiguration = errors.New("the apply configuration has no apiVersion and kind")

// configured returns an apply configuration as an object.
func configured(obj runtime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := recode(obj, &u.Object); err != nil {
		return nil, err
	}
	if u.GetAPIVersion() == "" || u.GetKind() == "" {
		return nil, errNoConfiguration
	}
	return u, nil
}

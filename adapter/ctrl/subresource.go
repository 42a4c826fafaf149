package ctrl

import (
	"context"

	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/client"
)

// Status implements client.StatusClient.
func (c *clientOf) Status() crclient.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.SubResourceClientConstructor.
func (c *clientOf) SubResource(name string) crclient.SubResourceClient { return &subresource{c, name} }

// subresource implements client.SubResourceClient.
type subresource struct {
	c    *clientOf
	name string
}

// Get implements client.SubResourceReader. The server answers it.
func (s *subresource) Get(ctx context.Context, obj, sub crclient.Object, opts ...crclient.SubResourceGetOption) error {
	o := crclient.SubResourceGetOptions{}
	version := o.ApplyOptions(opts).AsGetOptions().ResourceVersion
	t, err := s.c.target(obj)
	if err != nil {
		return err
	}
	defer t.done()
	into, err := s.c.target(sub)
	if err != nil {
		return err
	}
	defer into.done()
	get := client.GetOptions{Subresource: s.name, Parent: t.kind, ResourceVersion: version}
	return translate(s.c.rw.Get(ctx, t.key(), into.object, get))
}

// Create implements client.SubResourceWriter.
func (s *subresource) Create(ctx context.Context, obj, sub crclient.Object, opts ...crclient.SubResourceCreateOption) error {
	o := crclient.SubResourceCreateOptions{}
	as := o.ApplyOptions(opts).AsCreateOptions()
	return s.write(ctx, obj, sub, as.DryRun, client.Op{
		Verb: "create", Owner: as.FieldManager, Validation: client.FieldValidation(as.FieldValidation),
	})
}

// Update implements client.SubResourceWriter.
func (s *subresource) Update(ctx context.Context, obj crclient.Object, opts ...crclient.SubResourceUpdateOption) error {
	o := crclient.SubResourceUpdateOptions{}
	as := o.ApplyOptions(opts).AsUpdateOptions()
	body := obj
	if o.SubResourceBody != nil {
		body = o.SubResourceBody
	}
	if body.GetNamespace() == "" {
		body.SetNamespace(obj.GetNamespace())
	}
	return s.write(ctx, obj, body, as.DryRun, client.Op{
		Verb: "update", Owner: as.FieldManager, Validation: client.FieldValidation(as.FieldValidation),
	})
}

// Patch implements client.SubResourceWriter.
func (s *subresource) Patch(ctx context.Context, obj crclient.Object, patch crclient.Patch, opts ...crclient.SubResourcePatchOption) error {
	o := crclient.SubResourcePatchOptions{}
	as := o.ApplyOptions(opts).AsPatchOptions()
	body := obj
	if o.SubResourceBody != nil {
		body = o.SubResourceBody
	}
	return s.c.patch(ctx, obj, body, patch, as, s.name)
}

// Apply implements client.SubResourceWriter.
func (s *subresource) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...crclient.SubResourceApplyOption) error {
	o := crclient.SubResourceApplyOptions{}
	as := o.ApplyOpts(opts).AsPatchOptions()
	return s.c.apply(ctx, obj, o.SubResourceBody, as, s.name)
}

// write sends body to the subresource of obj, and fills body with the answer.
func (s *subresource) write(ctx context.Context, obj, body crclient.Object, dryRun []string, op client.Op) error {
	if body.GetName() == "" {
		body.SetName(obj.GetName())
	}
	op.Subresource = s.name
	if body == obj {
		return s.c.write(ctx, obj, dryRun, op)
	}
	t, err := s.c.target(obj)
	if err != nil {
		return err
	}
	defer t.done()
	into, err := s.c.target(body)
	if err != nil {
		return err
	}
	defer into.done()
	op.Object, op.Body = t.object, into.object
	got, err := s.c.send(ctx, dryRun, op)
	into.fill(got)
	return err
}

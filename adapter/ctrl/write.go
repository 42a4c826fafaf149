package ctrl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Create implements client.Writer.
func (c *clientOf) Create(ctx context.Context, obj crclient.Object, opts ...crclient.CreateOption) error {
	o := crclient.CreateOptions{}
	as := o.ApplyOptions(opts).AsCreateOptions()
	return c.write(ctx, obj, as.DryRun, client.Op{Verb: "create", Owner: as.FieldManager, Validation: client.FieldValidation(as.FieldValidation)})
}

// Update implements client.Writer.
func (c *clientOf) Update(ctx context.Context, obj crclient.Object, opts ...crclient.UpdateOption) error {
	o := crclient.UpdateOptions{}
	as := o.ApplyOptions(opts).AsUpdateOptions()
	return c.write(ctx, obj, as.DryRun, client.Op{Verb: "update", Owner: as.FieldManager, Validation: client.FieldValidation(as.FieldValidation)})
}

// Delete implements client.Writer.
func (c *clientOf) Delete(ctx context.Context, obj crclient.Object, opts ...crclient.DeleteOption) error {
	o := crclient.DeleteOptions{}
	as := *o.ApplyOptions(opts).AsDeleteOptions()
	t, err := c.target(obj)
	if err != nil {
		return err
	}
	defer t.done()
	_, err = c.send(ctx, as.DryRun, client.Op{Verb: "delete", Object: t.object, Delete: as})
	return err
}

// DeleteAllOf implements client.Writer.
func (c *clientOf) DeleteAllOf(ctx context.Context, obj crclient.Object, opts ...crclient.DeleteAllOfOption) error {
	o := crclient.DeleteAllOfOptions{}
	o.ApplyOptions(opts)
	as := *o.AsDeleteOptions()
	lo, err := listOptions(&o.ListOptions)
	if err != nil {
		return err
	}
	t, err := c.target(obj)
	if err != nil {
		return err
	}
	defer t.done()
	kind := t.object
	if _, metadata := kind.(*metav1.PartialObjectMetadata); metadata { // servers answer with a whole list
		kind = &unstructured.Unstructured{}
		kind.GetObjectKind().SetGroupVersionKind(t.kind)
	}
	_, err = c.send(ctx, as.DryRun, client.Op{Verb: "deletecollection", Object: kind, Select: lo, Delete: as})
	return err
}

// Patch implements client.Writer. The patch of an apply is sent as such.
func (c *clientOf) Patch(ctx context.Context, obj crclient.Object, patch crclient.Patch, opts ...crclient.PatchOption) error {
	o := crclient.PatchOptions{}
	return c.patch(ctx, obj, obj, patch, o.ApplyOptions(opts).AsPatchOptions(), "")
}

// patch patches an object, or a subresource of it, and fills body with the answer.
func (c *clientOf) patch(ctx context.Context, obj, body crclient.Object, patch crclient.Patch, as *metav1.PatchOptions, sub string) error {
	data, err := patch.Data(body)
	if err != nil {
		return err
	}
	t, err := c.target(obj)
	if err != nil {
		return err
	}
	defer t.done()
	op := client.Op{
		Verb: "patch", Object: t.object, Subresource: sub, Owner: as.FieldManager,
		Force: as.Force != nil && *as.Force, Validation: client.FieldValidation(as.FieldValidation),
	}
	into := t
	if body != obj {
		if into, err = c.target(body); err != nil {
			return err
		}
		defer into.done()
		op.Body = into.object
	}
	if patch.Type() == types.ApplyPatchType {
		return c.applyPatch(ctx, into, op, data, as.DryRun)
	}
	if op.Patch, err = patchData(patch.Type(), data); err != nil {
		return err
	}
	got, err := c.send(ctx, as.DryRun, op)
	into.fill(got)
	return err
}

// patchData is a patch that is no apply.
func patchData(kind types.PatchType, data []byte) (client.PatchData, error) {
	switch kind {
	case types.JSONPatchType:
		return client.JSONPatch(data), nil
	case types.MergePatchType:
		return client.MergePatch(data), nil
	case types.StrategicMergePatchType:
		return client.StrategicMerge(data), nil
	}
	return client.PatchData{}, fmt.Errorf("patch type %q is not supported", kind)
}

// applyPatch sends the data of an apply patch. It fills into with the answer.
func (c *clientOf) applyPatch(ctx context.Context, into *target, op client.Op, data []byte, dryRun []string) error {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &u.Object); err != nil {
		return fmt.Errorf("the data of an apply patch: %w", err)
	}
	if u.Object == nil {
		return errors.New("the data of an apply patch are empty")
	}
	of := op.Object
	if op.Body != nil {
		of, op.Body = op.Body, u
	} else {
		op.Object = u
	}
	if err := identify(u, of); err != nil {
		return err
	}
	op.Verb = "apply"
	got, err := c.send(ctx, dryRun, op)
	if err != nil || got == nil {
		return err
	}
	if reflect.TypeOf(got) != reflect.TypeOf(into.object) {
		typed := reflect.New(reflect.TypeOf(into.object).Elem()).Interface().(object.Object)
		if err := recode(got, typed); err != nil {
			return err
		}
		got = typed
	}
	into.fill(got)
	return nil
}

// identify sets what the data of an apply patch leave out of kind and key. What they say must be the same.
func identify(u *unstructured.Unstructured, of object.Object) error {
	switch kind := u.GroupVersionKind(); {
	case kind.Empty():
		u.SetGroupVersionKind(of.GetObjectKind().GroupVersionKind())
	case kind != of.GetObjectKind().GroupVersionKind():
		return fmt.Errorf("the apply patch is one of %s, for a %s", kind, of.GetObjectKind().GroupVersionKind())
	}
	if u.GetName() == "" {
		u.SetName(of.GetName())
	}
	if u.GetNamespace() == "" {
		u.SetNamespace(of.GetNamespace())
	}
	if is, want := object.KeyOf(u), object.KeyOf(of); is != want {
		return fmt.Errorf("the apply patch is one of %s, for %s", is, want)
	}
	return nil
}

// recode writes an object into a value of another type, by way of JSON.
func recode(from, into any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// write sends an operation on an object, and fills the object with the answer.
func (c *clientOf) write(ctx context.Context, obj crclient.Object, dryRun []string, op client.Op) error {
	t, err := c.target(obj)
	if err != nil {
		return err
	}
	defer t.done()
	op.Object = t.object
	got, err := c.send(ctx, dryRun, op)
	t.fill(got)
	return err
}

// send sends an operation.
func (c *clientOf) send(ctx context.Context, dryRun []string, op client.Op) (object.Object, error) {
	if len(dryRun) > 0 {
		if op.DryRun = true; !slices.Equal(dryRun, []string{metav1.DryRunAll}) {
			return nil, fmt.Errorf("dry run %q: the only one is %q", dryRun, metav1.DryRunAll)
		}
	}
	got, err := c.rw.Write(ctx, op)
	return got, translate(err)
}

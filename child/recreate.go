package child

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
)

// recreate deletes a child that the server does not let us change, if it would create what is wanted. refused is the
// error of the apply, and the error otherwise.
func (e *ensure) recreate(ctx context.Context, live object.Object, invalid *client.InvalidError, refused error) error {
	if err := e.wouldCreate(ctx); err != nil {
		return fmt.Errorf("%w; and it is not created anew, since the server would not take it: %w", refused, err)
	}
	reconcile.Logger(ctx).Info("child is deleted, to be created anew: the server does not let it change", "child", e.name, "fields", fieldsOf(invalid))
	uid, background := live.GetUID(), metav1.DeletePropagationBackground
	_, err := e.c.Write(ctx, client.Op{Verb: "delete", Object: live, Delete: metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background}})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	return fmt.Errorf("%w: it is created anew, since it cannot be changed: %w", ErrDeleted, refused)
}

// wouldCreate asks the server, by a dry run, whether it would create what is wanted under another name.
func (e *ensure) wouldCreate(ctx context.Context) error {
	other := *e
	other.want = e.want.DeepCopy()
	other.want.SetUID("")
	other.want.SetName("flyball-" + e.hash)
	other.o.dryRun = true
	_, err := other.apply(ctx, true)
	return err
}

// fieldsOf returns the fields that the server has refused.
func fieldsOf(invalid *client.InvalidError) (out []string) {
	for _, f := range invalid.Fields {
		out = append(out, f.Field)
	}
	return out
}

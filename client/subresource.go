package client

import (
	"context"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// UpdateStatus replaces the status of the object and does not change its spec. Some kinds, such as Pods,
// also take changed labels and annotations. Fields that the Go type does not have stay, as in [Update].
func UpdateStatus[O object.Object](ctx context.Context, w Writer, obj O, opts ...WriteOption) (O, error) {
	return write(ctx, w, obj, Op{Verb: verbUpdate, Object: obj, Subresource: "status"}, opts)
}

// PatchStatus changes part of the status of the object and does not change its spec.
func PatchStatus[O object.Object](ctx context.Context, w Writer, obj O, patch PatchData, opts ...WriteOption) (O, error) {
	return write(ctx, w, obj, Op{Verb: verbPatch, Object: obj, Subresource: "status", Patch: patch}, opts)
}

// PatchStatusIfChanged writes the status of after if it differs from that of before, the object as it
// was read. It returns the object as the server then has it. If the status does not differ, it sends
// nothing and returns after. It never sends other changes of after.
//
//	before := g.DeepCopy()
//	g.Status.Replicas = n
//	g, err = client.PatchStatusIfChanged(ctx, c, before, g)
//
// The write is one merge patch of the differences; see [DiffStatus]. If the object has changed on the
// server since it was read, the error is a [ConflictError] and nothing is written. A reconciler returns
// that error and is called again. Package condition does the same for objects with conditions.
func PatchStatusIfChanged[O object.Object](ctx context.Context, w Writer, before, after O, opts ...WriteOption) (O, error) {
	patch := DiffStatus(before, after)
	if patch.Empty() {
		return after, nil
	}
	return PatchStatus(ctx, w, after, patch, opts...)
}

// GetSub reads a subresource of another kind than obj:
// GetSub[autoscalingv1.Scale](ctx, c, deployment, "scale"). It reads only the kind, the namespace and
// the name of obj. For a subresource of obj's kind call [Get] with [Sub].
func GetSub[T any, P object.Ptr[T]](ctx context.Context, c Client, obj object.Object, sub string, opts ...GetOption) (P, error) {
	parent, err := kindOf(verbGet, c.Scheme(), obj, schema.GroupVersionKind{})
	if err != nil {
		return nil, err
	}
	return Get[T, P](ctx, c, object.KeyOf(obj), append(slices.Clip(opts), GetOption(GetOptions{Parent: parent}), Sub(sub))...)
}

// CreateSub sends body to a subresource of another kind than obj, such as a TokenRequest or a Binding,
// and returns the answer. The answer is nil if it is a Status, as for a Binding. CreateSub reads only the
// kind, the namespace and the name of obj. An eviction of a Pod is
//
//	_, err := client.CreateSub(ctx, c, pod, "eviction", &policyv1.Eviction{
//		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
//	})
//
// If a PodDisruptionBudget does not allow it, the error is a [TooManyRequestsError].
func CreateSub[B object.Object](ctx context.Context, w Writer, obj object.Object, sub string, body B, opts ...WriteOption) (B, error) {
	return write(ctx, w, body, Op{Verb: verbCreate, Object: obj, Subresource: sub, Body: body}, opts)
}

// UpdateSub replaces a subresource of another kind than obj. It reads only the kind, the namespace and
// the name of obj.
func UpdateSub[B object.Object](ctx context.Context, w Writer, obj object.Object, sub string, body B, opts ...WriteOption) (B, error) {
	return write(ctx, w, body, Op{Verb: verbUpdate, Object: obj, Subresource: sub, Body: body}, opts)
}

// SetScale sets the desired number of replicas by the scale subresource, whatever the number was. It
// reads only the kind, the namespace and the name of obj, and does not change obj.
func SetScale(ctx context.Context, w Writer, obj object.Object, replicas int32, opts ...WriteOption) error {
	scale, patch := new(autoscalingv1.Scale), MergePatch(map[string]any{"spec": map[string]any{"replicas": replicas}})
	_, err := write(ctx, w, scale, Op{Verb: verbPatch, Object: obj, Subresource: "scale", Body: scale, Patch: patch}, opts)
	return err
}

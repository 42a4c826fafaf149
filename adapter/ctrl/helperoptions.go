package ctrl

import (
	"cmp"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/client"
)

// codes are those of reasons that a Status may have without a code.
var codes = map[metav1.StatusReason]int{
	metav1.StatusReasonNotFound: http.StatusNotFound, metav1.StatusReasonConflict: http.StatusConflict,
	metav1.StatusReasonAlreadyExists: http.StatusConflict, metav1.StatusReasonInvalid: http.StatusUnprocessableEntity,
}

// writeOptions are the options of an operation, in those of controller-runtime.
type writeOptions struct{ op *client.Op }

func (o writeOptions) dryRun() []string {
	if o.op.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// set sets a value that the operation names.
func set[T ~string](to *string, v T) { *to = cmp.Or(string(v), *to) }

// ApplyToCreate implements client.CreateOption.
func (o writeOptions) ApplyToCreate(to *crclient.CreateOptions) {
	to.DryRun = o.dryRun()
	set(&to.FieldManager, o.op.Owner)
	set(&to.FieldValidation, o.op.Validation)
}

// ApplyToUpdate implements client.UpdateOption.
func (o writeOptions) ApplyToUpdate(to *crclient.UpdateOptions) {
	to.DryRun = o.dryRun()
	set(&to.FieldManager, o.op.Owner)
	set(&to.FieldValidation, o.op.Validation)
}

// ApplyToPatch implements client.PatchOption.
func (o writeOptions) ApplyToPatch(to *crclient.PatchOptions) {
	to.DryRun = o.dryRun()
	set(&to.FieldManager, o.op.Owner)
	set(&to.FieldValidation, o.op.Validation)
	if o.op.Verb == "apply" {
		set(&to.FieldValidation, cmp.Or(string(o.op.Validation), metav1.FieldValidationStrict))
	}
	if o.op.Force {
		to.Force = new(true)
	}
}

// ApplyToDelete implements client.DeleteOption.
func (o writeOptions) ApplyToDelete(to *crclient.DeleteOptions) {
	d := &o.op.Delete
	to.DryRun = o.dryRun()
	to.GracePeriodSeconds, to.Preconditions, to.PropagationPolicy = d.GracePeriodSeconds, d.Preconditions, d.PropagationPolicy
}

// ApplyToDeleteAllOf implements client.DeleteAllOfOption.
func (o writeOptions) ApplyToDeleteAllOf(to *crclient.DeleteAllOfOptions) {
	o.ApplyToDelete(&to.DeleteOptions)
	s := &o.op.Select
	to.Namespace, to.LabelSelector, to.FieldSelector = s.Namespace, s.Labels, s.Fields
}

// ApplyToSubResourceCreate implements client.SubResourceCreateOption.
func (o writeOptions) ApplyToSubResourceCreate(to *crclient.SubResourceCreateOptions) {
	o.ApplyToCreate(&to.CreateOptions)
}

// ApplyToSubResourceUpdate implements client.SubResourceUpdateOption.
func (o writeOptions) ApplyToSubResourceUpdate(to *crclient.SubResourceUpdateOptions) {
	o.ApplyToUpdate(&to.UpdateOptions)
}

// ApplyToSubResourcePatch implements client.SubResourcePatchOption.
func (o writeOptions) ApplyToSubResourcePatch(to *crclient.SubResourcePatchOptions) {
	o.ApplyToPatch(&to.PatchOptions)
}

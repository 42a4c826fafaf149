package main

import (
	apiextensionshelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
)

// established returns the condition Established of a definition whose names are accepted. It is false, and the kind is
// not served, if the certificates of the conversion webhook cannot be parsed.
func established(d *definition) apiextensions.CustomResourceDefinitionCondition {
	condition := apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.Established, Status: apiextensions.ConditionTrue, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"}
	conversion := d.Spec.Conversion
	if conversion == nil || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil {
		return condition
	}
	if len(webhook.ValidateCABundle(field.NewPath(""), conversion.Webhook.ClientConfig.CABundle)) > 0 {
		condition.Status, condition.Reason, condition.Message = apiextensions.ConditionFalse, "InvalidCABundle", "The conversion webhook CABundle is invalid"
	}
	return condition
}

// approve sets the condition that says whether a definition in a group of Kubernetes is approved. It returns the
// definition after that; nil if it is gone.
func (a *api) approve(c *call, d *definition) (*definition, error) {
	if !apiextensionshelpers.IsProtectedCommunityGroup(d.Spec.Group) {
		return d, nil
	}
	condition := apiextensions.CustomResourceDefinitionCondition{Type: apiextensions.KubernetesAPIApprovalPolicyConformant, Status: apiextensions.ConditionFalse}
	state, message := apiextensionshelpers.GetAPIApprovalState(d.Annotations)
	condition.Message = message
	switch state {
	case apiextensionshelpers.APIApproved:
		condition.Status, condition.Reason = apiextensions.ConditionTrue, "ApprovedAnnotation"
	case apiextensionshelpers.APIApprovalBypassed:
		condition.Reason = "UnapprovedAnnotation"
	case apiextensionshelpers.APIApprovalInvalid:
		condition.Reason = "InvalidAnnotation"
	case apiextensionshelpers.APIApprovalMissing:
		condition.Reason = "MissingAnnotation"
	}
	if apiextensionshelpers.IsCRDConditionEquivalent(&condition, apiextensionshelpers.FindCRDCondition(d, condition.Type)) {
		return d, nil
	}
	c.condition(d, condition)
	if err := a.updateStatus(c, d); err != nil {
		return nil, err
	}
	return a.current(c, d.Name)
}

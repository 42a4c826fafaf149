package main

import (
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
)

// established is the condition of a definition whose names are accepted. With a bundle of certificates that cannot be
// read, of the webhook that converts, the kind is not served.
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

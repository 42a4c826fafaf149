package client

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/object"
)

// A server that fails is never taken for an object that is wrong.
func TestFailuresAreNoSchemaErrors(t *testing.T) {
	typed := "failed to create typed patch object (web/x; /v1, Kind=Pod): .spec.a: field not declared in schema"
	for name, s := range map[string]metav1.Status{
		"storage":                {Code: 500, Message: "etcdserver: request timed out"},
		"a conversion":           {Code: 500, Message: "failed to convert live object (web/x) to proper version: conversion webhook for x failed: no route"},
		"a conversion, to prune": {Code: 500, Message: "failed to prune fields: failed to convert merged object to last applied version: conversion webhook for x failed: Post: no route"},
		"a reason":               {Code: 500, Reason: metav1.StatusReasonInternalError, Message: typed},
		"details":                {Code: 500, Details: &metav1.StatusDetails{Name: "x"}, Message: typed},
		"another code":           {Code: 503, Message: typed},
		"a quotation of one":     {Code: 500, Message: "webhook says: " + typed + "?"},
		"a message of a peer":    {Code: 500, Message: "rpc error: code = Unavailable"},
	} {
		s.TypeMeta, s.Status = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, metav1.StatusFailure
		f := newFake(t)
		f.on("PATCH "+podPath, answer(int(s.Code), s))
		_, err := Apply(t.Context(), f.client(Options{}), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "x"}}, "me")
		if is[*SchemaError](err) || !errors.Is(err, object.ErrNoAnswer) {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
}

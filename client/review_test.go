package client_test

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
)

// Reviews are created without a name, in a namespace and without one.
func TestReviewsAreCreatedWithoutAName(t *testing.T) {
	ctx, c, ns := live(t)
	self, err := client.Create(ctx, c, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}}})
	if err != nil || !self.Status.Allowed {
		t.Errorf("got %+v, %v", self, err)
	}
	local, err := client.Create(ctx, c, &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns},
		Spec: authorizationv1.SubjectAccessReviewSpec{User: "nobody",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: ns, Verb: "get", Resource: "pods"}},
	})
	if err != nil || local.Status.Allowed {
		t.Errorf("got %+v, %v", local, err)
	}
	_, err = client.Create(ctx, c, configMap(ns, ""))
	as[*client.ArgumentError](t, err)
}

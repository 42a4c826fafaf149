package apiserver_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/apiserver"
)

// The first two updates of a ConfigMap meet a conflict, as if somebody else had been faster. In a test, [Start]
// takes the place of New.
func ExampleServer_Fail() {
	ctx := context.Background()
	s, err := apiserver.New(ctx, apiserver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	c, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	s.Fail(apiserver.On("update", "configmaps").In("default").Times(2), apiserver.Conflict)
	s.Fail(apiserver.On("delete", "secrets"), apiserver.Forbidden)

	o, err := client.Create(ctx, c, configMap("config", "1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		_, err = client.Update(ctx, c, o)
		fmt.Println(apierrors.IsConflict(err), err == nil)
	}
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = "default", "token"
	fmt.Println(client.Delete(ctx, c, secret))
	// Output:
	// true false
	// true false
	// false true
	// delete secrets default/token: secrets "token" is forbidden: User "admin" cannot delete resource "secrets" in API group "" in the namespace "default"
}

// A user without a role may do next to nothing, as in a cluster.
func ExampleServer_UserConfig() {
	ctx := context.Background()
	s, err := apiserver.New(ctx, apiserver.Options{RBAC: true}) // Start, in a test
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	config, err := s.UserConfig("eve", "developers")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, err = client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "default", Name: "token"})
	fmt.Println(err)
	// Output:
	// get secrets default/token: secrets "token" is forbidden: User "eve" cannot get resource "secrets" in API group "" in the namespace "default"
}

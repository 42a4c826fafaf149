package apiserver_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// The first two updates of a ConfigMap fail with a conflict, as if another client had been faster. In a test, call
// [Start] instead of New.
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

// Controllers make the Pods of a Deployment, and a kubelet takes them to Running. Annotations of the template script
// their life.
func ExampleServer_Settle() {
	ctx := context.Background()
	s, c := serverAndClient(apiserver.Options{Controllers: []string{"*"}})
	defer s.Close()
	defer c.Close()

	web, stuck := deployment("web"), deployment("stuck")
	stuck.Spec.Template.Annotations = map[string]string{"kubelet.flyball.dev/image": "missing"}
	for _, d := range []*appsv1.Deployment{web, stuck} {
		if _, err := client.Create(ctx, c, d); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := s.Settle(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for pod, err := range client.List[corev1.Pod](ctx, c) {
		if err != nil {
			fmt.Println(err)
			return
		}
		state := pod.Status.ContainerStatuses[0].State
		fmt.Println(pod.Labels["app"], pod.Status.Phase, state.Running != nil, state.Waiting != nil && state.Waiting.Reason == "ImagePullBackOff")
	}
	// Output:
	// stuck Pending false true
	// web Running true false
}

// A user without a role has next to no permissions, as in a cluster.
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

// serverAndClient returns a server and a client of it, made as in ExampleServer_Fail. It panics on an error.
func serverAndClient(o apiserver.Options) (*apiserver.Server, *client.Live) {
	s, err := apiserver.New(context.Background(), o)
	if err != nil {
		panic(err)
	}
	c, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		panic(err)
	}
	return s, c
}

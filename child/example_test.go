package child_test

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
)

// small stands for a cluster of ConfigMaps. A program has a *client.Live or the client of its manager.
type small struct {
	client.Client
	objects map[object.Key]*corev1.ConfigMap
}

func (s *small) Scheme() *runtime.Scheme { return scheme.New() }

func (s *small) Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	return m
}

func (s *small) Get(_ context.Context, key object.Key, into object.Object, _ client.GetOptions) error {
	got, ok := s.objects[key]
	if !ok {
		return client.NewNotFound(client.Call{Verb: "get", Kind: "ConfigMap", Key: key})
	}
	got.DeepCopyInto(into.(*corev1.ConfigMap))
	return nil
}

func (s *small) Write(_ context.Context, op client.Op) (object.Object, error) {
	data, err := json.Marshal(op.Object)
	if err != nil {
		return nil, err
	}
	fmt.Println(op.Verb, "by", op.Owner, string(data))
	got := &corev1.ConfigMap{}
	if err := json.Unmarshal(data, got); err != nil {
		return nil, err
	}
	got.UID = "c1"
	fields := &metav1.FieldsV1{}
	_ = fields.UnmarshalJSON([]byte(`{"f:data":{"f:message":{}},"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"u1\"}":{}}}}`))
	got.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: op.Owner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
		FieldsV1: fields,
	}}
	s.objects[object.KeyOf(got)] = got
	return got, nil
}

func ExampleEnsure() {
	ctx, c := context.Background(), &small{objects: map[object.Key]*corev1.ConfigMap{}}
	guestbook := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "guests", UID: "u1"}}
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings"},
		Data:       map[string]string{"message": "welcome"},
	}
	for range 2 {
		_, did, err := child.Ensure(ctx, c, guestbook, settings)
		fmt.Println(did, err)
	}
	// Output:
	// apply by configmap {"apiVersion":"v1","data":{"message":"welcome"},"kind":"ConfigMap","metadata":{"annotations":{"flyball.io/applied":"afcb109eb2f2c1e9"},"name":"settings","namespace":"web","ownerReferences":[{"apiVersion":"v1","blockOwnerDeletion":true,"controller":true,"kind":"ConfigMap","name":"guests","uid":"u1"}]}}
	// created <nil>
	// unchanged <nil>
}

// How do I make a password that stays as it is?
func ExampleOnce() {
	ctx, c := context.Background(), &small{objects: map[object.Key]*corev1.ConfigMap{}}
	guestbook := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "guests", UID: "u1"}}
	password := "first"
	for range 2 {
		login, did, err := child.Once(ctx, c, guestbook, "login", func() (*corev1.ConfigMap, error) {
			return &corev1.ConfigMap{Data: map[string]string{"password": password}}, nil // a Secret, with rand.Text()
		})
		fmt.Println(did, login.Data["password"], err)
		password = "second"
	}
	// Output:
	// apply by configmap {"apiVersion":"v1","data":{"password":"first"},"kind":"ConfigMap","metadata":{"annotations":{"flyball.io/applied":"89fb4c1733516a9c"},"name":"login","namespace":"web","ownerReferences":[{"apiVersion":"v1","blockOwnerDeletion":true,"controller":true,"kind":"ConfigMap","name":"guests","uid":"u1"}]}}
	// created first <nil>
	// unchanged first <nil>
}

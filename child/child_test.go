package child_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
)

func named(namespace, name, uid string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if uid != "" {
		m.UID = types.UID("u-" + uid)
	}
	return m
}

func TestOwnAddsAControllerReference(t *testing.T) {
	s := scheme.New()
	owner := &corev1.ConfigMap{ObjectMeta: named("web", "guests", "1")}
	node := &corev1.Node{ObjectMeta: named("", "n", "1")}
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "x", Controller: new(true)}
	earlier := other
	earlier.Name = "guests"
	plain := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "y"}
	for name, tc := range map[string]struct {
		owner, obj object.Object
		refs       []metav1.OwnerReference
		says       string
		want       int
	}{
		"same namespace":     {owner, &corev1.Pod{ObjectMeta: named("web", "p", "")}, nil, "", 1},
		"again":              {owner, &corev1.Pod{ObjectMeta: named("web", "p", "")}, []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "guests", UID: "u-1"}}, "", 1},
		"beside another":     {owner, &corev1.Pod{ObjectMeta: named("web", "p", "")}, []metav1.OwnerReference{plain}, "", 2},
		"from no namespace":  {node, &corev1.Pod{ObjectMeta: named("web", "p", "")}, nil, "", 1},
		"no namespaces":      {node, &rbacv1.ClusterRole{ObjectMeta: named("", "p", "")}, nil, "", 1},
		"another namespace":  {owner, &corev1.Pod{ObjectMeta: named("db", "p", "")}, nil, `desired.metadata.namespace: is "db", but the owner guests is in "web"`, 0},
		"of no namespace":    {owner, &rbacv1.ClusterRole{ObjectMeta: named("", "p", "")}, nil, `is empty, but the owner guests is in "web"`, 0},
		"another controller": {owner, &corev1.Pod{ObjectMeta: named("web", "p", "")}, []metav1.OwnerReference{other}, "Pod web/p is controlled by ConfigMap other, with uid x", 0},
		"an earlier one":     {owner, &corev1.Pod{ObjectMeta: named("web", "p", "")}, []metav1.OwnerReference{earlier}, "Pod web/p is controlled by an earlier ConfigMap guests", 0},
		"no uid":             {&corev1.ConfigMap{}, &corev1.Pod{}, nil, "owner:  has no uid", 0},
		"no owner":           {nil, &corev1.Pod{}, nil, "owner: is nil", 0},
	} {
		t.Run(name, func(t *testing.T) {
			tc.obj.SetOwnerReferences(tc.refs)
			err := child.Own(tc.owner, tc.obj, s)
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("got %v, want %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			refs := tc.obj.GetOwnerReferences()
			last := refs[len(refs)-1]
			if len(refs) != tc.want || last.UID != tc.owner.GetUID() || !*last.Controller || !*last.BlockOwnerDeletion {
				t.Errorf("got %+v", refs)
			}
		})
	}
}

func TestInvalidArgumentsAreNotSent(t *testing.T) {
	c := newCluster(t)
	going := c.owner.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	read := c.parent("read")
	status := service()
	status.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	away := service()
	away.Namespace = "default"
	for name, tc := range map[string]struct {
		owner   object.Object
		desired object.Object
		says    string
		is      error
	}{
		"the owner is being deleted": {going, service(), "", child.ErrOwnerDeleted},
		"no owner":                   {nil, service(), "owner: is nil", nil},
		"an owner that was not read": {&corev1.ConfigMap{}, service(), "no uid", nil},
		"no name":                    {c.owner, &corev1.Service{}, "desired.metadata.name: is empty", nil},
		"what was read":              {c.owner, read, "was read from a server", nil},
		"a status":                   {c.owner, status, "desired.status", nil},
		"another namespace":          {c.owner, away, `is "default", but the owner`, nil},
		"no namespaces":              {c.owner, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r"}}, "it cannot own what has no namespace", nil},
	} {
		_, _, err := child.EnsureAny(t.Context(), c, tc.owner, tc.desired)
		if err == nil || tc.is != nil && !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, _, err := child.Ensure[corev1.Service](t.Context(), c, c.owner, nil); err == nil || !strings.Contains(err.Error(), "desired: is nil") {
		t.Errorf("nil: %v", err)
	}
	if _, err := child.Prune[corev1.Service](t.Context(), c, c.owner, nil); err == nil || !strings.Contains(err.Error(), "keep: is nil") {
		t.Errorf("nil: %v", err)
	}
	if len(c.writes) > 0 {
		t.Errorf("sent %q", c.writes)
	}

	// A child that is being deleted is an ErrDeleted.
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/held"}}}
	got := ensure(c, held, child.Created)
	c.check(client.Delete(t.Context(), c, got))
	c.writes = nil
	if _, _, err := child.Ensure(t.Context(), c, c.owner, held); !errors.Is(err, child.ErrDeleted) || len(c.writes) > 0 {
		t.Errorf("being deleted: %v, sent %q", err, c.writes)
	}
	if gone, err := child.Prune(t.Context(), c, c.owner, func(*corev1.ConfigMap) bool { return false }); err != nil || len(gone) > 0 {
		t.Errorf("pruned %v, %v", gone, err)
	}
}

func ExampleOwn() {
	guestbook := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "guests", UID: "6b1f"}}
	front := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "front"}}
	if err := child.Own(guestbook, front, scheme.New()); err != nil {
		fmt.Println(err)
		return
	}
	ref := front.OwnerReferences[0]
	fmt.Println(ref.Kind, ref.Name, ref.UID, *ref.Controller)

	front.Namespace = "db"
	fmt.Println(child.Own(guestbook, front, scheme.New()))
	// Output:
	// ConfigMap guests 6b1f true
	// child: desired.metadata.namespace: is "db", but the owner guests is in "web": an owner must be in the namespace of its child, or in none
}

package apiserver_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Starts servers with users, one after the other. Each lives until the benchmark ends.
func BenchmarkStartWithUsers(b *testing.B) {
	for _, c := range []struct {
		name    string
		options apiserver.Options
	}{{"TLS", apiserver.Options{TLS: true}}, {"RBAC", apiserver.Options{RBAC: true}}} {
		b.Run(c.name, func(b *testing.B) {
			apiserver.Start(b, c.options) // the first one starts the rules
			before, n := heap(), 0
			for b.Loop() {
				apiserver.Start(b, c.options)
				n++
			}
			b.ReportMetric((heap()-before)/float64(n), "heap-B/server")
		})
	}
}

// Gets an object as an administrator, as a user whose permission is remembered, and as one whose permission is asked
// each time.
func BenchmarkGetByUser(b *testing.B) {
	s := apiserver.Start(b, apiserver.Options{RBAC: true})
	admin, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer admin.Close()
	if _, err := client.Create(b.Context(), admin, configMap("a", "1")); err != nil {
		b.Fatal(err)
	}
	if _, err := client.Create(b.Context(), admin, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "crew"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "crew"}}}); err != nil {
		b.Fatal(err)
	}
	get := func(b *testing.B, c *client.Live) {
		b.Helper()
		if _, err := client.Get[corev1.ConfigMap](b.Context(), c, object.Key{Namespace: "default", Name: "a"}); err != nil {
			b.Fatal(err)
		}
	}
	as := func(b *testing.B, user string) *client.Live {
		b.Helper()
		config, err := s.UserConfig(user, "crew")
		if err != nil {
			b.Fatal(err)
		}
		c, err := client.New(config, client.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(c.Close)
		return c
	}
	b.Run("administrator", func(b *testing.B) {
		for b.Loop() {
			get(b, admin)
		}
	})
	b.Run("remembered", func(b *testing.B) {
		c := as(b, "eve")
		for b.Loop() {
			get(b, c)
		}
	})
	b.Run("asked", func(b *testing.B) {
		c, n := as(b, "eve"), 0
		for b.Loop() { // each new role empties the memory
			b.StopTimer()
			n++
			if _, err := client.Create(b.Context(), admin, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("r", n)}}); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			get(b, c)
		}
	})
}

// Package namespaces has the controllers that fill namespaces and clear them.
package namespaces

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// Accounts returns the controller that creates the service account "default" in each namespace.
func Accounts(control.Options) control.Controller {
	user := control.ServiceAccount("service-account-controller")
	return filler("serviceaccount-controller", control.ServiceAccounts, "default", func(_ *control.State, namespace, key string) core.Request {
		return user.Create(control.ServiceAccounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}})
	})
}

const (
	bundle      = "kube-root-ca.crt"
	description = "kubernetes.io/description"
	// about is the description that the real controller gives the bundle.
	about = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or " +
		"kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)

// Certificates returns the controller that keeps a ConfigMap with the certificate of the server's authority in each
// namespace.
func Certificates(o control.Options) control.Controller {
	user := control.ServiceAccount("root-ca-cert-publisher")
	return filler("root-ca-certificate-publisher-controller", control.ConfigMaps, bundle, func(s *control.State, namespace, key string) core.Request {
		want := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: bundle, Annotations: map[string]string{description: about}},
			Data:       map[string]string{"ca.crt": o.CA},
		}
		have := control.Get[corev1.ConfigMap](s, key)
		switch {
		case have == nil:
			return user.Create(control.ConfigMaps, want)
		case len(have.Data) == 1 && have.Data["ca.crt"] == o.CA && have.Annotations[description] != "":
			return core.Request{}
		}
		changed := have.DeepCopy()
		changed.Data = want.Data
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, description, about)
		return user.Update(control.ConfigMaps, changed)
	})
}

// filler returns a controller that keeps one object in each namespace that is not being deleted. request returns the
// request that creates or mends the object; the zero value if the object is as it should be.
func filler(title string, kind control.Kind, name string, request func(s *control.State, namespace, key string) core.Request) control.Controller {
	return &control.Keyed{
		Title: title,
		Map: func(_ *control.State, c control.Change, add func(string)) {
			if c.In(control.Namespaces) {
				add(c.Key)
				return
			}
			if c.In(kind) {
				if namespace, n := kind.Names(c.Key); n == name {
					add(control.Namespaces.Key("", namespace))
				}
			}
		},
		Reconcile: func(_ time.Time, s *control.State, key string) (r control.Result) {
			ns := control.Get[corev1.Namespace](s, key)
			if ns == nil || ns.Status.Phase != corev1.NamespaceActive {
				return r
			}
			if req := request(s, ns.Name, kind.Key(ns.Name, name)); req.Method != "" && (req.Method != "POST" || s.Get(kind.Key(ns.Name, name)) == nil) {
				r.Requests = append(r.Requests, req)
			}
			return r
		},
	}
}

package cert_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/cert"
	"github.com/flyball-io/flyball/option"
)

func TestManagedOptionsAreValidated(t *testing.T) {
	c := new(client.Live)
	ok := cert.ManagedOptions{Namespace: "ns", Name: "s", Service: "hook"}
	with := func(change func(*cert.ManagedOptions)) cert.ManagedOptions {
		o := ok
		change(&o)
		return o
	}
	for _, x := range []struct {
		o    cert.ManagedOptions
		want string
	}{
		{ok, ""},
		{with(func(o *cert.ManagedOptions) { o.Namespace = "" }), "Namespace"},
		{with(func(o *cert.ManagedOptions) { o.Name = "S_" }), "Name"},
		{with(func(o *cert.ManagedOptions) { o.Service = "a.b" }), "Service"},
		{with(func(o *cert.ManagedOptions) { o.Service = "" }), "Service"},
		{with(func(o *cert.ManagedOptions) { o.DNSNames = []string{"x_y"} }), "DNSNames"},
		{with(func(o *cert.ManagedOptions) { o.DNSNames = []string{"*.example.com"} }), ""},
		{with(func(o *cert.ManagedOptions) { o.IPs = []net.IP{{1}} }), "IPs"},
		{with(func(o *cert.ManagedOptions) { o.CRDs = []string{""} }), "CRDs"},
		{with(func(o *cert.ManagedOptions) { o.Validity, o.Rotate = time.Hour, time.Hour }), "Rotate"},
		{with(func(o *cert.ManagedOptions) { o.Validity = 20 * time.Second }), "Rotate"},
		{with(func(o *cert.ManagedOptions) { o.CAValidity, o.CARotate = 100*24*time.Hour, 100*24*time.Hour }), "CARotate"},
		{with(func(o *cert.ManagedOptions) { o.CAValidity = time.Hour }), "CAValidity"},
		{with(func(o *cert.ManagedOptions) { o.Validity = 1000 * 24 * time.Hour }), ""},
	} {
		m, err := cert.NewManaged(c, x.o)
		bad, ok := errors.AsType[*option.Error](err)
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%+v: %v", x.o, err)
		case x.want != "" && (m != nil || !ok || bad.Field != x.want):
			t.Errorf("%+v: %v, want an error of the field %s", x.o, err, x.want)
		}
	}
	if _, err := cert.NewManaged(nil, ok); err == nil {
		t.Error("no client, no error")
	}
	m, err := cert.NewManaged(c, ok)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.GetCertificate(nil); !errors.Is(err, cert.ErrNoCertificate) {
		t.Errorf("before Run: %v", err)
	}
	if err := m.Check(t.Context()); !errors.Is(err, cert.ErrNoCertificate) || !m.Expiry().IsZero() {
		t.Errorf("check before Run: %v", err)
	}
}

// widgets creates a CRD with a conversion webhook and the test's name.
func (c *cluster) widgets(url string) string {
	c.t.Helper()
	group := c.ns + ".example.com"
	gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Widget"}
	crd := testobj.CRD(gvk, "widgets", func(spec map[string]any) {
		spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": url},
		}}
	})
	made, err := client.Create(c.ctx, c.Live, crd)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = client.Delete(context.WithoutCancel(c.ctx), c.Live, made) })
	return made.GetName()
}

// TestBundleIsInjectedOnlyIntoOurClients: the bundle is in a CRD, and in those webhooks of a
// configuration that call us, and nowhere else. A target that the user applies again gets it again.
func TestBundleIsInjectedOnlyIntoOurClients(t *testing.T) {
	c := live(t)
	name := "hook-" + c.ns
	h, url := c.listen(nil)
	crd := c.widgets(url + "/convert")
	m := c.managed(cert.ManagedOptions{Validating: []string{name}, CRDs: []string{crd}})
	h.sources = []cert.Source{m}
	c.run(m)
	<-m.Ready()
	c.until("the missing target is told", func() error {
		var problem *cert.TargetError
		if err := m.Check(c.ctx); !errors.As(err, &problem) || problem.Name != name {
			return fmt.Errorf("check: %w", err)
		}
		return nil
	})
	c.validating(url, "https://elsewhere.example.com")
	c.inOrder(m)
	bundles := func() [][]byte {
		w, err := client.Get[registrationv1.ValidatingWebhookConfiguration](c.ctx, c.Live, object.Key{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return [][]byte{w.Webhooks[0].ClientConfig.CABundle, w.Webhooks[1].ClientConfig.CABundle}
	}
	want := c.secret().Data["ca.crt"]
	if got := bundles(); !bytes.Equal(got[0], want) || len(got[1]) > 0 {
		t.Errorf("bundles: %q", got)
	}
	obj, err := client.Get[unstructured.Unstructured](c.ctx, c.Live, object.Key{Name: crd}, client.OfKind(crdKind))
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := unstructured.NestedString(obj.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	if text == "" {
		t.Error("the CRD has no bundle")
	}

	c.until("applied anew", func() error {
		w, err := client.Get[registrationv1.ValidatingWebhookConfiguration](c.ctx, c.Live, object.Key{Name: name})
		if err != nil {
			return err
		}
		w.Webhooks = c.configuration(name, []string{url}).Webhooks
		_, err = client.Update(c.ctx, c.Live, w)
		return err
	})
	c.works()
}

// TestDeletedSecretIsRestored: the Secret is restored as it was, and everything continues.
func TestDeletedSecretIsRestored(t *testing.T) {
	c := live(t)
	m := c.managed(cert.ManagedOptions{})
	c.run(m)
	<-m.Ready()
	before := c.secret()
	c.inOrder(m)
	if err := client.Delete(c.ctx, c.Live, before, client.IfUID(before.UID)); err != nil {
		t.Fatal(err)
	}
	c.until("made again", func() error {
		s, err := client.Get[corev1.Secret](c.ctx, c.Live, object.Key{Namespace: c.ns, Name: "hook-cert"})
		if err != nil {
			return err
		}
		for _, k := range []string{"ca.crt", "ca.key", "tls.crt", "tls.key"} {
			if len(before.Data[k]) == 0 || !bytes.Equal(s.Data[k], before.Data[k]) {
				return fmt.Errorf("%s is another", k)
			}
		}
		return nil
	})
}

// TestForeignSecretIsNotWritten: a Secret without our label is not changed, and Check reports it.
func TestForeignSecretIsNotWritten(t *testing.T) {
	for name, s := range map[string]*corev1.Secret{
		"label": {Data: map[string][]byte{"password": []byte("x")}},
		"type": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"cert.flyball.io/managed": "true"}}, Type: corev1.SecretTypeBasicAuth,
			Data: map[string][]byte{"username": []byte("x")}},
	} {
		t.Run(name, func(t *testing.T) {
			c := live(t)
			s.Namespace, s.Name = c.ns, "hook-cert"
			made, err := client.Create(c.ctx, c.Live, s)
			if err != nil {
				t.Fatal(err)
			}
			m := c.managed(cert.ManagedOptions{})
			c.run(m)
			c.until("refused", func() error {
				var foreign *cert.ForeignSecretError
				if err := m.Check(c.ctx); !errors.As(err, &foreign) || !errors.Is(err, cert.ErrNoCertificate) {
					return fmt.Errorf("check: %w", err)
				}
				return nil
			})
			if now := c.secret(); now.ResourceVersion != made.ResourceVersion {
				t.Error("it was written")
			}
			if err := client.Delete(c.ctx, c.Live, made); err != nil {
				t.Fatal(err)
			}
			<-m.Ready() // once the Secret is deleted, Managed starts
		})
	}
}

// TestEditedSecretIsRepaired: parts that an edit broke are made anew, and all other fields of the
// Secret stay.
func TestEditedSecretIsRepaired(t *testing.T) {
	c := live(t)
	m := c.managed(cert.ManagedOptions{})
	c.run(m)
	<-m.Ready()
	c.inOrder(m)
	good := c.secret()
	c.until("edited", func() error {
		s := c.secret()
		s.Data["tls.crt"] = []byte("garbage")
		s.Data["note"] = []byte("mine")
		_, err := client.Update(c.ctx, c.Live, s)
		return err
	})
	c.until("mended", func() error {
		s := c.secret()
		if string(s.Data["tls.crt"]) == "garbage" {
			return errors.New("not yet")
		}
		if _, err := tls.X509KeyPair(s.Data["tls.crt"], s.Data["tls.key"]); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(s.Data["ca.crt"], good.Data["ca.crt"]) || string(s.Data["note"]) != "mine" {
			t.Error("more was changed than had to be")
		}
		return nil
	})
}

// TestAnnotationRotatesTheCA: the annotation causes a new CA, and is removed.
func TestAnnotationRotatesTheCA(t *testing.T) {
	c := live(t)
	m := c.managed(cert.ManagedOptions{Settle: 100 * time.Millisecond})
	c.run(m)
	<-m.Ready()
	c.inOrder(m)
	before, _ := m.GetCertificate(nil)
	patch := client.MergePatch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"cert.flyball.io/rotate": "now"}}})
	if _, err := client.Patch(c.ctx, c.Live, c.secret(), patch); err != nil {
		t.Fatal(err)
	}
	c.until("another CA", func() error {
		now, err := m.GetCertificate(nil)
		if err != nil || bytes.Equal(now.Leaf.RawIssuer, before.Leaf.RawIssuer) {
			return fmt.Errorf("not yet: %w", err)
		}
		return nil
	})
	if _, there := c.secret().Annotations["cert.flyball.io/rotate"]; there {
		t.Error("the annotation is still there")
	}
}

// TestRulesAreEnough: Managed works with the permissions of Rules, and reports which one is missing.
func TestRulesAreEnough(t *testing.T) {
	c := live(t)
	name := "hook-" + c.ns
	_, url := c.listen(nil)
	c.validating(url)
	cfg, err := c.server.UserConfig("cert-" + c.ns)
	if err != nil {
		t.Fatal(err)
	}
	user, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(user.Close)
	o := cert.ManagedOptions{Namespace: c.ns, Name: "hook-cert", IPs: loopback, Validating: []string{name}, Poll: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
	m, err := cert.NewManaged(user, o)
	if err != nil {
		t.Fatal(err)
	}
	c.run(m)
	c.until("refused", func() error {
		var forbidden *client.ForbiddenError
		if err := m.Check(c.ctx); !errors.As(err, &forbidden) || !strings.Contains(err.Error(), "get secrets "+c.ns+"/hook-cert") {
			return fmt.Errorf("check: %w", err)
		}
		return nil
	})
	role, clusterRole := o.Rules()
	for _, r := range slices.Concat(role, clusterRole) {
		if slices.Contains(r.Verbs, "*") || slices.Contains(r.Resources, "*") {
			t.Errorf("too much: %v", r)
		}
	}
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "cert-" + c.ns}}
	meta := metav1.ObjectMeta{Namespace: c.ns, Name: "cert"}
	grant(c, &rbacv1.Role{ObjectMeta: meta, Rules: role})
	grant(c, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "cert"}})
	<-m.Ready()
	c.until("refused the target", func() error {
		if err := m.Check(c.ctx); err == nil || !strings.Contains(err.Error(), "get validatingwebhookconfigurations.admissionregistration.k8s.io "+name) {
			return fmt.Errorf("check: %w", err)
		}
		return nil
	})
	meta = metav1.ObjectMeta{Name: name}
	grant(c, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: clusterRole})
	grant(c, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}})
	c.inOrder(m)
}

func grant[O object.Object](c *cluster, obj O) {
	c.t.Helper()
	if _, err := client.Create(c.ctx, c.Live, obj); err != nil {
		c.t.Fatal(err)
	}
	if obj.GetNamespace() == "" {
		c.t.Cleanup(func() { _ = client.Delete(context.WithoutCancel(c.ctx), c.Live, obj) })
	}
}

// TestTargetOfCertManagerIsNotWritten: a target with cert-manager's annotation is not written.
func TestTargetOfCertManagerIsNotWritten(t *testing.T) {
	c := live(t)
	name := "hook-" + c.ns
	_, url := c.listen(nil)
	c.validating(url)
	patch := client.MergePatch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"cert-manager.io/inject-ca-from": "a/b"}}})
	if _, err := client.Patch(c.ctx, c.Live, c.configuration(name, nil), patch); err != nil {
		t.Fatal(err)
	}
	m := c.managed(cert.ManagedOptions{Validating: []string{name}})
	c.run(m)
	<-m.Ready()
	c.until("told", func() error {
		if err := m.Check(c.ctx); err == nil || !strings.Contains(err.Error(), "cert-manager") {
			return fmt.Errorf("check: %w", err)
		}
		return nil
	})
	w, err := client.Get[registrationv1.ValidatingWebhookConfiguration](c.ctx, c.Live, object.Key{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Webhooks[0].ClientConfig.CABundle) > 0 {
		t.Error("it was written")
	}
}

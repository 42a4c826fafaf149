package cert

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of targets.
var (
	mutating   = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}
	validating = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}
	crd        = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// certManager lists the annotations that make cert-manager inject a caBundle.
var certManager = []string{
	"cert-manager.io/inject-ca-from",
	"cert-manager.io/inject-ca-from-secret",
	"cert-manager.io/inject-apiserver-ca",
}

// target is an object into which the bundle is written.
type target struct {
	kind schema.GroupVersionKind
	name string
}

func (t target) String() string { return strings.ToLower(t.kind.Kind) + " " + t.name }

// clients returns the clientConfigs in a target that call a name of ours. They share memory with
// obj.
func (o *ManagedOptions) clients(obj *unstructured.Unstructured) []map[string]any {
	var all []map[string]any
	if obj.GroupVersionKind() == crd {
		conversion := part(obj.Object, "spec", "conversion")
		if strategy, _ := conversion["strategy"].(string); strategy == "Webhook" {
			all = append(all, part(conversion, "webhook", "clientConfig"))
		}
	}
	webhooks, _ := obj.Object["webhooks"].([]any)
	for _, w := range webhooks {
		if w, ok := w.(map[string]any); ok {
			all = append(all, part(w, "clientConfig"))
		}
	}
	return slices.DeleteFunc(all, func(config map[string]any) bool { return config == nil || !o.ours(config) })
}

// part returns the map at a path, or nil.
func part(m map[string]any, path ...string) map[string]any {
	for _, p := range path {
		m, _ = m[p].(map[string]any)
	}
	return m
}

// ours reports whether a clientConfig names a server that our certificate is for.
func (o *ManagedOptions) ours(config map[string]any) bool {
	host := ""
	if s := part(config, "service"); s != nil {
		host = fmt.Sprintf("%v.%v.svc", s["name"], s["namespace"])
	} else if text, ok := config["url"].(string); ok {
		if u, err := url.Parse(text); err == nil {
			host = u.Hostname()
		}
	}
	if ip := net.ParseIP(host); ip != nil {
		return slices.ContainsFunc(o.IPs, ip.Equal)
	}
	_, domain, _ := strings.Cut(host, ".")
	return slices.ContainsFunc(o.DNSNames, func(n string) bool {
		parent, wild := strings.CutPrefix(n, "*.")
		return strings.EqualFold(n, host) || wild && strings.EqualFold(parent, domain)
	})
}

// inspect returns the state of a target. A nil obj means that it does not exist.
func (o *ManagedOptions) inspect(obj *unstructured.Unstructured, err error) targetState {
	if err != nil || obj == nil {
		return targetState{err: err}
	}
	s := targetState{obj: obj}
	for _, a := range certManager {
		if _, ok := obj.GetAnnotations()[a]; ok {
			s.foreignInjector = true
		}
	}
	for _, config := range o.clients(obj) {
		text, _ := config["caBundle"].(string)
		bundle, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			bundle = nil // then it is not ours
		}
		s.bundles = append(s.bundles, bundle)
	}
	return s
}

// withBundle returns a copy of the target with the bundle.
func (o *ManagedOptions) withBundle(obj *unstructured.Unstructured, bundle []byte) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	for _, config := range o.clients(obj) {
		config["caBundle"] = base64.StdEncoding.EncodeToString(bundle)
	}
	return obj
}

// problem returns what is wrong with a target, or nil.
func (s targetState) problem(t target, bundle []byte) error {
	switch {
	case s.err != nil:
		return s.err
	case s.obj == nil:
		return &TargetError{t.kind.Kind, t.name, "does not exist"}
	case len(s.bundles) == 0:
		return &TargetError{t.kind.Kind, t.name, "has no webhook that calls a name of the certificate"}
	case s.foreignInjector && !s.has(bundle):
		return &TargetError{t.kind.Kind, t.name, "trusts another CA, which cert-manager writes there: remove its annotation, or serve the certificate files of cert-manager"}
	case !s.has(bundle):
		return &TargetError{t.kind.Kind, t.name, "does not have the CA bundle yet"}
	}
	return nil
}

// TargetError says what is wrong with a target of the CA bundle.
type TargetError struct {
	Kind, Name string
	// Problem in plain words.
	Problem string
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("%s %s %s", strings.ToLower(e.Kind), e.Name, e.Problem)
}

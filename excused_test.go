package flyball

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestConvertedKindsAreThoseOfHandleConversion(t *testing.T) {
	order, pod := schema.GroupKind{Group: "shop.example.com", Kind: "Order"}, schema.GroupKind{Kind: "Pod"}
	other := schema.GroupKind{Group: "shop.example.com", Kind: "Other"}
	h := http.NotFoundHandler()
	for _, tt := range []struct {
		name        string
		serve       func(*Manager) error
		order, pods bool
	}{
		{"another kind", func(m *Manager) error { return m.HandleConversion("/convert", h, other) }, false, false},
		{"the kind", func(m *Manager) error { return m.HandleConversion("/x", h, other, order) }, true, false},
		{"no kind: every custom kind", func(m *Manager) error { return m.HandleConversion("/convert", h) }, true, false},
		{"a path that says nothing", func(m *Manager) error { return m.Handle("/convert", h) }, false, false},
		{"refused", func(m *Manager) error { _ = m.HandleConversion("convert", h, order); return nil }, false, false},
	} {
		m := newAPI(t).manager(t, Options{})
		if err := tt.serve(m); err != nil {
			t.Fatal(err)
		}
		if o, p := m.webhooks.converts(order), m.webhooks.converts(pod); o != tt.order || p != tt.pods {
			t.Errorf("%s: orders %v, pods %v", tt.name, o, p)
		}
	}
}

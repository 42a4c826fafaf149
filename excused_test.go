package flyball

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
)

// A kind that may wait for the conversion of this program delays readiness for ten seconds at most.
func TestConversionExcusesLists(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		err   error
		since time.Time
		want  bool
	}{
		{nil, time.Time{}, false},
		{nil, now.Add(-9 * time.Second), false},
		{nil, now.Add(-10 * time.Second), true},
		{&client.InternalError{}, now, true},
		{&client.UnavailableError{}, now, true},
		{&client.TimeoutError{}, now, true},
		{&client.TooManyRequestsError{}, now, true},
		{errors.New("the stream ended early"), now, true},
		{fmt.Errorf("list: %w", &client.ForbiddenError{}), now.Add(-time.Hour), false},
		{&client.UnauthorizedError{}, now.Add(-time.Hour), false},
		{&client.NotServedError{}, now.Add(-time.Hour), false},
	} {
		if got := waitsForConversion(tt.err, tt.since, now); got != tt.want {
			t.Errorf("%T %v, %v ago: %v, want %v", tt.err, tt.err, now.Sub(tt.since), got, tt.want)
		}
	}
}

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

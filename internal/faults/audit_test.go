package faults_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
)

// A watch loses one event and delivers all others. An audit finds the loss within its period. It
// finds nothing if nothing was lost, however many objects change.
func TestFault39LostEvent(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		period := span(time.Minute, time.Second)
		g, r := behind(t, p, setup{manager: flyball.Options{Cache: cache.Options{Audit: period}}})
		key := object.Key{Namespace: r.ns, Name: "victim"}
		victim := func(value string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string]string{"value": value}}
		}
		cached := func() (string, error) {
			o, err := client.Get[corev1.ConfigMap](t.Context(), r.mgr.Cache(), key)
			if err != nil {
				return "", err
			}
			return o.Data["value"], nil
		}
		repairs := 0
		lose := func(event string, change func() error, mended func(string, error) bool) {
			t.Helper()
			var lost, past atomic.Bool
			g.Lose(func(frame []byte) bool {
				victim := bytes.Contains(frame, []byte(event)) && bytes.Contains(frame, []byte(key.Name))
				if victim && !past.Load() {
					lost.Store(true) // a watch that ends before another frame gets it again
					return true
				}
				past.Store(lost.Load())
				return false
			})
			must(t, change())
			r.during(func() {
				ctx, cancel := context.WithTimeout(t.Context(), hung)
				defer cancel()
				if !r.state.await(ctx, func() bool { return mended(cached()) }) {
					value, err := cached()
					t.Errorf("%s was not found: %q, %v: %+v", event, value, err, r.kind.Informer().Figures().Audit)
				}
			})
			repairs++
			if s := r.kind.Informer().Figures().Audit; !past.Load() || s.Repairs != uint64(repairs) || s.Lost != uint64(repairs) || s.Void > 0 {
				t.Errorf("%s: lost %t, and passed %t: %+v", event, lost.Load(), past.Load(), s)
			}
			r.nothingLost()
		}
		lose("ADDED", func() error { _, err := client.Create(t.Context(), r.direct, victim("1")); return err },
			func(value string, err error) bool { return value == "1" })
		lose("MODIFIED", func() error {
			o, err := client.Get[corev1.ConfigMap](t.Context(), r.direct, key)
			if err == nil {
				o.Data["value"] = "2"
				_, err = client.Update(t.Context(), r.direct, o)
			}
			return err
		}, func(value string, err error) bool { return value == "2" })
		lose("DELETED", func() error { return client.Delete(t.Context(), r.direct, victim("")) },
			func(_ string, err error) bool { return apierrors.IsNotFound(err) })

		g.Lose(nil)
		g.Seen()
		before := r.kind.Informer().Figures().Audit
		r.during(func() {
			ctx, cancel := context.WithTimeout(t.Context(), hung)
			defer cancel()
			r.state.await(ctx, func() bool { return r.kind.Informer().Figures().Audit.Agreed >= before.Agreed+4 })
		})
		if s := r.kind.Informer().Figures().Audit; s.Repairs != before.Repairs || s.Agreed < before.Agreed+4 || s.Failed > 0 {
			t.Errorf("where nothing is lost: %+v", s)
		}
		for _, q := range g.Seen() {
			if !q.Watch() && strings.HasSuffix(q.Path, "/configmaps") && q.Method == "GET" && !q.Query.Has("limit") {
				t.Errorf("a list without pages: %+v", q)
			}
		}
		if n, s := r.watch().Relists["audited"], r.kind.Informer().Figures().Audit; n < int(s.Agreed+s.Repairs) || s.Void > 0 {
			t.Errorf("%d lists: %+v", n, s)
		}
		r.nothingLost()
	})
}

package leader

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
)

// A write without an answer ends when the lease is lost, and when it is released. That includes a
// write whose ctx has not ended, and one that the work has abandoned.
func TestWritesOnTheirWayAreCutOff(t *testing.T) {
	for name, end := range map[string]func(s *server, cancel func()){
		"lost": func(s *server, _ func()) {
			s.edit(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("bob") })
		},
		"released": func(_ *server, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				mapper := meta.NewDefaultRESTMapper(nil)
				mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
				left, cut := make(chan struct{}), time.Time{}
				slow := roundTripper(func(r *http.Request) (*http.Response, error) {
					close(left)
					<-r.Context().Done()
					cut = time.Now()
					return nil, r.Context().Err()
				})
				c, err := client.New(&rest.Config{Host: "http://server.test", Transport: slow}, client.Options{Mapper: mapper, Silence: -1})
				if err != nil {
					t.Fatal(err)
				}
				el := s.elector(t, "a", nil, Options{})
				fenced := el.Fenced(c)
				wrote := make(chan error, 1)
				ctx, cancel := context.WithCancel(t.Context())
				out := start(ctx, el, func(ctx context.Context) error {
					go func() {
						_, err := client.Create(context.Background(), fenced, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "x"}})
						wrote <- err
					}()
					<-ctx.Done()
					return nil
				})
				<-left
				time.Sleep(5 * time.Second)
				ended := time.Now()
				end(s, cancel)
				if err := <-wrote; err == nil || !cut.Equal(ended) {
					t.Errorf("the write ended after %v: %v", cut.Sub(ended), err)
				} else if _, ok := errors.AsType[*client.UnavailableError](err); !ok {
					t.Errorf("the write: %v (%T)", err, err)
				}
				cancel()
				<-out
			})
		})
	}
}

package informer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/audit"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
)

// agree reports whether an informer holds what the server has.
func agree(in *informer.Informer, src *feedtest.Server) bool {
	s, err := in.Snapshot()
	all := src.Objects()
	if err != nil || s.Len() != len(all) {
		return false
	}
	for _, m := range all {
		e, ok := s.Lookup(object.Key{Namespace: m.Namespace, Name: m.Name})
		if !ok || e.UID() != m.UID || e.ResourceVersion() != m.ResourceVersion {
			return false
		}
	}
	return true
}

func logTo(b *bytes.Buffer) func(*informer.Options) {
	return func(o *informer.Options) { o.Logger = slog.New(slog.NewTextHandler(b, nil)) }
}

// An event that a watch has lost, which works otherwise, is found within a period: of any type, on a busy
// kind and on a quiet one, with bookmarks or without.
func TestAuditFindsWhatWasLost(t *testing.T) {
	lose := map[string]func(*feedtest.Server){
		"DELETED":  func(s *feedtest.Server) { s.Delete(key("a7")) },
		"MODIFIED": func(s *feedtest.Server) { s.Put(configMap("a7", "lost")) },
		"ADDED":    func(s *feedtest.Server) { s.Put(configMap("b", "lost")) },
		"replaced": func(s *feedtest.Server) { s.Delete(key("a7")); s.Put(configMap("a7", "lost")) },
	}
	for name, lost := range lose {
		for _, busy := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " busy=", busy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src := newServer()
					for i := range 600 {
						src.Put(configMap(fmt.Sprint("a", i), "1"))
					}
					var log bytes.Buffer
					in := newInformer(t, src, logTo(&log))
					stop := start(t, in)
					defer stop()
					<-in.Synced()
					src.Unseen(func() { lost(src) })
					for end := time.Now().Add(6*time.Hour + 10*time.Minute); time.Now().Before(end); time.Sleep(15 * time.Second) {
						if busy {
							src.Put(configMap("busy", time.Now().String()))
						} else {
							src.Advance()
							src.Bookmark()
						}
					}
					synctest.Wait()
					if !agree(in, src) {
						t.Errorf("after a period: %+v", in.Figures().Audit)
					}
					a, w := in.Figures().Audit, in.State().Watch
					if a.Repairs != 1 || a.Lost != 1 || w.Relists["audited"] != 1 || w.Phase != reflector.Synced {
						t.Errorf("%+v, relists %v", a, w.Relists)
					}
					stop()
					if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "lost=1 objects=\"ns/") {
						t.Errorf("the log says\n%s", &log)
					}
				})
			})
		}
	}
}

// Where nothing is lost no audit finds anything, however quickly objects change, are made and go.
func TestAuditsOfABusyKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &slowMetadata{Server: newServer(), page: 20, before: func(context.Context, wire.ListQuery) error {
			time.Sleep(300 * time.Millisecond) // objects change while they are listed
			return nil
		}}
		in := src.informer(t, func(o *informer.Options) { o.Audit = time.Second })
		stop := start(t, in)
		defer stop()
		<-in.Synced()
		for i := 0; in.Figures().Audit.Agreed < 100; i++ {
			name := fmt.Sprint("a", i*7919%60)
			switch i % 5 {
			case 0:
				src.Delete(key(name))
			case 1:
				src.Delete(key(name))
				src.Put(configMap(name, "again"))
			default:
				src.Put(configMap(name, fmt.Sprint(i)))
			}
			time.Sleep(50 * time.Millisecond)
		}
		a, w := in.Figures().Audit, in.State().Watch
		if a.Repairs != 0 || a.Failed != 0 || a.Void != 0 || len(w.Relists) != 1 {
			t.Errorf("%+v, relists %v", a, w.Relists)
		}
		if n := src.Audits(); n < 110 {
			t.Errorf("%d lists: nothing ever differed, and the test shows nothing", n)
		}
	})
}

// slowMetadata answers the lists of audits as it is told to.
type slowMetadata struct {
	*feedtest.Server
	before func(ctx context.Context, q wire.ListQuery) error
	page   int64 // objects in a page; 0: as many as were asked for
}

func (s *slowMetadata) ListMetadata(ctx context.Context, q wire.ListQuery) (*wire.List, error) {
	if err := s.before(ctx, q); err != nil {
		return nil, err
	}
	if s.page > 0 {
		q.Limit = s.page
	}
	return s.Server.ListMetadata(ctx, q)
}

func (s *slowMetadata) informer(t *testing.T, change ...func(*informer.Options)) *informer.Informer {
	t.Helper()
	hourly := func(o *informer.Options) { o.Audit = time.Hour }
	return newInformer(t, s, append([]func(*informer.Options){hourly}, change...)...)
}

// A list of the content that comes while an audit compares makes its findings void; the next audit finds
// what is still lost.
func TestAuditBesideARelist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := 0
		src := &slowMetadata{Server: newServer()}
		for i := range 1200 {
			src.Put(configMap(fmt.Sprint("a", i), "1"))
		}
		in := src.informer(t)
		src.before = func(_ context.Context, q wire.ListQuery) error {
			if pages++; pages == 2 {
				src.Forget(func() { src.Put(configMap("c", "1")) }) // 410: a list
				time.Sleep(time.Minute)
			}
			return nil
		}
		stop := start(t, in)
		defer stop()
		<-in.Synced()
		src.Unseen(func() { src.Delete(key("a7")) })
		for in.Figures().Audit == (informer.AuditStats{}) {
			time.Sleep(time.Second)
		}
		if a := in.Figures().Audit; a.Void != 1 || a.Repairs != 0 || !agree(in, src.Server) {
			t.Errorf("after the list: %+v", a)
		}
		src.Unseen(func() { src.Delete(key("a8")) })
		for range 120 {
			src.Put(configMap("c", time.Now().String()))
			time.Sleep(15 * time.Second)
		}
		if a := in.Figures().Audit; a.Void != 1 || a.Repairs != 1 || !agree(in, src.Server) {
			t.Errorf("after the next audit: %+v", a)
		}
	})
}

// Audits of one cache list one at a time, also while they pause between pages that take long.
func TestAuditsListOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := cache.Connection{Scheme: types, Mapping: func(context.Context, schema.GroupVersionKind) (*meta.RESTMapping, error) {
			return &meta.RESTMapping{Resource: configMaps.Resource, GroupVersionKind: configMapGVK, Scope: meta.RESTScopeNamespace}, nil
		}}
		var listing, together, lists atomic.Int32
		conn.Source = func(schema.GroupVersionKind, client.Selection) reflector.Source {
			server := newServer()
			for i := range 100 {
				server.Put(configMap(fmt.Sprint("a", i), "1"))
			}
			return &slowMetadata{Server: server, page: 20, before: func(_ context.Context, q wire.ListQuery) error {
				if q.Continue == "" && listing.Add(1) > 1 {
					together.Add(1)
				}
				time.Sleep(400 * time.Millisecond)
				if strings.HasSuffix(q.Continue, "-80") {
					listing.Add(-1)
					lists.Add(1)
				}
				return nil
			}}
		}
		f, err := cache.New(conn, cache.Options{Audit: 20 * time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []string{"a", "b", "c", "d"} {
			if _, err := f.Open(t.Context(), &corev1.ConfigMap{}, client.Selection{Labels: labels.SelectorFromSet(labels.Set{"of": of})}); err != nil {
				t.Fatal(err)
			}
		}
		stop := start(t, f)
		time.Sleep(10 * time.Minute)
		begun, ended := together.Load(), lists.Load() // a list that the stop cuts off has no last page
		_ = stop()
		if begun > 0 || ended < 40 {
			t.Errorf("%d of %d lists began while another one was under way", begun, ended)
		}
	})
}

// An audit that hangs, or fails, costs itself only: the kind follows its watch, and the next audit is in
// time. Stopping does not wait for it.
func TestAuditThatHangs(t *testing.T) {
	for name, before := range map[string]func(ctx context.Context, q wire.ListQuery) error{
		"hangs":  func(ctx context.Context, _ wire.ListQuery) error { <-ctx.Done(); return context.Cause(ctx) },
		"panics": func(context.Context, wire.ListQuery) error { panic("no") },
		"fails":  func(context.Context, wire.ListQuery) error { return errors.New("no") },
		"hangs between pages": func(ctx context.Context, q wire.ListQuery) error {
			if q.Continue == "" {
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				broken.Store(true)
				src := &slowMetadata{Server: newServer(), before: func(ctx context.Context, q wire.ListQuery) error {
					if broken.Load() {
						return before(ctx, q)
					}
					return nil
				}}
				for i := range 700 {
					src.Put(configMap(fmt.Sprint("a", i), "1"))
				}
				in := src.informer(t)
				stop := start(t, in)
				defer stop()
				<-in.Synced()
				src.Unseen(func() { src.Delete(key("a7")) })
				for range 150 {
					src.Put(configMap("b", time.Now().String()))
					time.Sleep(time.Minute)
					if s, err := in.Snapshot(); err != nil || s.Len() != 701 || in.State().Err != nil {
						t.Fatalf("%v, %v", in.State(), err)
					}
				}
				if a := in.Figures().Audit; a.Failed < 2 || a.Failed > 3 || a.Off {
					t.Errorf("%+v", a)
				}
				broken.Store(false)
				time.Sleep(time.Hour + 10*time.Minute)
				if a := in.Figures().Audit; a.Repairs != 1 || !agree(in, src.Server) {
					t.Errorf("%+v", a)
				}
				broken.Store(true)
				time.Sleep(time.Hour)
				began := time.Now()
				stop()
				if took := time.Since(began); took > 0 {
					t.Errorf("stopped after %v", took)
				}
			})
		})
	}
}

// A server that does not list metadata is asked a few times a day, and that is said once. Once it does,
// audits go on.
func TestAuditWithoutMetadata(t *testing.T) {
	for name, list := range map[string]func(*feedtest.Server) (*wire.List, error){
		"refused":       func(*feedtest.Server) (*wire.List, error) { return nil, fmt.Errorf("no: %w", audit.ErrNoMetadata) },
		"whole objects": func(s *feedtest.Server) (*wire.List, error) { return s.List(context.Background(), wire.ListQuery{}) },
		"another kind": func(s *feedtest.Server) (*wire.List, error) {
			return wire.NewList(io.NopCloser(strings.NewReader(`{"kind":"Whatever","apiVersion":"v1","metadata":{},"items":[]}`)),
				"application/json", s.Kind(), wire.Limits{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, mended := 0, atomic.Bool{}
				src := &otherMetadata{Server: newServer(), list: func(s *feedtest.Server) (*wire.List, error) {
					if mended.Load() {
						return s.ListMetadata(context.Background(), wire.ListQuery{})
					}
					asked++
					return list(s)
				}}
				src.Put(configMap("a", "1"))
				var log bytes.Buffer
				in, err := informer.New(src, informer.Options{
					Kind: configMaps, Scheme: types, Audit: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				if err != nil {
					t.Fatal(err)
				}
				stop := start(t, in)
				defer stop()
				time.Sleep(24 * time.Hour)
				off := in.Figures().Audit
				mended.Store(true)
				time.Sleep(5 * time.Hour)
				a := in.Figures().Audit
				stop()
				if n := strings.Count(log.String(), "cannot be audited"); asked != int(a.Failed) || asked < 6 || asked > 8 || n != 1 || !off.Off || a.Off || a.Agreed == 0 {
					t.Errorf("asked %d times, %+v, then %+v:\n%s", asked, off, a, &log)
				}
			})
		})
	}
}

type otherMetadata struct {
	*feedtest.Server
	list func(*feedtest.Server) (*wire.List, error)
}

func (s *otherMetadata) ListMetadata(context.Context, wire.ListQuery) (*wire.List, error) {
	return s.list(s.Server)
}

// What no list mends is listed for once, and then left alone.
func TestAuditOfWhatCannotBeMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newServer()
		src.Put(configMap("a", "1"))
		src.PutJSON(key("odd"), `,"labels":7`, `"data":7`) // its name alone can be read
		other := &otherMetadata{Server: src, list: func(s *feedtest.Server) (*wire.List, error) {
			text := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"100"},"items":[
				{"metadata":{"namespace":"ns","name":"a","uid":"uid-1","resourceVersion":"2"}},
				{"metadata":{"namespace":"ns","name":"odd","uid":"uid-2","resourceVersion":"3","labels":7}},
				{"metadata":{"namespace":"ns","name":"ghost","uid":"g","resourceVersion":"1"}},
				{"metadata":{"namespace":"elsewhere","name":"a","uid":"uid-3","resourceVersion":"4"}}]}`
			return wire.NewList(io.NopCloser(strings.NewReader(text)), "application/json",
				&wire.Kind{GVK: configMapGVK, Scheme: types, MetadataOnly: true}, wire.Limits{})
		}}
		var log bytes.Buffer
		in, err := informer.New(other, informer.Options{
			Kind: configMaps, Selection: client.Selection{Namespace: "ns"}, Scheme: types, Audit: time.Hour,
			Logger:    slog.New(slog.NewTextHandler(&log, nil)),
			Transform: informer.Transform(func(o *corev1.ConfigMap) error { o.Data = nil; return nil }),
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		defer stop()
		time.Sleep(24 * time.Hour)
		if a := in.Figures().Audit; a.Repairs != 1 || a.Lost != 1 || a.Agreed < 20 {
			t.Errorf("%+v\n%s", a, &log)
		}
	})
}

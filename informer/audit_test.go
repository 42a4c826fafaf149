package informer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
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

func hourly(o *informer.Options) { o.Audit = time.Hour }

// An event that a watch has lost, which works otherwise, is found within a period: of any type, on a busy
// kind and on a quiet one, with bookmarks or without. A source gets it as a change.
func TestAuditFindsWhatWasLost(t *testing.T) {
	lose := map[string]func(*feedtest.Server){
		"deleted":  func(s *feedtest.Server) { s.Delete(key("a7")) },
		"modified": func(s *feedtest.Server) { s.Put(configMap("a7", "lost")) },
		"added":    func(s *feedtest.Server) { s.Put(configMap("b", "lost")) },
		"replaced": func(s *feedtest.Server) { s.Delete(key("a7")); s.Put(configMap("a7", "lost")) },
	}
	for event, lost := range lose {
		for _, busy := range []bool{true, false} {
			t.Run(fmt.Sprint(event, " busy=", busy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src := newServer()
					for i := range 600 {
						src.Put(configMap(fmt.Sprint("a", i), "1"))
					}
					var log bytes.Buffer
					in := newInformer(t, src, logTo(&log))
					var told []string
					if _, err := in.Subscribe("told", func(c store.Change) {
						if !c.Initial && c.Key.Name != "busy" {
							told = append(told, c.Key.Name)
						}
					}); err != nil {
						t.Fatal(err)
					}
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
					a, w := in.Figures().Audit, in.State().Watch
					if !agree(in, src) || a.Repairs != 1 || a.Lost != 1 || a.Void != 0 || w.Relists["audited"] != int(a.Repairs+a.Agreed) || w.Phase != reflector.Synced {
						t.Errorf("%+v, relists %v", a, w.Relists)
					}
					stop()
					if len(told) != 1 {
						t.Errorf("the source was told of %v", told)
					}
					if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "lost=1 objects=\"ns/") || !strings.Contains(log.String(), "("+event+")") {
						t.Errorf("the log says\n%s", &log)
					}
				})
			})
		}
	}
}

// Where nothing is lost no audit finds anything, however quickly objects change, are made and go, whether the server
// lists old versions or not.
func TestAuditsOfABusyKind(t *testing.T) {
	for name, newest := range map[string]bool{"exact": false, "newest": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &auditedServer{Server: newServer(), before: func(context.Context) error {
					time.Sleep(300 * time.Millisecond) // objects change before they are listed
					return nil
				}}
				src.newest.Store(newest)
				in := newInformer(t, src, func(o *informer.Options) { o.Audit = time.Second })
				stop := start(t, in)
				defer stop()
				<-in.Synced()
				for i := 0; in.Figures().Audit.Agreed+in.Figures().Audit.Void < 100; i++ {
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
				if a.Repairs != 0 || len(w.Relists) != 2 || w.Episode != 0 || (a.Void > 0) != newest {
					t.Errorf("%+v, relists %v", a, w.Relists)
				}
			})
		})
	}
}

// auditedServer answers the lists of audits as it is told to.
type auditedServer struct {
	*feedtest.Server
	before func(context.Context) error
	newest atomic.Bool // it lists no old versions
}

func (s *auditedServer) List(ctx context.Context, q wire.ListQuery) (*wire.List, error) {
	exact := q.Match == metav1.ResourceVersionMatchExact
	if s.before != nil && exact {
		if err := s.before(ctx); err != nil {
			return nil, err
		}
	}
	if exact && s.newest.Load() {
		return nil, apierrors.NewResourceExpired("The provided resource version is too old")
	}
	return s.Server.List(ctx, q)
}

// A server that does not list the version of the watch lists the newest one. Everything that was lost is repaired. A
// lost deletion is not counted, since it cannot be told from a later one.
func TestAuditOfTheNewestVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &auditedServer{Server: newServer()}
		src.newest.Store(true)
		src.before = func(context.Context) error { src.Advance(); return nil }
		for i := range 9 {
			src.Put(configMap(fmt.Sprint("a", i), "1"))
		}
		in := newInformer(t, src, hourly)
		stop := start(t, in)
		defer stop()
		<-in.Synced()
		src.Unseen(func() {
			src.Delete(key("a1"))
			src.Put(configMap("a2", "lost"))
			src.Put(configMap("b", "lost"))
		})
		src.Put(configMap("a3", "seen"))
		time.Sleep(time.Hour + time.Minute)
		if a := in.Figures().Audit; !agree(in, src.Server) || a.Repairs != 1 || a.Lost != 2 {
			t.Errorf("%+v", a)
		}
		src.Unseen(func() { src.Delete(key("a4")) })
		src.Put(configMap("a3", "again")) // without an event behind the lost one a probe finds the loss, and no audit
		time.Sleep(time.Hour)
		if a := in.Figures().Audit; !agree(in, src.Server) || a.Repairs != 1 || a.Void == 0 {
			t.Errorf("a lost deletion: %+v", a)
		}
	})
}

// A complete list begins a new period: it has repaired what was lost.
func TestAuditAfterARelist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newServer()
		in := newInformer(t, src, hourly)
		stop := start(t, in)
		defer stop()
		<-in.Synced()
		for range 20 {
			time.Sleep(30 * time.Minute)
			src.Forget(func() { src.Put(configMap("c", time.Now().String())) }) // 410: a list
		}
		time.Sleep(time.Minute)
		if a := in.Figures().Audit; a != (informer.AuditStats{}) || !agree(in, src) {
			t.Errorf("%+v", a)
		}
	})
}

// An audit that hangs, or fails, costs itself only: the kind is readable meanwhile and follows its watch afterwards, and
// the next audit is in time. Stopping does not wait for it.
func TestAuditThatHangs(t *testing.T) {
	for name, before := range map[string]func(ctx context.Context) error{
		"hangs": func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		"fails": func(context.Context) error { return errors.New("no") },
		"forbidden": func(context.Context) error {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("no"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				broken.Store(true)
				src := &auditedServer{Server: newServer()}
				src.before = func(ctx context.Context) error {
					if broken.Load() {
						return before(ctx)
					}
					return nil
				}
				for i := range 700 {
					src.Put(configMap(fmt.Sprint("a", i), "1"))
				}
				in := newInformer(t, src, hourly)
				stop := start(t, in)
				defer stop()
				<-in.Synced()
				src.Unseen(func() { src.Delete(key("a7")) })
				for range 150 {
					src.Put(configMap("b", time.Now().String()))
					time.Sleep(time.Minute)
					if s, err := in.Snapshot(); err != nil || s.Len() < 700 || in.State().Err != nil || !in.State().Watch.Phase.Good() {
						t.Fatal(in.State(), err)
					}
				}
				a, w := in.Figures().Audit, in.State().Watch
				if s, err := in.Snapshot(); err != nil || s.Len() != 701 || a.Failed < 10 || a.Failed > 18 || w.AuditErr == nil {
					t.Errorf("%+v: %+v, %v", a, w, err)
				}
				broken.Store(false)
				time.Sleep(time.Hour + 10*time.Minute)
				if a := in.Figures().Audit; a.Repairs != 1 || !agree(in, src.Server) || in.State().Watch.AuditErr != nil {
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

// Objects that cannot be decoded, and objects that are shown otherwise in the same version, are no lost events.
func TestAuditOfOddObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newServer()
		src.Put(configMap("a", "1"))
		src.PutJSON(key("odd"), `,"labels":7`, `"data":7`) // its name alone can be read
		var log bytes.Buffer
		in := newInformer(t, src, hourly, logTo(&log), func(o *informer.Options) {
			o.Transform = informer.Transform(func(o *corev1.ConfigMap) error { o.Data = nil; return nil })
		})
		stop := start(t, in)
		defer stop()
		<-in.Synced()
		for range 24 {
			src.Show(key("a"), func(json []byte) []byte {
				return bytes.Replace(json, []byte(`"data"`), []byte(`"binaryData":{"x":"YQ=="},"data"`), 1)
			})
			time.Sleep(time.Hour)
		}
		if a := in.Figures().Audit; a.Repairs != 0 || a.Lost != 0 || a.Agreed < 20 {
			t.Errorf("%+v\n%s", a, &log)
		}
	})
}

package faults_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/faults"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/test/servertest"
)

// behind starts a rig behind a gateway.
func behind(t *testing.T, p server, s setup) (*faults.Gateway, *rig) {
	t.Helper()
	g := gatewayTo(t, p)
	s.config = g.Config()
	return g, start(t, p, s)
}

// A watch receives a frame that does not parse. The first time that costs a new watch at the same
// version. The second time at the same version, it costs a list.
func TestFault06GarbageFrame(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		g, r := behind(t, p, setup{tune: steady})
		garbage := func(w http.ResponseWriter) bool {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":`+"\x00\xff}}\n")
			return true
		}
		for _, tc := range []struct{ frames, relists int }{{1, 0}, {2, 1}} {
			mangled, relists := r.watch().Restarts["mangled"], r.watch().Relists["garbage"]
			reported := len(r.reported())
			g.Renew(times(int32(tc.frames), isWatch, garbage))
			r.churn(20)
			r.await("garbage", func(s reflector.State) bool {
				return s.Restarts["mangled"] > mangled && s.Relists["garbage"] == relists+tc.relists && s.Phase == reflector.Synced
			})
			if n := len(r.reported()) - reported; n != tc.frames {
				t.Errorf("%d bad frames were reported %d times", tc.frames, n)
			}
			r.nothingLost()
		}
	})
}

// A continue token expires between two pages, at every page size and every page.
func TestFault08ContinueExpired(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		const objects = 8 // besides the ConfigMap of every namespace
		r := start(t, p, setup{keys: objects})
		r.fill()
		for size := 1; size <= objects+1; size++ {
			for page := range min(objects/size, pick(objects, 2)) {
				part(t, fmt.Sprintf("size %d page %d", size, page), func(t *testing.T) {
					g := gatewayTo(t, p)
					pages, gone := 0, 0
					g.Break(func(w http.ResponseWriter, req *http.Request) bool {
						inPages(req)
						if isList(req) && gone > 0 && req.URL.Query().Get("limit") != "" {
							t.Error("pages again, after one has expired")
						}
						if !isList(req) || req.URL.Query().Get("continue") == "" {
							return false
						}
						if pages++; pages != page+1 {
							return false
						}
						gone++
						return expired(w)
					})
					onceListed(t, r, g.Config(), func(c *reflector.Options) { c.Paged, c.PageSize = true, int64(size) })
					if gone != 1 {
						t.Errorf("%d tokens expired", gone)
					}
				})
			}
		}
		r.nothingLost()
	})
}

// The same on a server that really has no history: it is compacted and restarted between two pages.
func TestFault08Compacted(t *testing.T) {
	tier.Audit(t, "restarts a control plane")
	parallel(t)
	p := hurtable(t)
	r := start(t, p, setup{})
	g := gatewayTo(t, p)
	done := false
	g.Break(func(w http.ResponseWriter, req *http.Request) bool {
		inPages(req)
		if done || !isList(req) || req.URL.Query().Get("continue") == "" {
			return false
		}
		done = true
		r.churn(40)
		if _, err := p.Compact(context.Background()); err != nil {
			t.Error(err)
		}
		if err := p.Restart(context.Background()); err != nil {
			t.Error(err)
		}
		return false
	})
	onceListed(t, r, g.Config(), func(c *reflector.Options) { c.Paged, c.PageSize = true, 3 })
	if !done {
		t.Error("nothing was compacted")
	}
	r.nothingLost()
}

// The server rejects a version as too new, on every request. That costs one list of the newest
// state.
func TestFault09TooLargeForEver(t *testing.T) {
	for name, message := range map[string]func(*metav1.Status){
		"by cause": func(s *metav1.Status) {
			s.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
		},
		"by message": func(s *metav1.Status) { s.Message = "Too large resource version: 999, current: 7" },
	} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, p *servertest.Server) {
				g, r := behind(t, p, setup{tune: steady})
				tooLarge := func(w http.ResponseWriter, req *http.Request) bool {
					q := req.URL.Query()
					lists := isList(req) || isStream(req)
					if v := q.Get("resourceVersion"); !lists || v == "" || v == "0" {
						return false
					}
					s := metav1.Status{
						TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
						Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout,
						Message: "Timeout", Details: &metav1.StatusDetails{RetryAfterSeconds: 1},
					}
					message(&s)
					writeStatus(w, s)
					return true
				}
				began := time.Now()
				forget(g, tooLarge)
				r.churn(40)
				r.await("the list", func(s reflector.State) bool { return s.Relists["too large"] == 1 && s.Phase == reflector.Synced })
				r.nothingLost()
				lists := 0
				for _, a := range g.Seen() {
					if a.At.After(began) && (!a.Watch() || a.Query.Get("sendInitialEvents") != "") {
						lists++
					}
				}
				if lists > 2+2 { // the rejected one, its fallback, and those of the check, which do not go through the gateway
					t.Errorf("%d lists", lists)
				}
			})
		})
	}
}

// The server answers 429 with Retry-After, to the watch and to a list.
func TestFault10TooManyRequests(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		const pause = 2 * time.Second
		busy := func(w http.ResponseWriter) bool {
			faults.Answer(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "later", pause)
			return true
		}
		g, r := behind(t, p, setup{tune: steady})
		g.Seen()
		g.Renew(times(2, isWatch, busy))
		r.churn(40)
		r.await("refused twice, then served", func(s reflector.State) bool {
			return s.Restarts["busy"] == 2 && s.Phase == reflector.Synced
		})
		spaced(t, g.Seen(), pause, 2)
		if n := len(r.watch().Relists); n != 1 {
			t.Errorf("lists: %v", r.watch().Relists)
		}
		r.nothingLost()

		// Now the history is lost, and the list that follows is rejected as well.
		forget(g, times(2, func(req *http.Request) bool { return isList(req) || isStream(req) }, busy))
		r.churn(40)
		r.await("listed", func(s reflector.State) bool { return s.Relists["expired"] == 1 && s.Phase == reflector.Synced })
		var lists []faults.Request
		for _, a := range g.Seen() {
			if !a.Watch() || a.Query.Get("sendInitialEvents") != "" {
				lists = append(lists, a)
			}
		}
		spaced(t, lists, pause, 2)
		r.nothingLost()
	})
}

// spaced checks the pause between each of the first n requests and the next one.
func spaced(t *testing.T, seen []faults.Request, pause time.Duration, n int) {
	t.Helper()
	if len(seen) < n+1 {
		t.Fatalf("%d requests", len(seen))
	}
	for i := range n {
		if d := seen[i+1].At.Sub(seen[i].At); d < pause {
			t.Errorf("request %d came %v after the one that was told to wait %v", i+1, d, pause)
		}
	}
}

// The server answers 500 and 503 to every request for a while.
func TestFault11ServerErrors(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		g, r := behind(t, p, setup{})
		n := 0
		began := time.Now()
		g.Renew(func(w http.ResponseWriter, _ *http.Request) bool {
			n++
			code, reason := http.StatusInternalServerError, metav1.StatusReasonInternalError
			if n%2 == 0 {
				code, reason = http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable
			}
			faults.Answer(w, code, reason, "the script says so", 0)
			return true
		})
		r.during(func() {
			r.await("stale", func(s reflector.State) bool { return s.Phase == reflector.Stale && s.Restarts["failed"] >= 3 })
		})
		for _, w := range r.mgr.Cache().Watches() {
			if w.State.Err == nil || w.State.Watch.Phase.Good() {
				t.Errorf("the watch says it is well: %+v", w.State)
			}
		}
		if err := r.reads(); err != nil {
			t.Errorf("a read while the server fails: %v", err)
		}
		if asked := r.asked.since(began); len(asked) > 20 {
			t.Errorf("%d requests in %v to a server that fails", len(asked), time.Since(began))
		}
		g.Break(nil)
		r.nothingLost()
		if n := len(r.watch().Relists); n != 1 {
			t.Errorf("lists: %v", r.watch().Relists)
		}
	})
}

// After a break, an API server that lags behind serves the program. It lists an old state and knows
// no newer one. No observer may see that state.
func TestFault13OlderView(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		g, r := behind(t, p, setup{tune: func(c *reflector.Options) { steady(c); c.Paged = true }})
		path := "/api/v1/namespaces/" + r.ns + "/configmaps"
		old := ask(t, g, path, "application/json")
		r.churn(80)
		r.seen()
		stale := times(3, func(req *http.Request) bool { return isList(req) && req.URL.Query().Get("resourceVersion") != "" }, old.write)
		forget(g, stale)
		r.churn(40)
		r.await("the older view was seen", func(s reflector.State) bool { return s.Relists["older view"] > 0 && s.Phase == reflector.Synced })
		r.nothingLost()
		if n := r.watch().Relists["went back"]; n != 0 {
			t.Errorf("taken for a server that went back: %v", r.watch().Relists)
		}

		// A watch that starts with old events.
		older := func(w http.ResponseWriter) bool {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"w0-0","namespace":%q,"uid":"u","resourceVersion":"2"}}}`+"\n", r.ns)
			return true
		}
		before := r.watch().Relists["older view"]
		g.Renew(times(1, isWatch, older))
		r.churn(40)
		r.await("the older event was seen", func(s reflector.State) bool {
			return s.Relists["older view"] > before && s.Phase == reflector.Synced
		})
		r.nothingLost()
	})
}

// Objects are deleted, or deleted and created again under the same name, while no watch is open.
func TestFault14DeletesWhileAway(t *testing.T) {
	for _, tc := range []struct {
		name   string
		forget bool // the server has no history to replay
	}{{"replayed", false}, {"unseen", true}} {
		t.Run(tc.name, func(t *testing.T) {
			world(t, func(t *testing.T, p *servertest.Server) {
				g, r := behind(t, p, setup{tune: steady})
				g.Renew(func(w http.ResponseWriter, req *http.Request) bool {
					if isWatch(req) {
						faults.Answer(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "away", 0)
					}
					return isWatch(req)
				})
				r.await("away", func(s reflector.State) bool { return s.Phase == reflector.Stale })
				missedBefore, replacedBefore := *r.tally("source"), *r.tally("handler")
				deleted, again := r.deleteAndRemake(3, 2)
				if tc.forget {
					forget(g)
				} else {
					g.Break(nil)
				}
				r.nothingLost()
				s, h := *r.tally("source"), *r.tally("handler")
				if !tc.forget {
					if s.missed != missedBefore.missed {
						t.Errorf("%+v: deletions are marked as missed that were replayed", s)
					}
					return
				}
				if n := s.missed - missedBefore.missed; n != deleted {
					t.Errorf("%d deletions marked as missed, want %d", n, deleted)
				}
				if n := h.replaced - replacedBefore.replaced; n != again {
					t.Errorf("%d updates with two UIDs, want %d", n, again)
				}
			})
		})
	}
}

// deleteAndRemake deletes that many objects for good, and recreates that many others.
func (r *rig) deleteAndRemake(deletes, remakes int) (deleted, again int) {
	r.Helper()
	for _, w := range r.writers {
		for _, o := range w.mine {
			if deleted+again == deletes+remakes {
				return
			}
			must(r.T, client.Delete(r.Context(), r.direct, o, client.IfUID(o.UID)))
			w.gone(o)
			if deleted < deletes {
				deleted++
				continue
			}
			must(r.T, w.wrote(client.Create(r.Context(), r.direct, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: o.Name},
			})))
			again++
		}
	}
	return
}

// A streaming list begins and never reports that it is complete.
func TestFault15StreamingListNeverEnds(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		g := gatewayTo(t, p)
		g.Break(func(w http.ResponseWriter, req *http.Request) bool {
			if !isStream(req) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"phantom","namespace":"default","uid":"u","resourceVersion":"2"}}}`+"\n")
			http.NewResponseController(w).Flush()
			<-req.Context().Done()
			return true
		})
		began := time.Now()
		r := start(t, p, setup{config: g.Config(), tune: func(c *reflector.Options) { c.InitialEvents = span(time.Minute, time.Second) }})
		if d := time.Since(began); d > 3*time.Minute {
			t.Errorf("synced after %v", d)
		}
		if !r.watch().NoStream || r.asked.total()["list configmaps"] == 0 {
			t.Errorf("%+v, requests %v", r.watch(), r.asked.total())
		}
		r.churn(40)
		r.nothingLost()
	})
}

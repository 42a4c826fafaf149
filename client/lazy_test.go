package client

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// plainServer has group versions that answer at once, fail, or never answer.
type plainServer struct {
	*fake
	versions []schema.GroupVersion
	hangs    map[schema.GroupVersion]bool

	mu     sync.Mutex
	listed []string // the paths of lists of resources since the last look
}

func newPlainServer(t *testing.T, groups, versions int) *plainServer {
	s := &plainServer{fake: newFake(t), hangs: map[schema.GroupVersion]bool{}}
	all := metav1.APIGroupList{}
	for g := range groups {
		group := metav1.APIGroup{Name: fmt.Sprintf("g%d.test", g)}
		for v := range versions {
			gv := schema.GroupVersion{Group: group.Name, Version: fmt.Sprintf("v%d", v+1)}
			s.versions = append(s.versions, gv)
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
			s.on("GET /apis/"+gv.String(), answer(200, resourceList(gv.String(), resource("things", "Thing", true))))
		}
		all.Groups = append(all.Groups, group)
	}
	s.on("GET /apis", answer(200, all))
	return s
}

func (s *plainServer) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.Path, "/apis/")
	if gv, err := schema.ParseGroupVersion(path); err == nil && path != r.URL.Path {
		s.mu.Lock()
		s.listed = append(s.listed, path)
		hangs := s.hangs[gv]
		s.mu.Unlock()
		if hangs {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
	}
	return s.fake.RoundTrip(r)
}

// look returns the group versions that were listed since the last look.
func (s *plainServer) look() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.listed
	s.listed = nil
	slices.Sort(was)
	return was
}

// Whatever part of a server never answers, a question waits for the group versions that it is about, and for
// no other: each for at most its bound. Only those are asked.
func TestQuestionWaitsForItsOwnGroupVersionsOnly(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 0))
				s := newPlainServer(t, 1+rnd.IntN(30), 1+rnd.IntN(3))
				for range rnd.IntN(len(s.versions) + 1) {
					s.hangs[s.versions[rnd.IntN(len(s.versions))]] = true
				}
				m := mapperOf(s)
				c := &Live{mapper: m}
				for range 30 {
					gvk := s.versions[rnd.IntN(len(s.versions))].WithKind([]string{"Thing", "Nothing"}[rnd.IntN(2)])
					if rnd.IntN(8) == 0 {
						gvk.Group = "none.test"
					}
					var err error
					began := time.Now()
					want := []string{gvk.GroupVersion().String()}
					hangs := s.hangs[gvk.GroupVersion()]
					if whole := rnd.IntN(3) == 0; whole {
						want, hangs = nil, false
						for _, gv := range s.versions {
							if gv.Group == gvk.Group {
								want, hangs = append(want, gv.String()), hangs || s.hangs[gv]
							}
						}
						_, _, err = c.Feed(gvk, Selection{}).Served(t.Context())
					} else {
						_, err = m.Mapping(t.Context(), gvk)
					}
					bound := time.Duration(0)
					if hangs {
						bound = listTimeout
					}
					if took := time.Since(began); took > bound {
						t.Errorf("%v: took %v, at most %v: %v", gvk, took, bound, err)
					}
					for _, path := range s.look() {
						if !slices.Contains(want, path) {
							t.Errorf("%v: %s was listed", gvk, path)
						}
					}
				}
			})
		})
	}
}

// Questions about group versions that answer go on while others wait for one that does not.
func TestQuestionsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlainServer(t, 40, 1)
		for _, gv := range s.versions[:30] {
			s.hangs[gv] = true
		}
		m := mapperOf(s)
		began := time.Now()
		var wg sync.WaitGroup
		for i, gv := range s.versions {
			for range 3 {
				wg.Go(func() {
					_, err := m.Mapping(t.Context(), gv.WithKind("Thing"))
					if took := time.Since(began); i < 30 && (!is[*NotServedError](err) || took > listTimeout) || i >= 30 && (err != nil || took != 0) {
						t.Errorf("%v: after %v: %v", gv, took, err)
					}
				})
			}
		}
		wg.Wait()
		if got := s.look(); len(got) != len(slices.Compact(slices.Clone(got))) {
			t.Errorf("listed twice: %v", got)
		}
	})
}

// A kind that is added, removed or moved to the other scope is found with one list, and what is known of the other
// group versions stays.
func TestRefreshListsOneGroupVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlainServer(t, 5, 2)
		m := mapperOf(s)
		for _, gv := range s.versions {
			if _, err := m.Mapping(t.Context(), gv.WithKind("Thing")); err != nil {
				t.Fatal(err)
			}
		}
		s.look()
		gv := s.versions[3]
		s.on("GET /apis/"+gv.String(), answer(200, resourceList(gv.String(), resource("others", "Other", true), resource("things", "Thing", false))))
		if _, err := m.Mapping(t.Context(), gv.WithKind("Other")); err != nil {
			t.Error(err)
		}
		for _, other := range s.versions {
			found, err := m.Mapping(t.Context(), other.WithKind("Thing"))
			if err != nil || (found.Scope.Name() == "root") != (other == gv) {
				t.Errorf("%v: %v, %v", other, found, err)
			}
		}
		if got := s.look(); len(got) != 1 {
			t.Errorf("listed %v", got)
		}
		s.on("GET /apis/"+gv.String(), answer(200, resourceList(gv.String(), resource("things", "Thing", true))))
		m.gone(gv.WithResource("things"))
		if found, err := m.Mapping(t.Context(), gv.WithKind("Thing")); err != nil || found.Scope.Name() != "namespace" {
			t.Errorf("after a 404: %v, %v", found, err)
		}
		if got := s.look(); len(got) != 1 {
			t.Errorf("listed %v", got)
		}
	})
}

func mapperOf(rt http.RoundTripper) *mapper {
	c, err := New(&rest.Config{Host: "http://fake.test", Transport: rt}, Options{})
	if err != nil {
		panic(err)
	}
	return c.mapper.(*mapper)
}

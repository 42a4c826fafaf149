package informer_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// The watch may be ahead of what reads show: while a transform works, events wait. Version says what reads show.
func TestVersionIsOfReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		works := make(chan struct{})
		in := newInformer(t, s, func(o *informer.Options) {
			o.Transform = func(obj object.Object) error {
				if obj.(*corev1.ConfigMap).Name == "slow" {
					<-works
				}
				return nil
			}
		})
		if v := in.Version(); v != "" {
			t.Errorf("before the start: %q", v)
		}
		stop := start(t, in)
		defer stop()
		synctest.Wait()
		first := in.Version()
		if first == "" || first != in.State().Watch.ResourceVersion {
			t.Fatalf("after the list: %q, the watch has %q", first, in.State().Watch.ResourceVersion)
		}
		s.Put(configMap("slow", "2"))
		s.Put(configMap("b", "3"))
		synctest.Wait()
		if v := in.Version(); v != first || in.State().Watch.ResourceVersion == first {
			t.Errorf("while the transform works: %q, want %q; the watch has %q", v, first, in.State().Watch.ResourceVersion)
		}
		close(works)
		synctest.Wait()
		if v := in.Version(); v != in.State().Watch.ResourceVersion || in.State().Objects != 3 {
			t.Errorf("in the end: %q, the watch has %q, and there are %d objects", v, in.State().Watch.ResourceVersion, in.State().Objects)
		}
	})
}

// A Version that nobody asked for until the writer was busy is that of the list, or of what came before.
func TestVersionOfABusyWriter(t *testing.T) {
	for _, before := range []int{0, 1, 7} {
		for _, how := range []string{"transform", "join"} {
			t.Run(fmt.Sprintf("%s after %d", how, before), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer()
					s.Put(configMap("a", "1"))
					works, busy := make(chan struct{}), make(chan struct{})
					block := sync.OnceFunc(func() {
						close(busy)
						<-works
					})
					in := newInformer(t, s, func(o *informer.Options) {
						if how == "transform" {
							o.Transform = func(obj object.Object) error {
								if obj.(*corev1.ConfigMap).Name == "slow" {
									block()
								}
								return nil
							}
						}
					})
					stop := start(t, in)
					defer stop()
					synctest.Wait()
					for i := range before {
						s.Put(configMap("b", strconv.Itoa(i)))
						synctest.Wait()
					}
					want := in.State().Watch.ResourceVersion
					switch how {
					case "transform":
						s.Put(configMap("slow", "2"))
					case "join":
						_, err := in.Subscribe("slow", func(store.Change) { block() })
						if err != nil {
							t.Fatal(err)
						}
					}
					<-busy
					if v := in.Version(); v != want {
						t.Errorf("%q, want %q", v, want)
					}
					close(works)
				})
			})
		}
	}
}

// Whatever goes on, a read after Version shows every event up to it.
func TestReadsAreNotBehindVersion(t *testing.T) {
	for name, change := range map[string]func(*informer.Options){
		"applied by the reader": func(*informer.Options) {},
		"applied for it": func(o *informer.Options) {
			o.Transform = func(object.Object) error { return nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			const more = 3000
			s := newServer()
			s.Put(configMap("a", "1"))
			in := newInformer(t, s, change)
			stop := start(t, in)
			defer stop()
			<-in.Synced()
			version := func() int {
				v, err := strconv.Atoi(in.Version())
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			first := version()
			go func() {
				for i := range more {
					s.Put(configMap("b"+strconv.Itoa(i), "1"))
				}
			}()
			for last := first; last < first+more; {
				v := version()
				if n := in.State().Objects; v < last || n < 1+v-first {
					t.Fatalf("at version %d after %d there are %d objects, want %d at least", v, last, n, 1+v-first)
				}
				last = v
			}
		})
	}
}

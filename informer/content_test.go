package informer_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/store"
)

// What a relist shows in another way at one resourceVersion is taken and told, to everybody, once, as an
// update and not as a resync.
func TestOtherContentAtOneVersion(t *testing.T) {
	for _, transform := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.Put(configMap("a", "1"))
			s.Put(configMap("b", "1"))
			runs := 0
			in := newInformer(t, s, func(o *informer.Options) {
				if transform {
					o.Transform = informer.Transform(func(c *corev1.ConfigMap) error {
						runs++
						c.Data["transformed"] = "yes"
						return nil
					})
				}
			})
			var st story
			handle(t, in, &st)
			var changes []store.Change
			_, err := in.Subscribe("source", func(c store.Change) {
				if match, err := predicate.SpecChanged().Match(c); err != nil || match && c.Old != nil {
					changes = append(changes, c)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			stop := start(t, in)
			defer func() { _ = stop() }()
			st.want(t, "list", "add a=1 initial", "add b=1 initial")
			s.Show(key("a"), func(json []byte) []byte {
				return bytes.Replace(json, []byte(`"data":{"value":"1"}`), []byte(`"data":{"value":"converted"}`), 1)
			})
			s.Show(key("b"), func(json []byte) []byte { // only written in another way
				return bytes.Replace(json, []byte(`"data":{"value":"1"}`), []byte(`"data": { "value":"1" }`), 1)
			})
			s.Forget(func() { s.Put(configMap("c", "1")) })
			time.Sleep(time.Minute)
			st.want(t, "relist", "update a=1→converted", "add c=1")
			if got, err := lister(t, in).Get(key("a")); err != nil || got.Data["value"] != "converted" || transform && got.Data["transformed"] == "" {
				t.Errorf("transform %v: %v, %v", transform, got, err)
			}
			if len(changes) != 1 || changes[0].Resync || changes[0].Old.ResourceVersion() != changes[0].New.ResourceVersion() {
				t.Errorf("transform %v: a source was told %+v", transform, changes)
			}
			s.Forget(func() { s.Put(configMap("d", "1")) })
			time.Sleep(time.Minute)
			st.want(t, "the next relist", "add d=1")
			if transform && runs != 6 {
				t.Errorf("%d runs of the transform", runs)
			}
		})
	}
}

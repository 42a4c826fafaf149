package corpus

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// size returns 0.1 to 900 kB, mostly small sizes: three quarters are below 4 kB.
func (g *maker) size() int {
	switch p := g.r.IntN(1000); {
	case p < 750:
		return 100 + g.r.IntN(4_000)
	case p < 990:
		return 4_000 + g.r.IntN(40_000)
	case p < 999:
		return 44_000 + g.r.IntN(200_000)
	}
	return 244_000 + g.r.IntN(656_000)
}

// text returns about n bytes of text as in configuration files. No two objects have the same.
func (g *maker) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%s_%s: %q # %d\n", word(g.r, 6), word(g.r, 4), word(g.r, 12), g.r.IntN(10_000))
	}
	return b.String()
}

// random returns n incompressible bytes.
func (g *maker) random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.r.Uint32())
	}
	return b
}

func configMap(g *maker) Object {
	c := &corev1.ConfigMap{ObjectMeta: g.meta("config", nil)}
	c.Data = map[string]string{"config.yaml": g.text(g.size()), "revision": fmt.Sprint(g.n)}
	return c
}

func secret(g *maker) Object {
	s := &corev1.Secret{ObjectMeta: g.meta("secret", nil), Type: corev1.SecretTypeOpaque}
	s.Data = map[string][]byte{"token": g.random(g.size()), "revision": fmt.Append(nil, g.n)}
	return s
}

func event(g *maker) Object {
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%s.%s%d", g.app(), word(g.r, 5), hex(g.r, 8), g.i), Namespace: g.namespace(), UID: types.UID(uid(g.r)), CreationTimestamp: g.at(0),
	}}
	e.InvolvedObject = corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: e.Namespace, Name: fmt.Sprintf("%s-%s", g.app(), word(g.r, 5)), UID: types.UID(uid(g.r)), ResourceVersion: fmt.Sprint(g.r.IntN(1_000_000))}
	e.Reason, e.Type = "Pulled", corev1.EventTypeNormal
	e.Message = fmt.Sprintf("Successfully pulled image %q in %dms", "registry.example.org/shop/"+g.app()+":v1", g.r.IntN(9000))
	e.Source = corev1.EventSource{Component: "kubelet", Host: fmt.Sprintf("node-%04d", g.r.IntN(nodes))}
	e.FirstTimestamp, e.LastTimestamp, e.Count = g.at(0), g.at(time.Duration(g.n)*time.Second), int32(1+g.n)
	return e
}

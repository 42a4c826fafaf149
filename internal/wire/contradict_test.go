package wire

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// A list that contradicts itself is an error, in whatever order its members come; what API servers send is
// none. A caller that believed it would take the missing objects for deleted ones.
func TestListsThatContradictThemselves(t *testing.T) {
	n := func(i int64) *int64 { return &i }
	items := map[string]string{ // of a JSON list
		"none": ``, "null": `"items":null`, "empty": `"items":[]`, "one": `"items":[{"metadata":{"name":"a"}}]`,
		"twice":         `"items":[{"metadata":{"name":"a"}}],"items":[]`,
		"null, one":     `"items":null,"items":[{"metadata":{"name":"a"}}]`,
		"twice the end": `"items":[],"items":[]`,
	}
	metas := map[string]struct {
		m   metav1.ListMeta
		bad bool
	}{
		"plain":               {metav1.ListMeta{ResourceVersion: "9"}, false},
		"nothing remains":     {metav1.ListMeta{ResourceVersion: "9", RemainingItemCount: n(0)}, false},
		"a page":              {metav1.ListMeta{ResourceVersion: "9", Continue: "c", RemainingItemCount: n(40)}, false},
		"a page of selectors": {metav1.ListMeta{ResourceVersion: "9", Continue: "c"}, false},
		"no next page":        {metav1.ListMeta{ResourceVersion: "9", RemainingItemCount: n(40)}, true},
	}
	for metaName, meta := range metas {
		text := fmt.Sprintf(`"metadata":{"resourceVersion":"9","continue":%q`, meta.m.Continue)
		if meta.m.RemainingItemCount != nil {
			text += fmt.Sprintf(`,"remainingItemCount":%d`, *meta.m.RemainingItemCount)
		}
		text += `}`
		for kindName, kind := range map[string]*Kind{
			"typed":   {GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Scheme: scheme.Scheme},
			"untyped": {GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}},
		} {
			for itemName, item := range items {
				for order, members := range [][]string{
					{`"apiVersion":"v1","kind":"ConfigMapList"`, text, item},
					{item, text, `"apiVersion":"v1","kind":"ConfigMapList"`},
					{text, item, `"apiVersion":"v1","kind":"ConfigMapList"`},
					{text, `"apiVersion":"v1","kind":"ConfigMapList"`, item, text},
				} {
					var set []string
					for _, m := range members {
						if m != "" {
							set = append(set, m)
						}
					}
					bad := meta.bad || order == 3 || itemName == "none" || strings.Count(item, `"items"`) == 2
					body := "{" + strings.Join(set, ",") + "}"
					if err := readAll(t, body, ContentTypeJSON, kind); bad != (err != nil) {
						t.Errorf("%s, %s, %s, order %d: %v", kindName, metaName, itemName, order, err)
					}
				}
			}
		}
		for _, names := range [][]string{nil, {"a"}, {"a", "b"}} {
			list := &corev1.ConfigMapList{ListMeta: meta.m}
			for _, name := range names {
				list.Items = append(list.Items, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			once, err := list.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			again, err := (&corev1.ConfigMapList{ListMeta: meta.m}).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			kind := &Kind{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Scheme: scheme.Scheme}
			for twice, raw := range [][]byte{once, append(bytes.Clone(once), again...)} {
				body := enveloped(t, raw)
				if err := readAll(t, body, ContentTypeProtobuf, kind); (meta.bad || twice == 1) != (err != nil) {
					t.Errorf("protobuf, %s, %v, metadata twice %d: %v", metaName, names, twice, err)
				}
			}
		}
	}
}

// enveloped returns a protobuf ConfigMapList as a server sends it.
func enveloped(t *testing.T, raw []byte) string {
	t.Helper()
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, Raw: raw}
	b, err := u.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(magic) + string(b)
}

func readAll(t *testing.T, body, contentType string, kind *Kind) error {
	t.Helper()
	l, err := NewList(io.NopCloser(strings.NewReader(body)), contentType, kind, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for {
		if _, err := l.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

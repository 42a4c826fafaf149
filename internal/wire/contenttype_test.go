package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/wire"
)

func TestParseContentType(t *testing.T) {
	for _, c := range []struct {
		in    string
		enc   wire.Encoding
		watch bool
	}{
		{"application/json", wire.JSON, false},
		{"application/json; charset=utf-8", wire.JSON, false},
		{"Application/JSON;stream=watch", wire.JSON, true},
		{"application/vnd.kubernetes.protobuf", wire.Protobuf, false},
		{"application/vnd.kubernetes.protobuf; stream=watch", wire.Protobuf, true},
		{" application/vnd.kubernetes.protobuf ; Stream = watch ", wire.Protobuf, true},
		{wire.ContentTypeProtobufWatch, wire.Protobuf, true},
		{"text/html", 0, false},
		{"application/cbor", 0, false},
		{"application/json;;;=", 0, false},
		{"", 0, false},
	} {
		enc, watch, err := wire.ParseContentType(c.in)
		if enc != c.enc || watch != c.watch || (err != nil) != (c.enc == 0) {
			t.Errorf("%q: %v %v %v", c.in, enc, watch, err)
		}
		if bad := (*wire.ContentTypeError)(nil); err != nil && (!errors.As(err, &bad) || bad.ContentType != c.in) {
			t.Errorf("%q: %v", c.in, err)
		}
	}
}

type closer struct {
	io.Reader
	closed int
}

func (c *closer) Close() error { c.closed++; return nil }

func TestPageOfAProxy(t *testing.T) {
	page := "<html>\n  <body>502 Bad\xff Gateway ü</body>" + strings.Repeat("ü", 1000)
	var bad *wire.ContentTypeError
	check := func(what string, err error) {
		t.Helper()
		if !errors.As(err, &bad) || bad.ContentType != "text/html; charset=utf-8" ||
			!strings.HasPrefix(bad.Excerpt, "<html> <body>502 Bad\uFFFD Gateway ü</body>ü") || len(bad.Excerpt) > 300 || strings.HasSuffix(bad.Excerpt, "\uFFFD") {
			t.Errorf("%s: %v", what, err)
		}
	}
	list, watch := &closer{Reader: strings.NewReader(page)}, &closer{Reader: strings.NewReader(page)}
	_, err := wire.NewList(list, "text/html; charset=utf-8", pods, wire.Limits{})
	check("list", err)
	_, err = wire.NewWatch(watch, "text/html; charset=utf-8", pods, wire.Limits{})
	check("watch", err)
	_, err = wire.ParseObject([]byte(page), "text/html; charset=utf-8", pods)
	check("object", err)
	if list.closed != 1 || watch.closed != 1 {
		t.Error("the body is not closed")
	}
	if _, err := wire.NewList(body(nil), wire.ContentTypeProtobufWatch, pods, wire.Limits{}); !errors.As(err, &bad) {
		t.Errorf("a watch where a list was asked for: %v", err)
	}
}

func TestParseObjectTakesOnlyItsKind(t *testing.T) {
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: 404, Reason: "NotFound"}
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		if _, err := wire.ParseObject(stock(t, enc, typedPod(1)), contentType(enc), pods); err != nil {
			t.Error(err)
		}
		var kind *wire.KindError
		if _, err := wire.ParseObject(stock(t, enc, typedPod(1)), contentType(enc), maps); !errors.As(err, &kind) || kind.Got != pods.GVK {
			t.Error(err)
		}
		var stop *wire.StatusError
		if _, err := wire.ParseObject(stock(t, enc, status), contentType(enc), pods); !errors.As(err, &stop) || stop.Status.Code != 404 {
			t.Error(err)
		}
		for _, in := range []string{"", "garbage", "k8s\x00\xff", "{", "[]", `{"kind":5}`} {
			if _, err := wire.ParseObject([]byte(in), contentType(enc), pods); !errors.As(err, new(*wire.SyntaxError)) {
				t.Errorf("%q: %v", in, err)
			}
		}
	})
}

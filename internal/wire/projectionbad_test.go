package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authnv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"

	"github.com/flyball-io/flyball/internal/wire"
)

type self struct{ Metadata struct{ Again []self } }

func TestCompileProjectionRefuses(t *testing.T) {
	type spec[T any] struct{ Spec T }
	for _, c := range []struct {
		view          any
		field, reason string
	}{
		{spec[struct{ NodName string }]{}, "Spec.NodName", "v1.Pod has no field spec.nodName"},
		{spec[struct {
			Node string `json:"nodename"`
		}]{}, "Spec.Node", "v1.Pod has no field spec.nodename"},
		{spec[struct{ Containers []struct{ Picture string } }]{}, "Spec.Containers.Picture", "v1.Pod has no field spec.containers[*].picture"},
		{spec[struct{ NodeName int }]{}, "Spec.NodeName", "int cannot hold spec.nodeName, which is string"},
		{spec[struct{ NodeName []string }]{}, "Spec.NodeName", "[]string cannot hold spec.nodeName, which is string"},
		{spec[struct{ NodeName struct{ X string } }]{}, "Spec.NodeName", "spec.nodeName is string, which has no fields"},
		{spec[struct{ NodeName *string }]{}, "Spec.NodeName", "it is a pointer, but spec.nodeName is string, which is always there"},
		{spec[struct{ TerminationGracePeriodSeconds int32 }]{}, "Spec.TerminationGracePeriodSeconds", "int32 cannot hold spec.terminationGracePeriodSeconds, which is int64"},
		{spec[struct{ HostNetwork uint8 }]{}, "Spec.HostNetwork", "uint8 cannot hold spec.hostNetwork, which is bool"},
		{spec[struct{ NodeSelector map[string]int }]{}, "Spec.NodeSelector", "int cannot hold spec.nodeSelector[*], which is string"},
		{spec[struct{ NodeSelector map[int]string }]{}, "Spec.NodeSelector", "the keys of map[int]string are no strings"},
		{spec[struct{ Containers [][]string }]{}, "Spec.Containers", "[]string cannot hold spec.containers[*], which is v1.Container"},
		{spec[corev1.ServiceSpec]{}, "Spec.Ports", "v1.Pod has no field spec.ports"},
		{spec[struct{ Overhead map[string]string }]{}, "Spec.Overhead", "it is string, but spec.overhead[*] is resource.Quantity, which has a form of its own"},
		{spec[struct{ NodeName metav1.Time }]{}, "Spec.NodeName", "it is v1.Time, but spec.nodeName is string"},
		{spec[struct{ NodeName chan int }]{}, "Spec.NodeName", "a view cannot have a chan int"},
		{spec[struct{ NodeName [3]byte }]{}, "Spec.NodeName", "a view cannot have a [3]uint8"},
		{spec[json.RawMessage]{}, "Spec", "it is json.RawMessage, but spec is v1.PodSpec"},
		{spec[any]{}, "Spec", "a view cannot have a interface {}"},
		{struct {
			Metadata struct{ CreationTimestamp string }
		}{}, "Metadata.CreationTimestamp", "it is string, but metadata.creationTimestamp is v1.Time, which has a form of its own"},
		{struct {
			Metadata struct{ CreationTimestamp struct{ Time string } }
		}{}, "Metadata.CreationTimestamp", "metadata.creationTimestamp is v1.Time, which has a form of its own"},
		{struct{ *podSpec }{}, "podSpec", "an embedded pointer is not supported"},
		{struct {
			N int64 `json:"spec,string"`
		}{}, "N", "the option string of a json tag is not supported"},
		{struct {
			N string `field:"spec..x"`
		}{}, "N", `wire: field path "spec..x", at ".x": a name is missing`},
		{struct {
			N []string `field:"spec.containers[*].image"`
		}{}, "N", `wire: field path "spec.containers[*].image", at "containers[*]": a view reads a list into a slice of structs`},
		{struct {
			N string `field:"spec.containers[a]"`
		}{}, "N", "spec.containers is []v1.Container, which has no fields"},
		{struct {
			N string `field:"spec.securityContext[a]"`
		}{}, "N", "spec.securityContext is v1.PodSecurityContext, which is no map"},
		{struct {
			N string `field:"metadata.labels.app.x"`
		}{}, "N", "metadata.labels.app is string, which has no fields"},
		{self{}, "Metadata.Again", "v1.Pod has no field metadata.again"},
		{5, "", "it is no struct"},
	} {
		_, err := wire.CompileProjection(pods.GoType(), reflect.TypeOf(c.view))
		var bad *wire.ProjectionError
		if !errors.As(err, &bad) || bad.Field != c.field || bad.Reason != c.reason || bad.Kind != pods.GoType() {
			t.Errorf("%T: got %v, want %s: %s", c.view, err, c.field, c.reason)
		}
	}
	_, err := wire.CompileProjection(nil, reflect.TypeFor[self]())
	if want := "wire: view wire_test.self.Metadata.Again: wire_test.self contains itself"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := wire.CompileProjection(nil, nil); !errors.As(err, new(*wire.ProjectionError)) {
		t.Errorf("no view: %v", err)
	}
}

// Equal fields of a message are merged as the generated code does it.
func TestProjectMergesProtobuf(t *testing.T) {
	in := msg(
		1, msg(1, "a", 3, "n", 11, msg(1, "app", 2, "1"), 9, msg(1, 5), 8, msg(1, 7)),
		2, msg(10, "node-1", 25, 3, 2, msg(1, "first"), 14, msg(2, 8, 4, 1), 32, msg(1, "cpu", 2, msg(1, "1"))),
		3, msg(1, "Running"),
		1, msg(1, "b", 11, msg(1, "y", 2, "2"), 11, msg(2, "3", 1, "app"), 9, msg(2, 7), 11, msg(1, "example.com/tier"), 14, "f", 8, ""),
		2, msg(25, int64(1<<40+4), 2, msg(1, "second", 2, "i", 6, msg(3, 80), 6, msg(3, 81)), 14, msg(4, 2), 14, msg(4, []byte{3, 4, 5}), 32, msg(1, "cpu", 2, msg(1, "2")), 5000, "far", 5000, 7),
		2, msg(1, msg(1, "v", 2, msg(19, msg(1, msg(1, "cm")))), 18, msg(1, msg(2, msg(1, 1))), 18, msg(1, msg(2, msg(1, 2))), 77, strings.Repeat("long", 10_000)),
		77, "unknown", 3, msg(2, msg(1, "Ready", 4, "")),
	)
	checkPodView(t, wire.Raw{Kind: pods, Encoding: wire.Protobuf, Bytes: in})
}

// Of equal keys of a map the last one counts, with nothing of those before.
func TestProjectEqualKeys(t *testing.T) {
	slices := &wire.Kind{GVK: resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"), Scheme: types}
	one, text := int64(1), "x"
	var device []byte
	for _, a := range []resourcev1.DeviceAttribute{{IntValue: &one}, {StringValue: &text}} {
		d := resourcev1.Device{Name: "d", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"a": a}}
		b, err := d.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		device = append(device, b...)
	}
	in := wire.Raw{Kind: slices, Encoding: wire.Protobuf, Bytes: msg(2, msg(6, device))}
	type attr struct {
		Int    *int64  `json:"int"`
		String *string `json:"string"`
	}
	var v struct {
		Spec struct {
			Devices []struct {
				Attributes map[string]attr
				A          attr `field:"attributes[a]"`
				B          attr `field:"attributes[b]"`
			}
		}
	}
	if err := in.Project(&v); err != nil {
		t.Fatal(err)
	}
	want := attr{String: &text}
	if d := v.Spec.Devices; len(d) != 1 || !reflect.DeepEqual(d[0].A, want) || !reflect.DeepEqual(d[0].Attributes["a"], want) || d[0].B != (attr{}) {
		t.Errorf("%+v", v)
	}
}

// TestProjectJSON has what is special about JSON, with and without a Go type of the kind.
func TestProjectJSON(t *testing.T) {
	type view struct {
		APIVersion string
		Metadata   struct{ Name string }
		Spec       struct {
			S     string
			N     int8
			U     uint16
			F     float64
			G     float32
			B     bool
			P     *string
			M     map[string]string
			Deep  map[string]map[string][]int
			L     []*int
			LL    [][]string
			Raw   json.RawMessage
			Ext   runtime.RawExtension
			Any   any
			Time  metav1.Time
			Micro metav1.MicroTime
			Q     resource.Quantity
			IS    intstr.IntOrString `json:"is"`
			Bytes []byte
			In    struct{ X, Y int }
			D     metav1.Duration
		}
		X int `field:"spec.in.x"`
	}
	for _, c := range []struct{ name, spec string }{
		{"nothing", `{}`},
		{"null", `null`},
		{"all nulls", `{"s":null,"n":null,"f":null,"b":null,"p":null,"m":null,"deep":null,"l":null,"ll":null,"ext":null,"any":null,"time":null,"q":null,"bytes":null,"in":null}`},
		{"values", `{"s":"x\u0041\n\"\ud83d\ude00","n":-7,"u":65535,"f":-1.5e3,"g":0.25,"b":true,"p":"","any":[1,{"a":null}],"time":"2026-03-01T12:00:00Z","micro":"2026-03-01T12:00:00.000001Z","q":"1500m","is":"http","bytes":"AAEC","d":"5m0s","raw":{"a" : 1},"ext":{"kind":"K"}}`},
		{"other forms", `{"q":2,"is":80,"raw":"x","any":5,"f":3,"b":false,"in":{"x":1,"z":{"x":5}}}`},
		{"lists", `{"l":[1,null,3],"ll":[["a","b"],[],null],"m":{"a":"b","":null},"deep":{"a":{"b":[1,2]},"c":null,"d":{}}}`},
		{"empty", `{"l":[],"ll":[],"m":{},"deep":{},"bytes":""}`},
		{"case", `{"S":"x","IN":{"x":1},"in":{"X":1}}`},
		{"space", " { \"s\" :\t\"x\" , \"l\" : [ 1 ,\n2 ] , \"zz\" : [ { } , [ ] , \"}\" ] } "},
		{"brackets in strings", `{"zz":{"}":"]","a\"}":["\\","\\\"}",{"b":"{[\\"}]},"s":"after","yy":["a\\\\","b"],"n":1}`},
		{"escaped name", `{"\u0073":"x"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: thing("a", `,"spec":`+c.spec)}
			var got view
			if err := r.Project(&got); err != nil {
				t.Fatal(err)
			}
			// The stock decoder wants the names in tags.
			want := reflect.New(tagged(reflect.TypeFor[view]()))
			if err := kjson.UnmarshalCaseSensitivePreserveInts(r.Bytes, want.Interface()); err != nil {
				t.Fatal(err)
			}
			same := want.Elem().Convert(reflect.TypeFor[view]()).Interface().(view)
			same.X = same.Spec.In.X
			if d := cmp.Diff(same, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// tagged is a struct type with JSON names as package wire has them.
func tagged(t reflect.Type) reflect.Type {
	if t.Kind() != reflect.Struct || t.PkgPath() != "" && !strings.HasSuffix(t.PkgPath(), "wire_test") {
		return t
	}
	var fields []reflect.StructField
	for f := range t.Fields() {
		name := f.Tag.Get("json")
		switch {
		case name != "":
		case f.Tag.Get("field") != "":
			name = "-"
		case f.Name == "APIVersion":
			name = "apiVersion"
		case len(f.Name) < 3:
			name = strings.ToLower(f.Name)
		default:
			name = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		f.Type, f.Tag = tagged(f.Type), reflect.StructTag(`json:"`+name+`"`)
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

func TestProjectLastOfEqualNames(t *testing.T) {
	type view struct {
		Spec struct {
			A, B int
			M    map[string]int
			L    []struct{ X, Y int }
			Q    *resource.Quantity
		}
		A int `field:"spec.a"`
	}
	for in, want := range map[string]string{
		`,"spec":{"a":1,"b":2},"spec":{"b":3}`:                                              `{"Spec":{"A":0,"B":3,"M":null,"L":null,"Q":null},"A":0}`,
		`,"spec":{"a":1,"a":null,"b":2,"b":4}`:                                              `{"Spec":{"A":0,"B":4,"M":null,"L":null,"Q":null},"A":0}`,
		`,"spec":{"a":1},"spec":null`:                                                       `{"Spec":{"A":0,"B":0,"M":null,"L":null,"Q":null},"A":0}`,
		`,"spec":{"m":{"a":1,"a":2},"m":{"b":3},"l":[{"x":1},{"y":2}],"l":[{"y":3}],"a":5}`: `{"Spec":{"A":5,"B":0,"M":{"b":3},"L":[{"X":0,"Y":3}],"Q":null},"A":5}`,
		`,"spec":{"q":"1","q":"2"}`:                                                         `{"Spec":{"A":0,"B":0,"M":null,"L":null,"Q":"2"},"A":0}`,
	} {
		var v view
		if err := (wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: thing("a", in)}).Project(&v); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if got, _ := json.Marshal(v); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestProjectBadObjects(t *testing.T) {
	type labels struct {
		Metadata struct{ Labels map[string]string }
	}
	for _, c := range []struct {
		view  any
		kind  *wire.Kind
		enc   wire.Encoding
		in    []byte
		field string
	}{
		{new(podView), pods, wire.JSON, []byte(`{"spec":{"nodeName":5}}`), "spec.nodeName"},
		{new(podView), pods, wire.JSON, []byte(`{"spec":[]}`), "spec"},
		{new(podView), pods, wire.JSON, []byte(`{"spec":{"containers":[{"name":"a"},{"name":{}}]}}`), "spec.containers[*].name"},
		{new(podView), pods, wire.JSON, []byte(`{"spec":{"containers":{}}}`), "spec.containers"},
		{new(podView), pods, wire.JSON, []byte(`{"spec":{"priority":1.5}}`), "spec.priority"},
		{new(podView), pods, wire.JSON, []byte(`{"spec":{"priority":3000000000}}`), "spec.priority"},
		{new(podView), pods, wire.JSON, []byte(`{"spec":{"hostNetwork":"true"}}`), "spec.hostNetwork"},
		{new(podView), pods, wire.JSON, []byte(`{"metadata":{"labels":{"a":5}}}`), "metadata.labels"},
		{new(labels), pods, wire.JSON, []byte(`{"metadata":{"labels":{"a":5}}}`), "metadata.labels"},
		{new(podView), pods, wire.JSON, []byte(`{"metadata":{"creationTimestamp":"x"}}`), "metadata.creationTimestamp"},
		{new(podView), pods, wire.JSON, []byte("{\"spec\":{\"nodeName\":\"\xff\"}}"), "spec.nodeName"},
		{new(podView), pods, wire.JSON, []byte("{\"spec\":{\"nodeName\":\"\n\"}}"), "spec.nodeName"},
		{new(podView), pods, wire.JSON, []byte(`{"spec":{"nodeName":"\x"}}`), "spec.nodeName"},
		{new(podView), pods, wire.JSON, []byte(`{"spec":{"nodeName":"x}}`), "spec.nodeName"},
		{new(podView), pods, wire.JSON, []byte(`null`), ""},
		{new(podView), pods, wire.JSON, []byte(`[]`), ""},
		{new(podView), pods, wire.JSON, []byte(`{"spec":{}}x`), ""},
		{new(podView), pods, wire.JSON, []byte(`{"spec":{}`), ""},
		{new(podView), pods, wire.JSON, []byte(`{"other":{"a":[`), ""},
		{new(podView), pods, wire.JSON, []byte(`{"other":"`), ""},
		{new(podView), pods, wire.JSON, []byte(`{"other":,}`), ""},
		{new(podView), pods, wire.JSON, []byte(`{"other" 5}`), ""},
		{new(podView), pods, wire.JSON, []byte(`{"other":5 6}`), ""},
		{new(podView), pods, wire.JSON, nil, ""},
		{new(podView), pods, wire.Protobuf, msg(2, msg(10, 5)), "spec.nodeName"},
		{new(podView), pods, wire.Protobuf, msg(2, 5), "spec"},
		{new(podView), pods, wire.Protobuf, msg(2, "\x52\x7f"), "spec"},
		{new(podView), pods, wire.Protobuf, msg(2, msg(25, "x")), "spec.priority"},
		{new(podView), pods, wire.Protobuf, msg(2, msg(11, "x")), "spec.hostNetwork"},
		{new(labels), pods, wire.Protobuf, msg(1, msg(11, msg(1, "a", 2, 5))), "metadata.labels"},
		{new(podView), pods, wire.Protobuf, msg(1, msg(11, msg(1, 5))), "metadata.labels"},
		{new(podView), pods, wire.Protobuf, msg(2, msg(2, msg(6, msg(3, "x")))), "spec.containers[*].ports[*].containerPort"},
		{new(podView), pods, wire.Protobuf, msg(2, msg(32, msg(1, "cpu", 2, msg(1, "x")))), "spec.overhead"},
		{new(podView), pods, wire.Protobuf, msg(1, msg(8, msg(1, "x"))), "metadata.creationTimestamp"},
		{new(podView), pods, wire.Protobuf, []byte{0x12, 0x80}, ""},
		{new(podView), pods, wire.Protobuf, []byte{2, 1, 'x', 0x12, 2, 0x52, 0}, ""},
		{new(podView), pods, 0, nil, ""},
		{new(labels), things, wire.Protobuf, msg(1, msg(1, "a")), ""},
	} {
		err := wire.Raw{Kind: c.kind, Encoding: c.enc, Bytes: c.in}.Project(c.view)
		var bad *wire.DecodeError
		if !errors.As(err, &bad) || bad.Field != c.field || bad.Kind != c.kind.GVK {
			t.Errorf("%q: got %v, want an error in %q", c.in, err, c.field)
		}
	}
	err := wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a","namespace":"ns"},"spec":{"nodeName":5}}`)}.Project(new(podView))
	if want := `wire: decode Pod "ns/a": spec.nodeName: want a string, got a number`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestProjectIntoWrongType(t *testing.T) {
	r := raw(t, wire.Protobuf, pods, bigPod(1))
	for _, into := range []any{nil, podView{}, (*podView)(nil), new(int)} {
		if err := r.Project(into); !errors.As(err, new(*wire.TypeError)) {
			t.Errorf("%T: %v", into, err)
		}
	}
	p, err := wire.CompileProjection(pods.GoType(), reflect.TypeFor[*podView]())
	if err != nil || p.View() != reflect.TypeFor[podView]() {
		t.Fatal(err)
	}
	if err := p.Read(r, new(threeFields)); !errors.As(err, new(*wire.TypeError)) {
		t.Errorf("another view: %v", err)
	}
	var v podView
	if err := p.Read(r, &v); err != nil || v.Metadata.Name != bigPod(1).Name {
		t.Errorf("%v %v", v.Metadata.Name, err)
	}
	if err := (wire.Raw{Encoding: wire.JSON, Bytes: []byte(`{}`)}).Project(&v); !errors.As(err, new(*wire.DecodeError)) {
		t.Errorf("no kind: %v", err)
	}
}

// Of a kind of which only the metadata was asked for there are views of the metadata.
func TestProjectMetadataOnly(t *testing.T) {
	kind := &wire.Kind{GVK: things.GVK, Scheme: types, MetadataOnly: true}
	meta := &metav1.PartialObjectMetadata{ObjectMeta: bigPod(1).ObjectMeta}
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		b, err := meta.ObjectMeta.Marshal()
		in := wire.Raw{Kind: kind, Encoding: enc, Bytes: msg(1, b)}
		if enc == wire.JSON {
			in.Bytes, err = json.Marshal(meta)
		}
		if err != nil {
			t.Fatal(err)
		}
		var v struct {
			metav1.TypeMeta
			metav1.ObjectMeta `json:"metadata"`
		}
		if err := in.Project(&v); err != nil {
			t.Fatal(err)
		}
		if d := diffObjects(meta.ObjectMeta, v.ObjectMeta); d != "" || v.Kind != "Thing" || v.APIVersion != "example.com/v1" {
			t.Error(v.TypeMeta, d)
		}
		err = in.Project(new(threeFields))
		if want := "wire: view wire_test.threeFields.Spec: v1.PartialObjectMetadata has no field spec"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// A custom kind with a Go type is checked against it and read as JSON.
func TestProjectCustomType(t *testing.T) {
	kind := &wire.Kind{GVK: things.GVK, Scheme: runtime.NewScheme()}
	kind.Scheme.AddKnownTypeWithName(kind.GVK, &Thing{})
	in := wire.Raw{Kind: kind, Encoding: wire.JSON, Bytes: thing("a", `,"spec":{"size":3,"names":["x",null],"more":{"k":"v"}}`)}
	var v struct {
		Metadata struct{ Name string }
		Spec     struct {
			Size  int
			Names json.RawMessage
		}
		K string `field:"spec.more[k]"`
	}
	if err := in.Project(&v); err != nil || v.Metadata.Name != "a" || v.Spec.Size != 3 || string(v.Spec.Names) != `["x",null]` || v.K != "v" {
		t.Errorf("%+v %v", v, err)
	}
	var none struct{ Spec struct{ Sizes int } }
	if err := in.Project(&none); !errors.As(err, new(*wire.ProjectionError)) {
		t.Error(err)
	}
}

// Types of the API that are rare: a list with a form of its own as the value of a map, bytes, and
// times of microseconds.
func TestProjectRareTypes(t *testing.T) {
	review := &wire.Kind{GVK: authnv1.SchemeGroupVersion.WithKind("TokenReview"), Scheme: types}
	in := &authnv1.TokenReview{Status: authnv1.TokenReviewStatus{User: authnv1.UserInfo{
		Extra: map[string]authnv1.ExtraValue{"a": {"x", "y"}, "b": {}},
	}}}
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		var v struct {
			Extra map[string]authnv1.ExtraValue `field:"status.user.extra"`
			A     authnv1.ExtraValue            `field:"status.user.extra[a]"`
			B, C  *authnv1.ExtraValue           `field:"status.user.extra[b]"`
		}
		if err := raw(t, enc, review, in).Project(&v); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(in.Status.User.Extra, v.Extra); d != "" || len(v.A) != 2 || v.B == nil || v.C == nil || v.B == v.C {
			t.Error(d, v)
		}
		secret := &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("Secret"), Scheme: types}
		var s struct {
			Data map[string][]byte
			Key  []byte `field:"data['tls.key']"`
		}
		data := map[string][]byte{"tls.key": {0, 1, 2}, "empty": {}}
		if err := raw(t, enc, secret, &corev1.Secret{Data: data}).Project(&s); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s.Data, data) || !bytes.Equal(s.Key, data["tls.key"]) {
			t.Error(s)
		}
		event := &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("Event"), Scheme: types}
		var e struct{ EventTime metav1.MicroTime }
		at := metav1.NewMicroTime(time.Unix(1700000000, 5000))
		if err := raw(t, enc, event, &corev1.Event{EventTime: at}).Project(&e); err != nil || !e.EventTime.Equal(&at) {
			t.Error(e, err)
		}
	})
}

// What a view holds shares nothing with the bytes.
func TestViewSharesNothingWithTheBytes(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		r := raw(t, enc, pods, bigPod(1))
		r.Bytes = bytes.Clone(r.Bytes)
		var got, again podView
		decoded := new(corev1.Pod)
		if err := errors.Join(r.Project(&got), r.Decode(decoded)); err != nil {
			t.Fatal(err)
		}
		clear(r.Bytes)
		for range 100 { // others take their strings from the same memory
			if err := raw(t, enc, pods, bigPod(2)).Project(&again); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(viewOf(decoded), got, cmp.AllowUnexported(podView{}, podSpec{})); d != "" {
			t.Error(d)
		}
	})
}

func TestProjectConcurrently(t *testing.T) {
	type fresh struct{ threeFields } // which nobody has compiled
	r := raw(t, wire.Protobuf, pods, bigPod(1))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				var v fresh
				if err := r.Project(&v); err != nil || v.Spec.NodeName != "node-001" {
					t.Error(v, err)
				}
			}
		})
	}
	all.Wait()
}

func TestProjectNumbers(t *testing.T) {
	var v struct {
		Spec struct {
			Priority                      int
			TerminationGracePeriodSeconds *int64
			ActiveDeadlineSeconds         int64
		}
	}
	priority, grace := int32(math.MinInt32), int64(math.MaxInt64)
	in := &corev1.Pod{Spec: corev1.PodSpec{Priority: &priority, TerminationGracePeriodSeconds: &grace, ActiveDeadlineSeconds: &grace}}
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		if err := raw(t, enc, pods, in).Project(&v); err != nil {
			t.Fatal(err)
		}
		if v.Spec.Priority != math.MinInt32 || *v.Spec.TerminationGracePeriodSeconds != grace || v.Spec.ActiveDeadlineSeconds != grace {
			t.Error(v)
		}
	})
}

package memo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// object is an object with stamps, as a body or stored.
type object struct {
	Metadata struct {
		UID               string `json:"uid,omitempty"`
		ResourceVersion   string `json:"resourceVersion,omitempty"`
		CreationTimestamp string `json:"creationTimestamp,omitempty"`
		DeletionTimestamp string `json:"deletionTimestamp,omitempty"`
		OwnerReferences   []struct {
			UID string `json:"uid"`
		} `json:"ownerReferences,omitempty"`
		ManagedFields []entry `json:"managedFields,omitempty"`
	} `json:"metadata"`
	Preconditions *struct {
		UID             string `json:"uid,omitempty"`
		ResourceVersion string `json:"resourceVersion,omitempty"`
	} `json:"preconditions,omitempty"`
	Data string `json:"data,omitempty"`
}

type entry struct {
	Manager string `json:"manager"`
	Time    string `json:"time"`
}

// comparing are rules that compare all stamps of a question with each other, and answer with what follows from that.
func comparing(req *rules.Request) (*rules.Answer, error) {
	var body, old object
	if len(req.Body) > 0 {
		if err := json.Unmarshal(req.Body, &body); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(req.Objects["/core/configmaps/ns/abc"], &old); err != nil {
		return nil, err
	}
	now := timeOf(req.Now)
	refuse := func(code int, what string) (*rules.Answer, error) {
		return &rules.Answer{Code: code, Body: fmt.Appendf(nil, "%s %s %s", what, old.Metadata.ResourceVersion, body.Metadata.ResourceVersion)}, nil
	}
	if v := body.Metadata.ResourceVersion; v != "" && v != "0" && v != old.Metadata.ResourceVersion {
		return refuse(409, "version")
	}
	if p := body.Preconditions; p != nil && (p.UID != "" && p.UID != old.Metadata.UID || p.ResourceVersion != "" && p.ResourceVersion != old.Metadata.ResourceVersion) {
		return refuse(409, "precondition")
	}
	if body.Metadata.UID != "" && body.Metadata.UID != old.Metadata.UID {
		return refuse(422, "uid")
	}
	next := old
	next.Metadata.OwnerReferences = body.Metadata.OwnerReferences
	next.Metadata.ManagedFields = slices.Clone(old.Metadata.ManagedFields)
	if body.Metadata.ManagedFields != nil {
		next.Metadata.ManagedFields = slices.Clone(body.Metadata.ManagedFields)
	}
	if req.Method == "DELETE" && (old.Metadata.DeletionTimestamp == "" || old.Metadata.DeletionTimestamp > now) {
		next.Metadata.DeletionTimestamp = now
	}
	if body.Data != old.Data {
		next.Data = body.Data
		next.Metadata.ManagedFields = append(next.Metadata.ManagedFields, entry{"z", now})
	}
	slices.SortFunc(next.Metadata.ManagedFields, func(a, b entry) int { return strings.Compare(a.Time+a.Manager, b.Time+b.Manager) })
	own := slices.ContainsFunc(next.Metadata.OwnerReferences, func(o struct {
		UID string `json:"uid"`
	}) bool {
		return o.UID == old.Metadata.UID
	})
	answer := &rules.Answer{Code: 200, Warnings: []string{fmt.Sprint(own)}}
	if !reflect.DeepEqual(next, old) {
		next.Metadata.ResourceVersion = fmt.Sprint(req.Version + 1)
		text, err := json.Marshal(next)
		if err != nil {
			return nil, err
		}
		answer.Writes = []rules.Write{{Key: "/core/configmaps/ns/abc", Version: req.Version + 1, Object: text}}
	}
	var err error
	answer.Body, err = json.Marshal(next)
	return answer, err
}

// Updates, patches and deletes are answered as rules do, whichever of their stamps are equal, and in whatever order their
// times are.
func TestRememberedUpdatesAreThoseOfRules(t *testing.T) {
	hits := 0
	rapid.Check(t, func(r *rapid.T) {
		m := New(1 << 20)
		over := m.Over(comparing, Creates)
		base := rapid.Uint64Range(2, 2000).Draw(r, "base")
		times := func() string {
			return timeOf(noon.Add(time.Duration(rapid.IntRange(0, 3).Draw(r, "time")) * time.Second).UnixNano())
		}
		uids := func() string { return fmt.Sprint(rapid.IntRange(0, 2).Draw(r, "uid")) + uid[1:] }
		versions := func() string { return fmt.Sprint(base - 1 + rapid.Uint64Range(0, 2).Draw(r, "version")) }
		// What the questions have is drawn once, so that many are of one form.
		has := map[string]bool{}
		for _, field := range []string{"deletion", "uid", "version", "data", "owner"} {
			has[field] = rapid.Bool().Draw(r, field)
		}
		method := rapid.SampledFrom([]string{"PUT", "PATCH", "DELETE"}).Draw(r, "method")
		entries := rapid.IntRange(0, 2).Draw(r, "entries")
		ours := rapid.IntRange(0, entries).Draw(r, "entries of the body")
		maybe := func(field string, text func() string) string {
			if has[field] {
				return text()
			}
			return ""
		}
		managed := func(o *object, n int) {
			for i := range n {
				o.Metadata.ManagedFields = append(o.Metadata.ManagedFields, entry{fmt.Sprint("m", i), times()})
			}
		}
		for range 60 {
			var old, body object
			old.Metadata.UID, old.Metadata.ResourceVersion, old.Metadata.CreationTimestamp, old.Metadata.DeletionTimestamp = uids(), versions(), times(), maybe("deletion", times)
			managed(&old, entries)
			req := question("abc", base+rapid.Uint64Range(0, 1).Draw(r, "state"), noon.Add(time.Duration(rapid.IntRange(0, 3000).Draw(r, "now"))*time.Millisecond))
			req.URL, req.UID, req.Method = "/api/v1/namespaces/ns/configmaps/abc", "", method
			if method == "PATCH" {
				req.ContentType = "application/merge-patch+json"
			}
			if method != "DELETE" {
				body.Metadata.UID, body.Metadata.ResourceVersion = maybe("uid", uids), maybe("version", versions)
				body.Data = maybe("data", func() string { return "d" })
				if has["owner"] {
					body.Metadata.OwnerReferences = slices.Grow(body.Metadata.OwnerReferences, 1)[:1]
					body.Metadata.OwnerReferences[0].UID = uids()
				}
				managed(&body, ours)
			} else {
				body.Preconditions = &struct {
					UID             string `json:"uid,omitempty"`
					ResourceVersion string `json:"resourceVersion,omitempty"`
				}{maybe("uid", uids), maybe("version", versions)}
			}
			var err error
			if req.Body, err = json.Marshal(body); err != nil {
				r.Fatal(err)
			}
			if req.Objects["/core/configmaps/ns/abc"], err = json.Marshal(old); err != nil {
				r.Fatal(err)
			}
			got, err := over(req)
			want, wantErr := comparing(req)
			if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
				r.Fatalf("%s %s of %s at %d:\ngot  %+v %v\nwant %+v %v", req.Method, req.Body, req.Objects["/core/configmaps/ns/abc"], req.Version, got, err, want, wantErr)
			}
		}
		n, _ := m.Counts()
		hits += int(n)
	})
	if hits == 0 {
		t.Error("nothing was answered from memory")
	}
}

// An update at another time, of another version, is answered without rules. So are a scale and a watch with another
// timeout.
func TestWhatIsOfOneForm(t *testing.T) {
	stored := func(version uint64, at time.Time) json.RawMessage {
		return fmt.Appendf(nil, `{"metadata":{"name":"abc","uid":%q,"resourceVersion":"%d","creationTimestamp":%q},"data":"v"}`, uid, version, timeOf(at.UnixNano()))
	}
	for what, c := range map[string]struct {
		method, url, contentType, body string // VERSION stands for that of the object
	}{
		"an update":               {"PUT", "/api/v1/namespaces/ns/configmaps/abc", "application/json", `{"metadata":{"resourceVersion":"VERSION"},"data":"w"}`},
		"an update of the status": {"PUT", "/api/v1/namespaces/ns/configmaps/abc/status", "application/json", `{"metadata":{"resourceVersion":"VERSION"},"data":"w"}`},
		"a patch":                 {"PATCH", "/api/v1/namespaces/ns/configmaps/abc", "application/strategic-merge-patch+json", `{"data":"w"}`},
		"an apply":                {"PATCH", "/api/v1/namespaces/ns/configmaps/abc?fieldManager=m", "application/apply-patch+yaml", `{"data":"w"}`},
		"a delete":                {"DELETE", "/api/v1/namespaces/ns/configmaps/abc", "application/json", `{"preconditions":{"resourceVersion":"VERSION"}}`},
		"a delete without a body": {"DELETE", "/api/v1/namespaces/ns/configmaps/abc", "", ""},
		"a scale":                 {"GET", "/api/v1/namespaces/ns/configmaps/abc/scale", "", ""},
		"a watch":                 {"GET", "/api/v1/namespaces/ns/configmaps?timeoutSeconds=4VERSION&watch=true", "", ""},
	} {
		ask, asked := counted(comparing)
		over := New(1<<20).Over(ask, Creates)
		for i := range 4 {
			version := uint64(100 + 10*i)
			at := noon.Add(time.Duration(i) * time.Hour)
			req := question("abc", version+3, at.Add(time.Minute))
			req.Method, req.ContentType, req.URL = c.method, c.contentType, strings.ReplaceAll(c.url, "VERSION", fmt.Sprint(version))
			req.Body = []byte(strings.ReplaceAll(c.body, "VERSION", fmt.Sprint(version)))
			req.Objects["/core/configmaps/ns/abc"] = stored(version, at)
			before := *asked
			got, err := over(req)
			if want, _ := comparing(req); err != nil || got.Code != 200 || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v %v, want %+v", what, got, err, want)
			}
			if n := *asked - before; n != []int{1, 3, 0, 0}[i] {
				t.Errorf("%s: rules were asked %d times", what, n)
			}
		}
	}
}

// An error of a write is not remembered by its form: which of several comes first may depend on the values.
func TestErrorsOfWritesAreAskedEachTime(t *testing.T) {
	ask, asked := counted(func(*rules.Request) (*rules.Answer, error) { return &rules.Answer{Code: 409}, nil })
	over := New(1<<20).Over(ask, Creates)
	for i := range 4 {
		if _, err := over(question("abc", uint64(100+i), noon)); err != nil {
			t.Fatal(err)
		}
	}
	if *asked != 4 {
		t.Errorf("rules were asked %d times, want 4", *asked)
	}
}

// drawing is an object that is drawn, with the stamps that are to be found in it.
type drawing struct {
	t    *rapid.T
	text []byte
	want []stamp
}

func (d *drawing) write(text string) {
	d.text = append(d.text, text...)
	d.text = append(d.text, rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(d.t, "space")...)
}

// stamp writes a stamp, or a value that is none.
func (d *drawing) stamp(kind kind, text string) func() {
	return func() {
		if rapid.Bool().Draw(d.t, "no stamp") {
			d.write(rapid.SampledFrom([]string{`""`, "null", "7", "[]", `{"uid":"` + uid + `"}`}).Draw(d.t, "value"))
			return
		}
		d.want = append(d.want, stamp{span{len(d.text) + 1, len(d.text) + 1 + len(text)}, kind})
		d.write(`"` + text + `"`)
	}
}

// object writes an object with some of the members, in any order.
func (d *drawing) object(members map[string]func()) func() {
	return func() {
		d.write("{")
		names := slices.Concat(slices.Sorted(maps.Keys(members)), []string{"a", "b"})
		for i, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, len(names), rapid.ID).Draw(d.t, "names") {
			if i > 0 {
				d.write(",")
			}
			spelled := fmt.Sprintf("%q", name)
			if rapid.IntRange(0, 9).Draw(d.t, "spelled") == 0 {
				spelled = fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:])
			}
			d.write(spelled)
			d.write(":")
			if write := members[name]; write != nil {
				write()
			} else {
				d.write(rapid.SampledFrom([]string{"null", "1.5e3", `[{"uid":"` + uid + `"},[]]`, `{"metadata":{"resourceVersion":"7"}}`, `"a\"},{b"`}).Draw(d.t, "value"))
			}
		}
		d.write("}")
	}
}

// list writes an array.
func (d *drawing) list(element func()) func() {
	return func() {
		d.write("[")
		for i := range rapid.IntRange(0, 2).Draw(d.t, "elements") {
			if i > 0 {
				d.write(",")
			}
			element()
		}
		d.write("]")
	}
}

// The stamps of an object are found in any spelling of it, and in no other place. A text that is no object has none.
func TestPlacesInJSON(t *testing.T) {
	const at = "2026-11-25T12:00:00Z"
	rapid.Check(t, func(rt *rapid.T) {
		d := &drawing{t: rt}
		d.write("")
		d.object(map[string]func(){"metadata": d.object(map[string]func(){
			"uid": d.stamp(stampUID, uid), "resourceVersion": d.stamp(stampVersion, "123"), "creationTimestamp": d.stamp(stampTime, at), "deletionTimestamp": d.stamp(stampTime, at),
			"managedFields":   d.list(d.object(map[string]func(){"time": d.stamp(stampTime, at)})),
			"ownerReferences": d.list(d.object(map[string]func(){"uid": d.stamp(stampUID, uid)})),
		})})()
		req := &rules.Request{Method: "PUT", Body: d.text}
		got, _, ok := stampsOfBody(req)
		if !ok || !slices.Equal(got, d.want) {
			rt.Fatalf("%s: %+v, %v, want %+v", d.text, got, ok, d.want)
		}
		for _, bad := range [][]byte{append(slices.Clone(d.text), '}'), d.text[:bytes.LastIndexByte(d.text, '}')]} {
			if _, _, ok := stampsOfBody(&rules.Request{Method: "PUT", Body: bad}); ok {
				rt.Fatalf("%s is no JSON", bad)
			}
		}
	})
	for _, none := range []string{`[]`, `null`, `"x"`} {
		if got, _, ok := stampsOfBody(&rules.Request{Method: "PUT", Body: []byte(none)}); ok {
			t.Errorf("%s has stamps: %+v", none, got)
		}
	}
}

package core

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

const contentJSON = "application/json"

// eventKeys begins the keys of Events.
const eventKeys = "/core/events/"

// Read answers a request that changes nothing.
func (v View) Read(now time.Time, req Request) Answer {
	if refused := v.Authorize(now, req); refused != nil {
		return *refused
	}
	if answer, ok := health(req.URL); ok {
		return answer
	}
	t := parsePath(req.URL)
	_, query, _ := strings.Cut(req.URL, "?")
	var values url.Values
	var err error
	if query != "" {
		values, err = url.ParseQuery(query)
	}
	if err == nil && t.name != "" && t.special == "" {
		if text := values.Get("resourceVersion"); text != "" {
			if asked, err := strconv.ParseUint(text, 10, 64); err == nil && asked > v.version {
				return tooLarge(asked, v.version).answer(req)
			}
		}
		if o := v.get(t.key()); req.Method == http.MethodGet && o != nil && query == "" && t.subresource == "" && plain(req.Accept) && !t.warns() && v.defined(t) == nil && o.is(apiVersion(t)) {
			return Answer{Code: http.StatusOK, ContentType: contentJSON, Body: append(bytes.Clone(o.text()), '\n')}
		} else if o != nil && query == "" && t.subresource == "" && protobuf(req.Accept) && !t.warns() && v.defined(t) == nil {
			answer, err := v.encode(o, t, req.Accept, now, nil) // no webhook converts a built-in kind
			if err != nil {
				return failed(req, err)
			}
			return answer
		}
	}
	call := v.call(now, req, t)
	answer, err := v.ask(call)
	if err != nil {
		return failed(req, err)
	}
	switch l := answer.List; {
	case l == nil:
	case l.Watch:
		if a := v.watch(now, req, t, l); a.Watch == nil || answer.Code == http.StatusOK {
			a.Warnings = answer.Warnings
			return a
		}
	case plain(req.Accept) && !values.Has("pretty"):
		page, err := v.page(l, fieldReader{t, now, req.Pending})
		if err != nil {
			return failed(req, err)
		}
		d := v.defined(t)
		if len(page.objects) == 0 || page.objects[0].is(l.APIVersion) && !d.changedAfter(page.objects) && !d.severalVersions() {
			return Answer{Code: http.StatusOK, ContentType: contentJSON, Warnings: answer.Warnings, Body: page.json(l)}
		}
		fallthrough
	default:
		if protobuf(req.Accept) && !values.Has("pretty") && !t.warns() && v.defined(t) == nil {
			page, err := v.page(l, fieldReader{t, now, req.Pending})
			if err != nil {
				return failed(req, err)
			}
			if body, err := v.protobuf(page, l, t, call); err != nil {
				return failed(req, err)
			} else if body != nil {
				return Answer{Code: http.StatusOK, ContentType: contentProtobuf, Warnings: answer.Warnings, Body: body}
			}
		}
		if answer, err = v.askForAll(call, l, fieldReader{t, now, req.Pending}); err != nil {
			return failed(req, err)
		}
	}
	if len(answer.Calls) > 0 {
		return req.Pending.wait(now, 0, answer.Calls)
	}
	return answered(answer)
}

// plain reports whether plain JSON is the first form that a client accepts.
func plain(accept string) bool {
	first, _, _ := strings.Cut(accept, ",")
	first = strings.TrimSpace(first)
	return (first == "" || first == "*/*" || first == contentJSON) && !strings.Contains(accept, "as=")
}

func apiVersion(t target) string {
	if t.group == "" {
		return t.version
	}
	return t.group + "/" + t.version
}

// is reports whether an object is stored in an API version.
func (o *Object) is(apiVersion string) bool {
	head, _, _ := bytes.Cut(o.JSON, []byte(`"metadata"`))
	_, rest, _ := bytes.Cut(head, []byte(`"apiVersion":"`))
	stored, _, ok := bytes.Cut(rest, []byte(`"`))
	return ok && string(stored) == apiVersion
}

// page is a part of a list.
type page struct {
	objects   []*Object
	version   uint64
	next      string
	remaining *int64
}

// json returns the page as a list in JSON, in the version of storage.
func (p page) json(l *rules.List) []byte {
	meta := struct {
		ResourceVersion    string  `json:"resourceVersion"`
		Continue           *string `json:"continue,omitempty"`
		RemainingItemCount *int64  `json:"remainingItemCount,omitempty"`
		ShardInfo          any     `json:"shardInfo,omitempty"`
	}{strconv.FormatUint(p.version, 10), nil, p.remaining, shardInfo(l)}
	if p.next != "" || l.Whole { // lists of custom resources always have the member
		meta.Continue = &p.next
	}
	text, err := json.Marshal(meta)
	if err != nil {
		panic(err) // strings and a number
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, l.ListKind, l.APIVersion, text)
	for i, o := range p.objects {
		if i > 0 {
			b.WriteByte(',')
		}
		text := o.text()
		if l.Whole {
			b.Write(text)
			continue
		}
		b.WriteByte('{')
		b.Write(text[max(0, bytes.Index(text, []byte(`"metadata"`))):])
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

// token is the content of a continue token, which is its JSON in base64.
type token struct {
	APIVersion string `json:"v"`
	Version    int64  `json:"rv"`
	Start      string `json:"start"`
}

const tokenVersion = "meta.k8s.io/v1"

func (t token) String() string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and a number
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseToken reads a continue token. The error begins with a colon: it follows the words of the real server.
func parseToken(text string) (token, error) {
	var t token
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	if err != nil {
		return t, fmt.Errorf(": %w", err)
	}
	start := "/" + strings.TrimPrefix(t.Start, "/")
	switch {
	case t.APIVersion != tokenVersion:
		return t, fmt.Errorf(": server does not recognize this encoded version %s", t.APIVersion)
	case t.Version == 0:
		return t, fmt.Errorf(": incorrect encoded start resourceVersion (version %s)", tokenVersion)
	case t.Start == "":
		return t, fmt.Errorf(": encoded start key empty (version %s)", tokenVersion)
	case path.Clean(start) != start:
		return t, fmt.Errorf(": %s", t.Start)
	}
	t.Start = start[1:]
	return t, nil
}

// parseVersion reads a resourceVersion.
func parseVersion(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion: Invalid value: %q: %w", text, err)
	}
	return n, nil
}

// page returns the objects that a list selects. r reads the fields of custom resources.
func (v View) page(l *rules.List, r fieldReader) (page, error) {
	present := v
	start, asked, limit := l.Prefix, uint64(0), int(l.Limit)
	exact := false
	cached := !strings.HasPrefix(l.Prefix, eventKeys) // the real server does not cache Events, and so answers otherwise
	if l.Continue != "" {
		t, err := parseToken(l.Continue)
		if err != nil {
			return page{}, badRequest("invalid continue token: continue key is not valid" + err.Error())
		}
		if l.Version != "" && l.Version != "0" {
			return page{}, badRequest("specifying resource version is not allowed when using continue")
		}
		start += t.Start
		if t.Version > 0 {
			asked, exact = uint64(t.Version), true
		}
		if exact && asked < v.compacted {
			return page{}, expiredToken(token{tokenVersion, -1, t.Start}.String())
		}
	} else if l.Version != "" && l.Version != "0" {
		n, err := parseVersion(l.Version)
		if err != nil {
			return page{}, badRequest("invalid resource version: " + err.Error())
		}
		asked = n
		exact = l.Match == string(metav1.ResourceVersionMatchExact) || l.Match == "" && limit > 0
	}
	switch {
	case asked > v.version:
		f := tooLarge(asked, v.version)
		if !cached { // without a cache the real server does not wait for the version
			f.status.Details.RetryAfterSeconds = 0
		}
		return page{}, f
	case exact && asked < v.compacted:
		return page{}, expired("The resourceVersion for the provided list is too old.")
	case exact:
		v = v.at(asked)
	}
	if l.Version == "0" && cached {
		limit = 0
	}
	match, err := newMatcher(l)
	if err != nil {
		return page{}, err
	}
	if err := match.readFields(present, r, func() []*Object { return v.below(l) }); err != nil {
		return page{}, err
	}
	p := page{version: v.version}
	visited, last := 0, 0 // last is that of the last object that was selected
	v.objects.Ascend(start, func(key string, o *Object) bool {
		switch {
		case l.Single && key != l.Prefix, !strings.HasPrefix(key, l.Prefix):
			return false
		case limit > 0 && len(p.objects) == limit:
			visited++ // the real server also counts objects that do not match
			return match.all
		}
		if visited++; match.object(o) {
			p.objects, last = append(p.objects, o), visited
		}
		return true
	})
	if visited > last && limit > 0 && len(p.objects) == limit {
		key := p.objects[len(p.objects)-1].Key
		next := key[len(l.Prefix):] + "\x00"
		if cached {
			next = "/" + next
		}
		p.next = token{tokenVersion, int64(v.version), next}.String()
		if match.all {
			remaining := int64(visited - limit)
			if !cached {
				remaining -= int64(fetched(limit, last))
			}
			p.remaining = &remaining
		}
	}
	return p, nil
}

// at returns an older version of the view. The log must have all changes since then.
func (v View) at(version uint64) View {
	v.rbac = false // the request was authorized at the present version
	v.objects = fork(v.objects)
	for i := len(v.log) - 1; i >= 0 && v.log[i].Version > version; i-- {
		c := v.log[i]
		if c.Old == nil {
			v.objects.Delete(c.Object.Key)
		} else {
			v.objects.Set(c.Old.Key, c.Old)
		}
		v.log = v.log[:i]
	}
	v.version = version
	return v
}

// matcher matches objects by a label selector, a field selector and a shard selector.
type matcher struct {
	labels labels.Selector
	fields fields.Selector
	shards shards
	all    bool // there are no labels and fields to match
	// fieldsOf has, for an object, a copy with the fields in the version of the request; see readFields.
	fieldsOf map[*Object]*Object
}

func newMatcher(l *rules.List) (m matcher, err error) {
	if m.labels, err = labels.Parse(l.Labels); err != nil {
		return m, badRequest(err.Error())
	}
	if m.fields, err = fields.ParseSelector(l.Fields); err != nil {
		return m, badRequest(err.Error())
	}
	m.shards = l.Shards
	m.all = m.labels.Empty() && m.fields.Empty()
	return m, nil
}

func (m matcher) object(o *Object) bool {
	if read := m.fieldsOf[o]; read != nil {
		o = read
	}
	return m.shards.have(o) && (m.all || m.labels.Matches(o.labels) && m.fields.Matches(selected{o}))
}

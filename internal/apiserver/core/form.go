package core

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/protoscan"
)

// forms caches encoded objects: in protobuf, and as metadata only. An object never changes, so one encoding serves all
// clients that ask for this form. The cache is bounded, and safe for concurrent use.
type forms struct {
	mu         sync.Mutex
	young, old map[form]map[*Object]encoded
	bytes      int
}

// form is a way to encode objects. For custom resources it also depends on their definition.
type form struct {
	definition         *Object
	apiVersion, accept string
}

type encoded struct {
	body        []byte
	contentType string
	raw         []byte // the object in the envelope of protobuf; nil for other forms
}

// maxForms bounds the bytes of one generation of encoded objects. There are two generations.
const maxForms = 24 << 20

func (f *forms) get(k form, o *Object) (encoded, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.find(k, o)
}

// raws returns the objects in the envelopes of protobuf; nil for one that is not cached.
func (f *forms) raws(k form, objects []*Object) [][]byte {
	out := make([][]byte, len(objects))
	f.mu.Lock()
	defer f.mu.Unlock()
	young := f.young[k]
	for i, o := range objects {
		e, ok := young[o]
		if !ok {
			e, _ = f.find(k, o)
			young = f.young[k]
		}
		out[i] = e.raw
	}
	return out
}

// find returns a cached object. The caller holds the lock.
func (f *forms) find(k form, o *Object) (encoded, bool) {
	if e, ok := f.young[k][o]; ok {
		return e, true
	}
	e, ok := f.old[k][o]
	if ok {
		f.keep(k, o, e)
	}
	return e, ok
}

// put caches an encoded object, and keeps the bytes of its body. A body that is not protobuf, though the client has
// asked for it, is not cached.
func (f *forms) put(k form, o *Object, e encoded) {
	if k.accept == contentProtobuf && e.contentType != contentProtobuf {
		return
	}
	if e.contentType == contentProtobuf {
		if raws, err := protoscan.All(bytes.TrimPrefix(e.body, []byte(magic)), fieldRaw); err == nil && len(raws) == 1 {
			e.raw = raws[0]
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(k, o, e)
}

// keep adds an object to the young generation. The caller holds the lock.
func (f *forms) keep(k form, o *Object, e encoded) {
	const entry = 200
	known := f.young[k]
	if _, ok := known[o]; ok {
		return
	}
	if f.young == nil || f.bytes > maxForms {
		f.young, f.old, f.bytes, known = map[form]map[*Object]encoded{}, f.young, 0, nil
	}
	if known == nil {
		known = map[*Object]encoded{}
		f.young[k] = known
	}
	known[o] = e
	f.bytes += entry + len(e.body)
}

// form returns the form of objects for a client of a collection. It reports false for tables, which show ages, and for
// objects that a webhook converts: they are not cached.
func (v View) form(t target, accept string) (form, bool) {
	d := v.defined(t)
	if strings.Contains(accept, "as=Table") || t.warns() || d != nil && bytes.Contains(d.JSON, []byte(`"strategy":"Webhook"`)) {
		return form{}, false
	}
	key := form{d, apiVersion(t), accept}
	if key.definition == nil && protobuf(accept) {
		key.accept = contentProtobuf
	}
	return key, true
}

// encode returns an object encoded for a client of a collection. The answer is pending if a webhook has to convert the
// object first.
func (v View) encode(o *Object, t target, accept string, now time.Time, p *Pending) (Answer, error) {
	key, lasts := v.form(t, accept)
	if lasts {
		if e, ok := v.forms.get(key, o); ok {
			return Answer{Code: http.StatusOK, Body: e.body, ContentType: e.contentType}, nil
		}
	}
	answer, err := v.question(t, o.Key, &rules.Request{Accept: accept, Now: now.UnixNano(), Version: o.Version, Objects: map[string]json.RawMessage{o.Key: o.JSON}}, p)
	if err == nil && answer.Pending == nil && lasts {
		v.forms.put(key, o, encoded{body: answer.Body, contentType: answer.ContentType})
	}
	return answer, err
}

// question asks rules to encode an object for a client of a collection. The part of key after a question mark is the
// query. The answer is pending if a webhook has to convert the object first.
func (v View) question(t target, key string, call *rules.Request, p *Pending) (Answer, error) {
	key, query, more := strings.Cut(key, "?")
	call.Method, call.URL, call.User = http.MethodGet, t.item(key), "watch"
	if more {
		call.URL += "?" + query
	}
	if d := v.defined(t); d != nil {
		if call.Objects == nil {
			call.Objects = map[string]json.RawMessage{}
		}
		call.Objects[d.Key] = d.JSON
	}
	p.resume(call)
	answer, err := v.rules(call)
	switch {
	case err != nil:
		return Answer{}, err
	case len(answer.Calls) > 0:
		return p.wait(time.Unix(0, call.Now), 0, answer.Calls), nil
	case answer.Code != http.StatusOK:
		return Answer{}, fmt.Errorf("%s cannot be encoded: %s", key, answer.Body)
	}
	return Answer{Code: http.StatusOK, Body: answer.Body, ContentType: answer.ContentType}, nil
}

// written caches the encoded object in the answer to a write. The answer to another write is no form of what it changes:
// that of a Binding says that the Pod has changed, that of a delete may be a list.
func (v View) written(req Request, t target, answer *rules.Answer) {
	if len(answer.Writes) != 1 || answer.Writes[0].Delete || req.Method == http.MethodDelete || t.subresource != "" || !strings.HasPrefix(answer.Writes[0].Key, t.collection()) {
		return
	}
	if answer.ContentType != contentProtobuf || !protobuf(req.Accept) {
		return
	}
	if key, lasts := v.form(t, req.Accept); lasts && key.definition == nil {
		v.forms.put(key, v.get(answer.Writes[0].Key), encoded{body: answer.Body, contentType: answer.ContentType})
	}
}

// protobuf reports whether a client takes objects as plain protobuf first.
func protobuf(accept string) bool {
	first, _, _ := strings.Cut(accept, ",")
	return strings.TrimSpace(first) == contentProtobuf
}

// Fields of messages: those of an envelope and of lists of all kinds.
const (
	magic      = "k8s\x00" // begins an envelope
	fieldRaw   = 2
	fieldItems = 2
)

// protobuf returns the page as a list in protobuf. It asks rules to encode the objects that are not cached. It returns
// nil if the answer of rules is not a list of objects.
func (v View) protobuf(p page, l *rules.List, t target, call *rules.Request) ([]byte, error) {
	key, _ := v.form(t, contentProtobuf)
	raws := v.forms.raws(key, p.objects)
	var unknown []int
	for i := range raws {
		if raws[i] == nil {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) > 0 {
		some := *call
		some.Collection = &rules.Collection{}
		for _, i := range unknown {
			some.Collection.Items = append(some.Collection.Items, p.objects[i].JSON)
		}
		answer, err := v.rules(&some)
		if err != nil {
			return nil, err
		}
		list, err := protoscan.All(bytes.TrimPrefix(answer.Body, []byte(magic)), fieldRaw)
		if err != nil || answer.Code != 200 || answer.ContentType != contentProtobuf || len(list) != 1 {
			return nil, nil // it is no list of objects
		}
		items, err := protoscan.All(list[0], fieldItems)
		if err != nil || len(items) != len(unknown) {
			return nil, nil
		}
		for n, i := range unknown {
			raws[i] = items[n]
			v.forms.put(key, p.objects[i], encoded{body: envelope(metav1.TypeMeta{Kind: l.Kind, APIVersion: l.APIVersion}, items[n]), contentType: contentProtobuf})
		}
	}
	meta, err := (&metav1.ListMeta{ResourceVersion: strconv.FormatUint(p.version, 10), Continue: p.next, RemainingItemCount: p.remaining}).Marshal()
	if err != nil {
		return nil, err
	}
	if l.ShardSelector != "" {
		meta = appendField(meta, 5, appendField(nil, 1, []byte(l.ShardSelector)))
	}
	size := sizeOfField(meta)
	for _, raw := range raws {
		size += sizeOfField(raw)
	}
	out := appendField(beginEnvelope(metav1.TypeMeta{Kind: l.ListKind, APIVersion: l.APIVersion}, size), 1, meta)
	for _, raw := range raws {
		out = appendField(out, fieldItems, raw)
	}
	return append(out, envelopeEnd...), nil
}

// sizeOfField returns how many bytes [appendField] appends, for numbers below 16.
func sizeOfField(text []byte) int {
	n := 2 + len(text)
	for size := len(text); size > 127; size >>= 7 {
		n++
	}
	return n
}

func appendField(b []byte, number uint64, text []byte) []byte {
	b = binary.AppendUvarint(b, number<<3|2)
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

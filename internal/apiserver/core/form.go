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
)

// forms caches encoded objects: in protobuf, and as metadata only. An object never changes, so one encoding serves all
// clients that ask for this form. The cache is bounded, and safe for concurrent use.
type forms struct {
	mu         sync.Mutex
	young, old map[formKey]encoded
	bytes      int
}

// formKey is the key of an encoded object. For a custom resource the encoding also depends on its definition.
type formKey struct {
	object, definition *Object
	apiVersion, accept string
}

type encoded struct {
	body        []byte
	contentType string
	raw         []byte // the object in the envelope of protobuf; nil for other forms
}

// maxForms bounds the bytes of one generation of encoded objects. There are two generations.
const maxForms = 24 << 20

func (f *forms) get(k formKey) (encoded, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := f.young[k]; ok {
		return e, true
	}
	e, ok := f.old[k]
	if ok {
		f.keep(k, e)
	}
	return e, ok
}

// put caches an encoded object. A body that is not protobuf, though the client has asked for it, is not cached.
func (f *forms) put(k formKey, e encoded) {
	if k.accept == contentProtobuf && e.contentType != contentProtobuf {
		return
	}
	e.body = bytes.Clone(e.body) // it is a part of an answer
	if e.contentType == contentProtobuf {
		if raws := parts(bytes.TrimPrefix(e.body, []byte(magic)), fieldRaw); len(raws) == 1 {
			e.raw = raws[0]
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(k, e)
}

// keep adds an object to the young generation. The caller holds the lock.
func (f *forms) keep(k formKey, e encoded) {
	const entry = 200
	if _, known := f.young[k]; known {
		return
	}
	if f.young == nil || f.bytes > maxForms {
		f.young, f.old, f.bytes = map[formKey]encoded{}, f.young, 0
	}
	f.young[k] = e
	f.bytes += entry + len(e.body)
}

// form returns the cache key of an object for a client of a collection. It reports false for tables, which show ages,
// and for objects that a webhook converts: they are not cached.
func (v View) form(o *Object, t target, accept string) (formKey, bool) {
	d := v.defined(t)
	if strings.Contains(accept, "as=Table") || t.warns() || d != nil && bytes.Contains(d.JSON, []byte(`"strategy":"Webhook"`)) {
		return formKey{}, false
	}
	key := formKey{o, d, apiVersion(t), accept}
	if key.definition == nil && protobuf(accept) {
		key.accept = contentProtobuf
	}
	return key, true
}

// encode returns an object encoded for a client of a collection. The answer is pending if a webhook has to convert the
// object first.
func (v View) encode(o *Object, t target, accept string, now time.Time, p *Pending) (Answer, error) {
	key, lasts := v.form(o, t, accept)
	if lasts {
		if e, ok := v.forms.get(key); ok {
			return Answer{Code: http.StatusOK, Body: e.body, ContentType: e.contentType}, nil
		}
	}
	answer, err := v.question(t, o.Key, &rules.Request{Accept: accept, Now: now.UnixNano(), Version: o.Version, Objects: map[string]json.RawMessage{o.Key: o.JSON}}, p)
	if err == nil && answer.Pending == nil && lasts {
		v.forms.put(key, encoded{body: answer.Body, contentType: answer.ContentType})
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
	o := v.get(answer.Writes[0].Key)
	if key, lasts := v.form(o, t, req.Accept); lasts && key.definition == nil {
		v.forms.put(key, encoded{body: answer.Body, contentType: answer.ContentType})
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
	raws := make([][]byte, len(p.objects))
	var unknown []int
	size := 0
	for i, o := range p.objects {
		key, _ := v.form(o, t, contentProtobuf)
		if e, ok := v.forms.get(key); ok && e.raw != nil {
			raws[i] = e.raw
			size += len(raws[i]) + 8
		} else {
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
		list := parts(bytes.TrimPrefix(answer.Body, []byte(magic)), fieldRaw)
		if answer.Code != 200 || answer.ContentType != contentProtobuf || len(list) != 1 {
			return nil, nil // it is no list of objects
		}
		items := parts(list[0], fieldItems)
		if len(items) != len(unknown) {
			return nil, nil
		}
		for n, i := range unknown {
			raws[i] = items[n]
			size += len(items[n]) + 8
			key, _ := v.form(p.objects[i], t, contentProtobuf)
			v.forms.put(key, encoded{body: envelope(metav1.TypeMeta{Kind: l.Kind, APIVersion: l.APIVersion}, items[n]), contentType: contentProtobuf})
		}
	}
	meta, err := (&metav1.ListMeta{ResourceVersion: strconv.FormatUint(p.version, 10), Continue: p.next, RemainingItemCount: p.remaining}).Marshal()
	if err != nil {
		return nil, err
	}
	if l.ShardSelector != "" {
		meta = appendField(meta, 5, appendField(nil, 1, []byte(l.ShardSelector)))
	}
	out := appendField(make([]byte, 0, size+len(meta)+8), 1, meta)
	for _, raw := range raws {
		out = appendField(out, fieldItems, raw)
	}
	return envelope(metav1.TypeMeta{Kind: l.ListKind, APIVersion: l.APIVersion}, out), nil
}

func appendField(b []byte, number uint64, text []byte) []byte {
	b = binary.AppendUvarint(b, number<<3|2)
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

// parts returns the fields with a number of a protobuf message. All fields of the message must have lengths.
func parts(message []byte, number uint64) (out [][]byte) {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return nil
		}
		size, m := binary.Uvarint(message[n:])
		if m <= 0 || tag&7 != 2 || size > uint64(len(message)-n-m) {
			return nil
		}
		message = message[n+m:]
		if tag>>3 == number {
			out = append(out, message[:size:size])
		}
		message = message[size:]
	}
	return out
}

package memo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// key is the hash of a question without its values.
type key [sha256.Size]byte

// form is a question in two parts: a key for all on which the answer depends, and values, which only occur in it.
type form struct {
	key    key
	values values
	// places has the places of the values in the body, in order.
	places []place
	// create says that the question creates an object, and so has values in its other objects too. See [context].
	create bool
	// secret says that the question or its answer may have credentials, so that no file has it.
	secret bool
}

// place is the place of a value in a body, and the kind of the value.
type place struct {
	span
	kind int
}

// span is a part of a text.
type span struct{ begin, end int }

func (s span) of(text []byte) []byte { return text[s.begin:s.end] }

// buffers has buffers for the texts that keys are hashes of.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 8192); return &b }}

// form returns the form of a question. It reports false for lists, which are too long to remember.
//
// The values of a create are the uid, the time, the version, the name or the suffix of one that is generated if rules do
// not read it, and the texts in fields of [opaque]. The values of a read are the time and the version. Other questions
// have no values: only an equal question finds their answers.
func (m *Memory) form(req *rules.Request) (f form, ok bool) {
	if req.Collection != nil {
		return f, false
	}
	bare := *req
	bare.Body, bare.Objects = nil, nil
	f.secret = secret(req)
	if values, ok := valuesOf(req); ok && !ages(req) {
		kind := kindOf(req.URL)
		if req.Method == http.MethodGet && len(req.Impersonate) == 0 {
			f.values = values
		} else if creates(req, kind) {
			f.values, f.places, f.create = m.valuesIn(req, kind, values)
		}
	}
	if f.values != (values{}) {
		bare.UID, bare.Now, bare.Version = "", 0, uint64(f.values.digits())
	}
	if f.values[valueSuffix] != "" {
		bare.Suffix = strings.Repeat("x", len(req.Suffix))
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text, err := rules.AppendMessage((*buffer)[:0], &bare)
	if err != nil {
		return f, false
	}
	text = appendText(text, req.Body)
	body := text[len(text)-len(req.Body):]
	for _, p := range f.places {
		mask(p.of(body), p.kind)
	}
	// The key tells which values there are. A name that is no value may equal the shape that stands for another name.
	for _, v := range f.values {
		text = append(text, byte(min(len(v), 1)))
	}
	for _, p := range f.places {
		text = binary.AppendUvarint(binary.AppendUvarint(text, uint64(p.begin)), uint64(p.end))
	}
	keys := make([]string, 0, 16)
	for k := range req.Objects {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		object := req.Objects[k]
		text = append(appendText(text, k), byte(min(len(object), 1)))
		if f.create && context(k, object) && len(object) > 0 {
			sum := m.shapes.of(object)
			text = append(text, sum[:]...)
		} else {
			text = appendText(text, object)
		}
	}
	f.key = sha256.Sum256(text)
	*buffer = text
	return f, true
}

func appendText[T string | []byte | json.RawMessage](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// creates reports whether a question creates an object whose answer may be remembered by its form: one of a kind in
// [alike], or a custom resource. For other kinds rules may compare the time, as for a review of a token. So may
// policies; a question with such objects has no form. A response of a webhook is for one object only.
func creates(req *rules.Request, kind string) bool {
	if kind == "" || req.Method != http.MethodPost || len(req.UID) != uidLength || len(req.Impersonate) > 0 || len(req.Responses) > 0 {
		return false
	}
	for k, text := range req.Objects {
		if len(text) > 0 && !context(k, text) {
			return false
		}
	}
	return alike[kind] || len(definition(req, kind)) > 0
}

// ages reports whether the answer to a question may be a table, which tells how long ago something was.
func ages(req *rules.Request) bool { return strings.Contains(req.Accept, "Table") }

// kindOf returns the group and the resource of the path of a collection, such as "apps/deployments", or "/pods" in the
// core group; "" for other paths.
func kindOf(url string) string {
	path, _, _ := strings.Cut(url, "?")
	group, rest := "", ""
	if core, ok := strings.CutPrefix(path, "/api/"); ok {
		_, rest, _ = strings.Cut(core, "/")
	} else if other, ok := strings.CutPrefix(path, "/apis/"); ok {
		group, rest, _ = strings.Cut(other, "/")
		_, rest, _ = strings.Cut(rest, "/")
	}
	if spaced, ok := strings.CutPrefix(rest, "namespaces/"); ok {
		_, resource, more := strings.Cut(spaced, "/")
		if !more {
			return ""
		}
		rest = resource
	}
	if rest == "" || strings.Contains(rest, "/") {
		return ""
	}
	return group + "/" + rest
}

// definition returns the definition of a kind among the objects of a question; nil if there is none.
func definition(req *rules.Request, kind string) json.RawMessage {
	group, resource, _ := strings.Cut(kind, "/")
	return req.Objects[definitionKeys+resource+"."+group]
}

// alike has the kinds for which rules treat all valid names alike. For other kinds a name means something: that of a
// definition contains its group, some names of classes are reserved, and that of an IPAddress is the address.
var alike = map[string]bool{
	"/configmaps": true, "/secrets": true, "/pods": true, "/podtemplates": true, "/replicationcontrollers": true, "/persistentvolumeclaims": true,
	"/serviceaccounts": true, "/namespaces": true, "/limitranges": true, "/resourcequotas": true, "/events": true, "events.k8s.io/events": true,
	"apps/deployments": true, "apps/replicasets": true, "apps/statefulsets": true, "apps/daemonsets": true, "apps/controllerrevisions": true,
	"batch/jobs": true, "batch/cronjobs": true, "autoscaling/horizontalpodautoscalers": true, "policy/poddisruptionbudgets": true,
	"networking.k8s.io/networkpolicies": true, "networking.k8s.io/ingresses": true, "coordination.k8s.io/leases": true,
	"discovery.k8s.io/endpointslices": true, "/endpoints": true, "/nodes": true, "/persistentvolumes": true,
	"rbac.authorization.k8s.io/roles": true, "rbac.authorization.k8s.io/rolebindings": true, "rbac.authorization.k8s.io/clusterroles": true,
	"rbac.authorization.k8s.io/clusterrolebindings": true, "storage.k8s.io/csidrivers": true, "storage.k8s.io/csinodes": true,
	"storage.k8s.io/csistoragecapacities": true, "storage.k8s.io/storageclasses": true, "storage.k8s.io/volumeattachments": true,
	"storage.k8s.io/volumeattributesclasses": true, "networking.k8s.io/ingressclasses": true, "node.k8s.io/runtimeclasses": true,
	"resource.k8s.io/deviceclasses": true, "resource.k8s.io/resourceclaims": true, "resource.k8s.io/resourceclaimtemplates": true,
	"resource.k8s.io/resourceslices": true,
}

// readsName reports whether rules may read the name of an object of a kind for more than its shape.
func (m *Memory) readsName(req *rules.Request, kind string) bool {
	return !alike[kind] && m.shapes.readsNames(definition(req, kind))
}

// free reports whether a name, or the end of one, can only show up in the answer: nothing else in the question can be
// compared with it. places has the place of the name and those of opaque texts, in order. Opaque texts are never
// compared with anything.
func free(req *rules.Request, name []byte, places []place) bool {
	if !rotates(name) {
		return false
	}
	from := 0
	for _, p := range places {
		if bytes.Contains(req.Body[from:p.begin], name) {
			return false
		}
		from = p.end
	}
	if bytes.Contains(req.Body[from:], name) || strings.Contains(req.URL, string(name)) || strings.Contains(req.User, string(name)) {
		return false
	}
	for _, group := range req.Groups {
		if strings.Contains(group, string(name)) {
			return false
		}
	}
	for k, text := range req.Objects {
		if hooks(k) && bytes.Contains(text, name) { // its webhooks may be for objects with this name as a label
			return false
		}
		if len(text) > 0 && strings.HasSuffix(k, string(name)) { // it was looked up, and is there
			return false
		}
	}
	return true
}

// The prefixes of the keys of context objects. See [context].
const (
	definitionKeys = "/apiextensions.k8s.io/customresourcedefinitions/"
	namespaceKeys  = "/core/namespaces/"
	classKeys      = "/scheduling.k8s.io/priorityclasses/"
	accountKeys    = "/core/serviceaccounts/"
	validatingKeys = "/admissionregistration.k8s.io/validatingwebhookconfigurations/"
	mutatingKeys   = "/admissionregistration.k8s.io/mutatingwebhookconfigurations/"
)

// context reports whether creates of other objects only read this object, and their answers never contain its uid,
// version or times. A webhook configuration qualifies unless it has matchConditions: these are expressions over values.
func context(k string, text []byte) bool {
	if hooks(k) {
		return !bytes.Contains(text, []byte(`"matchConditions":`))
	}
	return strings.HasPrefix(k, namespaceKeys) || strings.HasPrefix(k, definitionKeys) || strings.HasPrefix(k, classKeys) || strings.HasPrefix(k, accountKeys)
}

// hooks reports whether a key is that of a configuration of webhooks.
func hooks(k string) bool {
	return strings.HasPrefix(k, validatingKeys) || strings.HasPrefix(k, mutatingKeys)
}

// changed returns a copy of objects. The uids, versions and times of context objects are replaced by change and
// changeTime.
func changed(objects map[string]json.RawMessage, change, changeTime func(string) string) map[string]json.RawMessage {
	out := maps.Clone(objects)
	for k, text := range out {
		if context(k, text) && len(text) > 0 {
			out[k] = marked(text, change, changeTime)
		}
	}
	return out
}

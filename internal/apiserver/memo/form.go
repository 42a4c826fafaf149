package memo

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// key is the hash of a question without its values.
type key [sha256.Size]byte

// form is a question in two parts: a key for all on which the answer depends, and values, which only occur in it.
type form struct {
	key    key
	values values
	// at is the place of the name in the body; empty if the name is no value.
	at span
	// create says that the question creates an object, and so has values in its other objects too. See [context].
	create bool
}

// span is a part of a text.
type span struct{ begin, end int }

func (s span) of(text []byte) []byte { return text[s.begin:s.end] }

// newForm returns the form of a question. It reports false for lists, which are too long to remember.
//
// The values of a create are the uid, the suffix of a generated name, the time, the version and, for kinds in [alike],
// the name. The values of a read are the time and the version. Other questions have no values: only an equal question
// finds their answers.
func newForm(req *rules.Request) (*form, bool) {
	if req.Collection != nil {
		return nil, false
	}
	f := &form{}
	bare := *req
	if creates := creates(req); creates || reads(req) {
		if creates {
			if at := nameIn(req); free(req, at) {
				f.at = at
			}
		}
		if values, ok := valuesOf(req, string(f.at.of(req.Body))); ok {
			f.values, f.create = values, creates
			bare.UID, bare.Suffix, bare.Now, bare.Version = "", strings.Repeat("x", len(req.Suffix)), 0, uint64(values.digits())
			bare.Body = with(req.Body, f.at, shape(values[valueName]))
			if creates {
				bare.Objects = changed(req.Objects, shape, shape)
			}
		} else {
			f.at = span{}
		}
	}
	text, err := rules.AppendMessage(make([]byte, 0, 4096), &bare)
	if err != nil {
		return nil, false
	}
	// The key tells which values there are. A name that is no value may equal the shape that stands for another name.
	for _, v := range f.values {
		text = append(text, byte(min(len(v), 1)))
	}
	f.key = sha256.Sum256(text)
	return f, true
}

// creates reports whether a question creates an object whose answer may be remembered by its form: one of a kind in
// [alike], or a custom resource. For other kinds rules may compare the time, as for a review of a token. So may
// policies; a question with such objects has no form.
func creates(req *rules.Request) bool {
	if req.Method != http.MethodPost || len(req.UID) != uidLength || len(req.Impersonate) > 0 {
		return false
	}
	for k, text := range req.Objects {
		if len(text) > 0 && !context(k) {
			return false
		}
	}
	group, resource, item := split(req.URL)
	return !item && (alike[group+"/"+resource] || len(req.Objects[definitionKeys+resource+"."+group]) > 0)
}

// reads reports whether a question is a read whose answer shows no ages.
func reads(req *rules.Request) bool {
	return req.Method == http.MethodGet && len(req.Impersonate) == 0 && !strings.Contains(req.Accept, "as=Table")
}

// split returns the group and the resource of a path, and whether anything follows the resource.
func split(url string) (group, resource string, more bool) {
	path, _, _ := strings.Cut(url, "?")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return "", "", true
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return group, parts[0], len(parts) > 1
}

// alike has the kinds for which rules treat all valid names alike. For other kinds a name means something: that of a
// definition contains its group, some names of classes are reserved, and that of an IPAddress is the address.
var alike = map[string]bool{
	"/configmaps": true, "/secrets": true, "/pods": true, "/podtemplates": true, "/replicationcontrollers": true, "/persistentvolumeclaims": true,
	"/serviceaccounts": true, "/namespaces": true, "/limitranges": true, "/resourcequotas": true, "/events": true, "events.k8s.io/events": true,
	"apps/deployments": true, "apps/replicasets": true, "apps/statefulsets": true, "apps/daemonsets": true, "apps/controllerrevisions": true,
	"batch/jobs": true, "batch/cronjobs": true, "autoscaling/horizontalpodautoscalers": true, "policy/poddisruptionbudgets": true,
	"networking.k8s.io/networkpolicies": true, "networking.k8s.io/ingresses": true, "coordination.k8s.io/leases": true,
	"discovery.k8s.io/endpointslices": true,
}

// free reports whether the name at a place of the body is a value: rules treat names of the kind alike, and nothing
// else in the question can be compared with it.
func free(req *rules.Request, at span) bool {
	if at == (span{}) || !rotates(string(at.of(req.Body))) {
		return false
	}
	group, resource, _ := split(req.URL)
	if !alike[group+"/"+resource] {
		text := string(req.Objects[definitionKeys+resource+"."+group])
		ruled := strings.Contains(text, `"x-kubernetes-validations"`)
		if text == "" || ruled && strings.Count(text, "metadata") > strings.Count(text, `"metadata":`) { // one may ask for the name
			return false
		}
	}
	name := string(at.of(req.Body))
	if strings.Contains(string(req.Body[:at.begin]), name) || strings.Contains(string(req.Body[at.end:]), name) {
		return false
	}
	if strings.Contains(req.URL, name) || strings.Contains(req.User, name) {
		return false
	}
	for k := range req.Objects {
		if strings.HasSuffix(k, "/"+name) { // it was looked up, and is there
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
)

// context reports whether a key is that of an object that creates of other objects only read, and whose uid, version
// and times their answers do not contain.
func context(k string) bool {
	return strings.HasPrefix(k, namespaceKeys) || strings.HasPrefix(k, definitionKeys) || strings.HasPrefix(k, classKeys) || strings.HasPrefix(k, accountKeys)
}

// changed returns objects in which the uids, versions and times of context objects are changed.
func changed(objects map[string]json.RawMessage, change, changeTime func(string) string) map[string]json.RawMessage {
	out := maps.Clone(objects)
	for k, text := range out {
		if context(k) && len(text) > 0 {
			out[k] = marked(text, change, changeTime)
		}
	}
	return out
}

// with returns a text with a part of it replaced.
func with(text []byte, at span, by string) []byte {
	if at == (span{}) {
		return text
	}
	out := make([]byte, 0, len(text)-(at.end-at.begin)+len(by))
	return append(append(append(out, text[:at.begin]...), by...), text[at.end:]...)
}

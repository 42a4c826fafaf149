package memo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// key is the hash of a question without its values.
type key [sha256.Size]byte

// form is a question in two parts: a key for all on which the answer depends, and values, which only occur in it.
type form struct {
	key key
	// values has the texts of the values, in the same order for all questions of one form; nil if it has none.
	values []string
	// create says that the question creates an object.
	create bool
	// secret says that the question or its answer may have credentials, so that no file has it.
	secret bool
}

// buffers has buffers for the texts that keys are hashes of.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 8192); return &b }}

// form returns the form of a question. It reports false for lists, which are too long to remember.
//
// The values are the stamps of the server: the uid, the time and the version of the question, and the uids, versions and
// times in the metadata of the body and of the objects. The key tells which of them are equal, and the order of the
// times. Where a question has no values, only an equal question finds its answer.
func (m *Memory) form(req *rules.Request) (f form, ok bool) {
	if p, ok := read(req, maxVersions); ok {
		return m.keyOf(req, p)
	}
	return m.exact(req)
}

// exact returns the form of a question that has no values.
func (m *Memory) exact(req *rules.Request) (f form, ok bool) { return m.keyOf(req, nil) }

// keyOf returns the form of a question. p has its stamps; nil if it has no values.
func (m *Memory) keyOf(req *rules.Request, p *pattern) (f form, ok bool) {
	if req.Collection != nil {
		return f, false
	}
	f.secret, f.create = secret(req), p != nil && req.Method == http.MethodPost
	bare := *req
	bare.Body, bare.Objects = nil, nil
	if p != nil {
		bare.UID, bare.Now, bare.Version = "", 0, 0
		if !p.generates {
			bare.Suffix = "" // it is the end of a generated name
		}
		bare.URL = string(appendMasked(nil, []byte(req.URL), p.url))
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text, err := rules.AppendMessage((*buffer)[:0], &bare)
	if err != nil {
		return f, false
	}
	if p == nil {
		text = appendText(append(text, 0), req.Body)
	} else {
		f.values = p.values()
		text = appendMasked(p.append(append(text, 1)), req.Body, p.body)
	}
	keys := make([]string, 0, 16)
	for k := range req.Objects {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		object := req.Objects[k]
		text = append(appendText(text, k), byte(min(len(object), 1)))
		switch role := p.role(k, object); {
		case len(object) > 0 && role == target:
			text = appendMasked(text, object, p.objects[k])
		case len(object) > 0 && role == context:
			sum := m.shapes.of(object)
			text = append(text, sum[:]...)
		default:
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

// appendMasked appends a text in which stamps are masked, and their places.
func appendMasked(b, text []byte, stamps []stamp) []byte {
	b = appendText(b, text)
	masked := b[len(b)-len(text):]
	for _, s := range stamps {
		for i := s.begin; i < s.end; i++ {
			masked[i] = 'x'
		}
	}
	for _, s := range stamps {
		b = binary.AppendUvarint(append(b, byte(s.kind)), uint64(s.begin))
	}
	return b
}

// pattern has the stamps of a question.
type pattern struct {
	kind   string // the prefix of the keys of its objects; see [kindOf]
	reads  bool
	tokens tokens
	// versions is how many versions are values, from that of the state on: those of the writes, with as many digits.
	versions int
	// The places of stamps in the texts of the question. Those of an object that is no target are not here.
	url, body []stamp
	objects   map[string][]stamp
	generates bool // the body asks for a generated name
	// order has the token of each stamp, -1 for none: the uid, the time, the versions, and those of the texts.
	order []int
}

// read returns the stamps of a question, with at most so many versions. It reports false for one without values: because rules may do more with a time
// than compare it, because not all of its stamps have certain places, or because a response of a webhook is for one
// object only. A table tells ages. Policies may compare anything, so that a question with other objects than its own and
// those of [context] has no values, unless it is a read.
func read(req *rules.Request, versions int) (*pattern, bool) {
	p := &pattern{kind: kindOf(req.URL), reads: req.Method == http.MethodGet || req.Method == http.MethodHead}
	if !p.reads && p.kind == "" || req.UID != "" && !canonical(stampUID, []byte(req.UID)) || len(req.Impersonate) > 0 || len(req.Responses) > 0 ||
		req.Bootstrap || req.Protocol || req.Restore || !p.reads && req.Seed != "" || strings.Contains(req.Accept, "Table") || timed.MatchString(req.URL) {
		return nil, false
	}
	at := timeOf(req.Now)
	if !canonical(stampTime, []byte(at)) {
		return nil, false
	}
	p.take(stampUID, req.UID)
	p.take(stampTime, at)
	for i := range uint64(versions) {
		if next := strconv.FormatUint(req.Version+i, 10); len(next) == len(strconv.FormatUint(req.Version, 10)) {
			p.take(stampVersion, next)
			p.versions++
		}
	}
	if p.reads {
		for _, m := range timeout.FindAllStringSubmatchIndex(req.URL, -1) {
			p.url = append(p.url, stamp{span{m[2], m[3]}, stampTimeout})
		}
		p.takeAll([]byte(req.URL), p.url)
	}
	var ok bool
	if p.body, p.generates, ok = stampsOfBody(req); !ok {
		return nil, false
	}
	p.takeAll(req.Body, p.body)
	for k, text := range req.Objects {
		if len(text) == 0 {
			continue
		}
		switch p.role(k, text) {
		case target:
			stamps, ok := stampsOf(text, stored)
			if !ok {
				return nil, false
			}
			if p.objects == nil {
				p.objects = map[string][]stamp{}
			}
			p.objects[k] = stamps
		case other:
			if !p.reads {
				return nil, false
			}
		}
	}
	for _, k := range p.keys() {
		p.takeAll(req.Objects[k], p.objects[k])
	}
	return p, true
}

// keys returns the keys of the objects that have stamps, sorted.
func (p *pattern) keys() []string {
	out := make([]string, 0, len(p.objects))
	for k := range p.objects {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// maxVersions bounds the versions that are values.
const maxVersions = 4

var (
	// timed matches the paths of kinds whose rules compute with times: those of tokens and certificates.
	timed = regexp.MustCompile(`^/apis/(authentication|authorization|certificates)\.k8s\.io/`)
	// timeout matches how long a watch is to last. Clients choose it by chance, and rules do not use it.
	timeout = regexp.MustCompile(`[?&]timeoutSeconds=([1-9][0-9]{0,8})(?:&|$)`)
)

func (p *pattern) takeAll(text []byte, stamps []stamp) {
	for _, s := range stamps {
		p.take(s.kind, string(s.of(text)))
	}
}

// take adds a stamp to the question. "" is none.
func (p *pattern) take(kind kind, text string) {
	if text == "" {
		p.order = append(p.order, -1)
		return
	}
	p.order = append(p.order, p.tokens.index(kind, text))
}

// append appends which of the stamps are equal, how long the values are, and the order of the times. Rules do no
// more with stamps than to compare them; a read does not compare times.
func (p *pattern) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(p.order)))
	for _, i := range p.order {
		b = binary.AppendVarint(b, int64(i))
	}
	for _, t := range p.tokens {
		b = append(b, byte(t.kind), byte(len(t.text)))
	}
	if !p.reads {
		for _, i := range p.tokens.times() {
			b = binary.AppendUvarint(b, uint64(i))
		}
	}
	return b
}

func (p *pattern) values() (out []string) {
	for _, t := range p.tokens {
		if out = append(out, t.text); t.kind == stampTime {
			out = append(out, secondsOf(t.text))
		}
	}
	return out
}

// What an object is to a question.
type role int

const (
	// other objects are in the key as they are.
	other role = iota
	// target is an object of the kind that the question is about.
	target
	// context is an object that questions about other kinds only read. Their answers never contain its stamps. A
	// configuration of webhooks is one unless it has matchConditions: these are expressions over values.
	context
)

func (p *pattern) role(k string, text []byte) role {
	switch {
	case p == nil || p.kind == "":
		return other
	case strings.HasPrefix(k, p.kind):
		return target
	case strings.HasPrefix(k, hookKeys):
		if strings.Contains(k, "webhookconfigurations/") && !bytes.Contains(text, []byte(`"matchConditions":`)) {
			return context
		}
	case slices.ContainsFunc(contextKeys, func(keys string) bool { return strings.HasPrefix(k, keys) }):
		return context
	}
	return other
}

const hookKeys = "/admissionregistration.k8s.io/"

// contextKeys begin the keys of the other objects of the context.
var contextKeys = []string{"/core/namespaces/", "/core/serviceaccounts/", "/scheduling.k8s.io/priorityclasses/", "/apiextensions.k8s.io/customresourcedefinitions/"}

// kindOf returns the prefix of the keys of the objects that a path is about, such as "/apps/deployments/" or
// "/core/pods/"; "" for a path of no kind, or in an unusual spelling.
func kindOf(url string) string {
	path, _, _ := strings.Cut(url, "?")
	if strings.ContainsAny(path, "%") || strings.Contains(path, "//") {
		return ""
	}
	parts, group := strings.Split(strings.Trim(path, "/"), "/"), "core"
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return ""
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	return "/" + group + "/" + parts[0] + "/"
}

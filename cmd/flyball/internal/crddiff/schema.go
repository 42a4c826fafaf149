package crddiff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// at compares two schemas one step further down.
func (d *differ) at(step string, o, n *extv1.JSONSchemaProps) {
	before := d.path
	d.path = join(before, step)
	d.schema(o, n)
	d.path = before
}

func join(path, step string) string {
	if path == "." {
		return step
	}
	return path + step
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)

// field returns the step to a property.
func field(name string) string {
	if plainName.MatchString(name) {
		return "." + name
	}
	return "[" + strconv.Quote(name) + "]"
}

// schema compares two schemas, and then all schemas below them.
func (d *differ) schema(o, n *extv1.JSONSchemaProps) {
	if a, b := typeOf(o), typeOf(n); a != b {
		d.add(b != "any", "type %s → %s", a, b)
		if b != "any" {
			return // the fields below belong to another type
		}
	}
	switch {
	case o.Nullable && !n.Nullable:
		d.breaking("null no longer allowed")
	case !o.Nullable && n.Nullable:
		d.compatible("null allowed")
	}
	d.format(o, n)
	d.enum(o.Enum, n.Enum)
	d.numbers(o, n)
	d.pattern(o.Pattern, n.Pattern)
	d.defaults(o.Default, n.Default)
	d.extensions(o, n)
	d.rules(o.XValidations, n.XValidations)
	d.combined(o, n)
	d.properties(o, n)
	d.additional(o, n)
	if a, b := itemsOf(o), itemsOf(n); a != nil && b != nil {
		d.at("[]", a, b)
	} else if a == nil && b != nil && typeOf(o) == "array" {
		d.breaking("items are restricted to %s", typeOf(b))
	} else if a != nil && b == nil {
		d.compatible("items are no longer restricted")
	}
}

func typeOf(s *extv1.JSONSchemaProps) string {
	if s.XIntOrString {
		return "int-or-string"
	}
	return cmp.Or(s.Type, "any")
}

func itemsOf(s *extv1.JSONSchemaProps) *extv1.JSONSchemaProps {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// enforced are the formats that the API server validates, by type. It ignores all others.
var enforced = map[string][]string{
	"integer": {"int32"},
	"number":  {"float"},
	"string": {"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn", "isbn10", "isbn13",
		"creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "date", "duration", "datetime", "k8sshortname", "k8slongname"},
}

// limits returns the format of a schema if the API server refuses values by it, or "".
func limits(s *extv1.JSONSchemaProps) string {
	format := strings.ReplaceAll(s.Format, "-", "") // the server does not see them
	if slices.Contains(enforced[cmp.Or(s.Type, "string")], format) {
		return s.Format
	}
	return ""
}

func (d *differ) format(o, n *extv1.JSONSchemaProps) {
	if a, b := limits(o), limits(n); a != b {
		d.textual("format", a, b, true)
		return
	}
	d.changed(false, "format", cmp.Or(o.Format, "none"), cmp.Or(n.Format, "none"))
}

func (d *differ) pattern(o, n string) { d.textual("pattern", o, n, true) }

// textual compares two limits on text. An empty limit allows everything. breaks says whether valid
// objects may become invalid when the limit is another one.
func (d *differ) textual(what, o, n string, breaks bool) {
	switch {
	case o == n:
	case o == "":
		d.breaking("%s %s added", what, n)
	case n == "":
		d.compatible("%s %s removed", what, o)
	default:
		d.add(breaks, "%s %s → %s", what, o, n)
	}
}

func (d *differ) enum(o, n []extv1.JSON) {
	switch {
	case len(o) == 0 && len(n) == 0:
	case len(o) == 0:
		d.breaking("only the values %s are allowed", values(n))
	case len(n) == 0:
		d.compatible("any value is allowed, not only %s", values(o))
	default:
		a, b := canonical(o), canonical(n)
		for _, s := range missing(a, b) {
			d.breaking("value %s removed", s)
		}
		for _, s := range missing(b, a) {
			d.compatible("value %s added", s)
		}
	}
}

// canonical returns values without differences of notation.
func canonical(list []extv1.JSON) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = text(x)
	}
	return out
}

func text(x extv1.JSON) string {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(x.Raw))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil {
		return string(x.Raw)
	}
	data, err := json.Marshal(v) // sorts the keys
	if err != nil {
		return string(x.Raw)
	}
	return string(data)
}

func values(list []extv1.JSON) string {
	var b bytes.Buffer
	for i, s := range canonical(list) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s)
	}
	return b.String()
}

// bound is one end of a range. Without a value it is open.
type bound struct {
	value     *float64
	exclusive bool
}

func (b bound) String() string {
	if b.value == nil {
		return "none"
	}
	s := strconv.FormatFloat(*b.value, 'f', -1, 64)
	if b.exclusive {
		s += " (exclusive)"
	}
	return s
}

// limit compares two bounds. sign is 1 for an upper one and -1 for a lower one.
func (d *differ) limit(what string, sign float64, o, n bound) {
	height := func(b bound) float64 {
		if b.value == nil {
			return math.Inf(1)
		}
		return sign * *b.value
	}
	a, b := height(o), height(n)
	switch {
	case a == b && (o.exclusive == n.exclusive || o.value == nil && n.value == nil):
	case a == b:
		d.add(n.exclusive, "%s %s → %s", what, o, n)
	default:
		d.add(b < a, "%s %s → %s", what, o, n)
	}
}

// count returns a bound of a number of things. A lower one of zero is none.
func count(n *int64, lower bool) bound {
	if n == nil || lower && *n == 0 {
		return bound{}
	}
	f := float64(*n)
	return bound{value: &f}
}

func (d *differ) numbers(o, n *extv1.JSONSchemaProps) {
	d.limit("minimum", -1, bound{o.Minimum, o.ExclusiveMinimum}, bound{n.Minimum, n.ExclusiveMinimum})
	d.limit("maximum", 1, bound{o.Maximum, o.ExclusiveMaximum}, bound{n.Maximum, n.ExclusiveMaximum})
	d.limit("least length", -1, count(o.MinLength, true), count(n.MinLength, true))
	d.limit("greatest length", 1, count(o.MaxLength, false), count(n.MaxLength, false))
	d.limit("least number of items", -1, count(o.MinItems, true), count(n.MinItems, true))
	d.limit("greatest number of items", 1, count(o.MaxItems, false), count(n.MaxItems, false))
	d.limit("least number of properties", -1, count(o.MinProperties, true), count(n.MinProperties, true))
	d.limit("greatest number of properties", 1, count(o.MaxProperties, false), count(n.MaxProperties, false))
	switch {
	case n.UniqueItems && !o.UniqueItems:
		d.breaking("items must be unique")
	case o.UniqueItems && !n.UniqueItems:
		d.compatible("items need no longer be unique")
	}
	switch a, b := o.MultipleOf, n.MultipleOf; {
	case b == nil && a != nil:
		d.compatible("need no longer be a multiple of %v", *a)
	case b != nil && a == nil:
		d.breaking("must be a multiple of %v", *b)
	case b != nil && *a != *b:
		d.add(math.Mod(*a, *b) != 0, "must be a multiple of %v → %v", *a, *b)
	}
}

func (d *differ) defaults(o, n *extv1.JSON) {
	switch {
	case o == nil && n == nil:
	case o == nil:
		d.compatible("default %s added", text(*n))
	case n == nil:
		d.breaking("default %s removed", text(*o))
	case text(*o) != text(*n):
		d.breaking("default %s → %s", text(*o), text(*n))
	}
}

// extensions compares how the server treats a field: pruning and merging.
func (d *differ) extensions(o, n *extv1.JSONSchemaProps) {
	switch a, b := value(o.XPreserveUnknownFields), value(n.XPreserveUnknownFields); {
	case a && !b:
		d.breaking("unknown fields are no longer kept")
	case b && !a:
		d.compatible("unknown fields are kept")
	}
	switch a, b := o.XEmbeddedResource, n.XEmbeddedResource; {
	case b && !a:
		d.breaking("must be a whole object, with apiVersion and kind")
	case a && !b:
		d.compatible("need no longer be a whole object")
	}
	d.changed(true, "list type", orElse(o.XListType, "atomic"), orElse(n.XListType, "atomic"))
	d.changed(true, "list keys", sorted(o.XListMapKeys), sorted(n.XListMapKeys))
	d.changed(true, "map type", orElse(o.XMapType, "granular"), orElse(n.XMapType, "granular"))
}

func orElse(p *string, s string) string { return cmp.Or(value(p), s) }

func sorted(list []string) []string {
	out := append([]string{}, list...)
	slices.Sort(out)
	return out
}

func (d *differ) rules(o, n extv1.ValidationRules) {
	optional := func(rules extv1.ValidationRules) map[string]bool {
		out := map[string]bool{}
		for _, r := range rules {
			out[r.Rule] = out[r.Rule] || value(r.OptionalOldSelf)
		}
		return out
	}
	a, b := optional(o), optional(n)
	for _, r := range n {
		switch had, known := a[r.Rule]; {
		case !known:
			d.breaking("rule added: %s", r.Rule)
		case b[r.Rule] && !had:
			d.breaking("rule holds for objects without an old value, too: %s", r.Rule)
		case had && !b[r.Rule]:
			d.compatible("rule no longer holds for objects without an old value: %s", r.Rule)
		}
		a[r.Rule] = b[r.Rule] // said once
	}
	for _, r := range o {
		if _, stays := b[r.Rule]; !stays {
			d.compatible("rule removed: %s", r.Rule)
		}
	}
}

// combined compares allOf, anyOf, oneOf and not as wholes: they only restrict.
func (d *differ) combined(o, n *extv1.JSONSchemaProps) {
	for range missing(n.AllOf, o.AllOf) {
		d.breaking("allOf: a restriction added")
	}
	for range missing(o.AllOf, n.AllOf) {
		d.compatible("allOf: a restriction removed")
	}
	alternatives := func(what string, o, n []extv1.JSONSchemaProps, more bool) {
		gone, added := missing(o, n), missing(n, o)
		switch {
		case len(gone)+len(added) == 0:
		case len(n) == 0:
			d.compatible("%s removed", what)
		case len(o) == 0:
			d.breaking("%s added", what)
		case len(gone) == 0 && more:
			d.compatible("%s: an alternative added", what)
		default:
			d.breaking("%s changed", what)
		}
	}
	alternatives("anyOf", o.AnyOf, n.AnyOf, true)
	alternatives("oneOf", o.OneOf, n.OneOf, false)
	switch {
	case reflect.DeepEqual(o.Not, n.Not):
	case n.Not == nil:
		d.compatible("not: removed")
	default:
		d.breaking("not: added or changed")
	}
}

// open reports whether an object may have undeclared fields, and their schema.
func open(s *extv1.JSONSchemaProps) (below *extv1.JSONSchemaProps, yes bool) {
	if a := s.AdditionalProperties; a != nil && (a.Allows || a.Schema != nil) {
		return a.Schema, true
	}
	return nil, value(s.XPreserveUnknownFields)
}

func (d *differ) properties(o, n *extv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(o.Properties)) {
		a := o.Properties[name]
		b, ok := n.Properties[name]
		if ok {
			d.at(field(name), &a, &b)
			continue
		}
		before := d.path
		d.path = join(before, field(name))
		if _, free := open(n); free {
			d.compatible("no longer declared, but kept")
		} else {
			d.breaking("removed")
		}
		d.path = before
	}
	below, free := open(o)
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if _, ok := o.Properties[name]; ok {
			continue
		}
		b := n.Properties[name]
		switch {
		case below != nil:
			d.at(field(name), below, &b)
		case free:
			d.at(field(name), &extv1.JSONSchemaProps{}, &b)
		default:
			before := d.path
			d.path = join(before, field(name))
			d.compatible("added")
			d.path = before
		}
	}
	before := d.path
	for _, name := range missing(sorted(n.Required), sorted(o.Required)) {
		p, declared := n.Properties[name]
		d.path = join(before, field(name))
		if declared && p.Default != nil {
			d.compatible("required, with the default %s", text(*p.Default))
		} else {
			d.breaking("required")
		}
	}
	for _, name := range missing(sorted(o.Required), sorted(n.Required)) {
		if _, declared := n.Properties[name]; declared {
			d.path = join(before, field(name))
			d.compatible("no longer required")
		}
	}
	d.path = before
}

// additional compares undeclared fields.
func (d *differ) additional(o, n *extv1.JSONSchemaProps) {
	a, had := open(o)
	b, has := open(n)
	preserved := value(o.XPreserveUnknownFields) || value(n.XPreserveUnknownFields)
	switch {
	case a != nil && b != nil:
		d.at("[*]", a, b)
	case a != nil && has:
		d.compatible("values are no longer restricted")
	case b != nil && had:
		d.at("[*]", &extv1.JSONSchemaProps{}, b)
	case had && !has && !preserved:
		d.breaking("keys of one's own choice are no longer kept")
	case has && !had && !preserved:
		d.compatible("keys of one's own choice are kept")
	}
}

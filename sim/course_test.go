package sim

import (
	"slices"
	"testing"
)

// A course is read as it was written, and becomes smaller by one thing at a time; faults stay at their steps.
func TestCourse(t *testing.T) {
	const text = `[{},{"set":{"/spec/a":"it's <b> & c"},"remove":["/spec/b"]},null] lag~3@3:DELETED:apps/default/a crash-after@2:create:secrets/default/a`
	c, err := parseCourse(text)
	if err != nil || c.String() != text {
		t.Fatalf("%v, %s", err, c)
	}
	var got []string
	for _, less := range c.smaller(1) {
		got = append(got, less.String())
	}
	want := []string{
		`[{"set":{"/spec/a":"it's <b> & c"},"remove":["/spec/b"]},null] lag~2@2:DELETED:apps/default/a crash-after@1:create:secrets/default/a`,
		`[{},null] lag~2@2:DELETED:apps/default/a`,
		`[{},{"set":{"/spec/a":"it's <b> & c"},"remove":["/spec/b"]}] crash-after@2:create:secrets/default/a`,
		`[{},{"set":{"/spec/a":"it's <b> & c"},"remove":["/spec/b"]},null] crash-after@2:create:secrets/default/a`,
		`[{},{"set":{"/spec/a":"it's <b> & c"},"remove":["/spec/b"]},null] lag~3@3:DELETED:apps/default/a`,
		`[{},{"set":{"/spec/a":"it's <b> & c"}},null] lag~3@3:DELETED:apps/default/a crash-after@2:create:secrets/default/a`,
		`[{},{"remove":["/spec/b"]},null] lag~3@3:DELETED:apps/default/a crash-after@2:create:secrets/default/a`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

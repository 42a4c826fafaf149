package wire

import "testing"

// What is known of one object is known of its kind.
func TestKindKnowsThatNamesRepeat(t *testing.T) {
	k, other := &Kind{MetadataOnly: true}, &Kind{MetadataOnly: true}
	good := Raw{Kind: k, Encoding: JSON, Bytes: []byte(`{"metadata":{"name":"a"}}`)}
	if _, _, err := good.Scan(); err != nil || !good.Checked().distinct() || good.distinct() || !k.Same(other) {
		t.Fatalf("before: %v, %v", err, good.Checked().distinct())
	}
	twice := Raw{Kind: k, Encoding: JSON, Bytes: []byte(`{"metadata":{"name":"a","name":"b"}}`)}
	if h, _, err := twice.Scan(); err != nil || h.Name != "b" {
		t.Fatal(h, err)
	}
	if good.Checked().distinct() || k.Same(other) {
		t.Error("it is not known")
	}
	if _, _, err := (Raw{Kind: other, Encoding: JSON, Bytes: twice.Bytes}).Scan(); err != nil || !k.Same(other) || k.Same(nil) || !(*Kind)(nil).Same(nil) || k.Same(&Kind{}) {
		t.Error("kinds that say the same are not the same")
	}
}

package v2

import (
	"testing"

	"sigs.k8s.io/randfill"

	"github.com/flyball-io/flyball/test/webhooktest"
	"github.com/flyball-io/flyball/webhook/convert"

	hub "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v1"
)

// FuzzGuestbookRoundTrip: what goes to the hub and back, or the other way, does not change. The
// images are such as the CRD admits; FuzzImage has the others.
func FuzzGuestbookRoundTrip(f *testing.F) {
	webhooktest.RoundTrip(f, convert.SpokeByMethods[Guestbook, hub.Guestbook](),
		func(i *Image, c randfill.Continue) { *i = anImage(c) },
		func(s *hub.GuestbookSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			s.Image = anImage(c).String()
		})
}

// anImage is one of those that the CRD admits.
func anImage(c randfill.Continue) Image {
	pick := func(s ...string) string { return s[c.Intn(len(s))] }
	repository := pick("", "web", "a.example/web", "a.example:5000/b/web")
	if repository == "" {
		return Image{} // none is given
	}
	return Image{Repository: repository, Tag: pick("", "latest", "5000", "v1.2-rc_3"), Digest: pick("", digest)}
}

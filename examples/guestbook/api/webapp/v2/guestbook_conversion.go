package v2

import hub "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v1"

// ConvertTo makes h, of the version v1 that is stored, what s is. The metadata is there already.
func (s *Guestbook) ConvertTo(h *hub.Guestbook) error {
	h.Spec = guestbookSpecToHub(s.Spec)
	h.Status = hub.GuestbookStatus(s.Status)
	return nil
}

// ConvertFrom makes s what h is.
func (s *Guestbook) ConvertFrom(h *hub.Guestbook) error {
	s.Spec = guestbookSpecFromHub(h.Spec)
	s.Status = GuestbookStatus(h.Status)
	return nil
}

func guestbookSpecToHub(in GuestbookSpec) (out hub.GuestbookSpec) {
	out.Size = in.Size
	out.Message = in.Message
	out.Alias = hub.Alias(in.Alias)
	out.Image = in.Image.String()
	return out
}

func guestbookSpecFromHub(in hub.GuestbookSpec) (out GuestbookSpec) {
	out.Size = in.Size
	out.Message = in.Message
	out.Alias = Alias(in.Alias)
	out.Image = ParseImage(in.Image)
	return out
}

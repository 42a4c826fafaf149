package reflector

import (
	"time"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

const (
	auditRetries = 8               // an audit whose list failed is repeated after this part of the period
	minLastWatch = 2 * time.Second // the shortest timeout of a watch that ends for an audit
)

// planAudit draws the time of the next audit, from three quarters of the period to the whole of it. A complete list
// begins a new period, since it repairs what was lost.
func (c *core) planAudit(at stepTime) {
	if p := c.cfg.Audit; p > 0 {
		c.auditAt = at.now.Add(p - time.Duration(at.random*float64(p/4)))
	}
}

// auditDue reports whether an audit is due. A watch that is in doubt is not audited.
func (c *core) auditDue(at stepTime) bool {
	return !c.auditAt.IsZero() && !at.now.Before(c.auditAt) && c.suspect == 0 && !c.loss.proven
}

// audit lists the state of the server at exactly the version of the watch. Whatever differs was lost by the watch. If
// the server does not list that version, the newest one follows. It repairs what was lost, and changes that came later
// are in it, too.
func (c *core) audit(at stepTime) action {
	return c.list(at, plan{reason: whyAudited, exact: true, paged: true, optional: true})
}

// auditFailed resumes the watch, which works: the content must follow the server even while lists fail.
func (c *core) auditFailed(at stepTime, err error) action {
	c.abort()
	c.plan, c.cont = plan{}, ""
	c.state.AuditsFailed++
	c.state.AuditErr = &Error{Verb: "list", Resource: c.cfg.Resource, Err: err}
	c.auditAt = at.now.Add(c.cfg.Audit / auditRetries)
	return c.watch(at, check)
}

// Lost reports whether a change of the list of an audit proves that the watch lost an event. u is the Sweep of that
// list, and was and is are the states of an object before and after it; nil: none. A deletion proves it if the list is
// of the audited version, and a newer state if it is not newer than that version.
func (u *Update) Lost(was, is *store.Entry) bool {
	switch {
	case u.Audited == "":
		return false
	case is == nil:
		return u.Audited == u.Version
	case is.ResourceVersion() == "", was != nil && was.SameUID(is) && was.ResourceVersion() == is.ResourceVersion():
		return false
	}
	order, ok := object.CompareVersions(is.ResourceVersion(), u.Audited)
	return u.Audited == u.Version || ok && order <= 0
}

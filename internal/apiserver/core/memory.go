package core

import (
	"sync"
	"time"
)

// memory remembers decisions about access until roles change, and whose tokens there are until an object that
// they are about changes. It is safe for concurrent use. It changes no answer.
type memory struct {
	mu        sync.Mutex
	roles     uint64 // the version of the last change of roles
	decisions map[string]decision
	holders   map[string]holder
}

// maxMemory bounds each map. A full one is emptied.
const maxMemory = 8192

// holder is whose token it was at some time; nobody's if user is nil.
type holder struct {
	user    *User
	at      time.Time
	objects map[string]*Object // what that depended on
}

// decision returns what was decided when the roles were those of a version.
func (m *memory) decision(roles uint64, key string) (decision, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if roles != m.roles {
		return decision{}, false
	}
	d, ok := m.decisions[key]
	return d, ok
}

// decided remembers a decision. Those by older roles are forgotten.
func (m *memory) decided(roles uint64, key string, d decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if roles < m.roles {
		return
	}
	if roles > m.roles || m.decisions == nil || len(m.decisions) >= maxMemory {
		m.roles, m.decisions = roles, map[string]decision{}
	}
	m.decisions[key] = d
}

// holder returns whose token it is, if nothing has changed since that was asked.
func (m *memory) holder(v View, now time.Time, token string) (*User, bool) {
	m.mu.Lock()
	h, ok := m.holders[token]
	m.mu.Unlock()
	if age := now.Sub(h.at); !ok || age < 0 || age >= trusted {
		return nil, false
	}
	for key, o := range h.objects {
		if v.get(key) != o {
			return nil, false
		}
	}
	return h.user, true
}

func (m *memory) hold(token string, h holder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holders == nil || len(m.holders) >= maxMemory {
		m.holders = map[string]holder{}
	}
	m.holders[token] = h
}

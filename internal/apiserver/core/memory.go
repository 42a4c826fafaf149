package core

import (
	"sync"
	"time"
)

// memory remembers decisions about access until roles change, and the holders of tokens until an object changes on
// which they depend. It is safe for concurrent use. It changes no answer.
type memory struct {
	mu        sync.Mutex
	roles     uint64 // the version of the last change of roles
	decisions map[string]decision
	holders   map[string]holder
}

// maxMemory bounds each map. A map that is full is emptied.
const maxMemory = 8192

// holder is the user of a token at some time; user is nil if the token was not valid.
type holder struct {
	user    *User
	at      time.Time
	objects map[string]*Object // the objects on which the user depends, by key
}

// decision returns a remembered decision that was made with the roles of a version.
func (m *memory) decision(roles uint64, key string) (decision, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if roles != m.roles {
		return decision{}, false
	}
	d, ok := m.decisions[key]
	return d, ok
}

// decided remembers a decision, and forgets those that were made with older roles.
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

// holder returns the remembered user of a token. It reports false if none is remembered, or if it may have changed.
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

package durward

import (
	"sync"

	"github.com/ebitengine/purego"
)

// handle is one of the library: freed once, and not while a call uses it.
type handle struct {
	mutex sync.RWMutex
	// raw is 0 once it is freed.
	raw, free uintptr
}

// hold gives the handle for a call, until [handle.release]; false once it is freed.
func (h *handle) hold() (uintptr, bool) {
	h.mutex.RLock()
	if h.raw == 0 {
		h.mutex.RUnlock()
		return 0, false
	}
	return h.raw, true
}

func (h *handle) release() { h.mutex.RUnlock() }

// close waits for calls, and frees it. A second time does nothing.
func (h *handle) close() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.raw != 0 {
		purego.SyscallN(h.free, h.raw)
		h.raw = 0
	}
}

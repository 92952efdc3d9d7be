package durward

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// What the functions of durward.h give beside the codes of errors.
const (
	codeOK      = 0
	codeNothing = 6
)

// functions are the addresses of those in durward.h, by the names there.
type functions struct {
	version, pdpFromDir, pdpFromTexts, reload, replace, freePdp            uintptr
	decide, decideMany, decideRequest, explain, explainRequest             uintptr
	answerText, answerJSON, freeAnswer, freeDecisions                      uintptr
	watchOpen, watchNext, watchClose, freeWatch, errorMessage, freeFailure uintptr
}

func (f *functions) byName() map[string]*uintptr {
	return map[string]*uintptr{
		"durward_version":         &f.version,
		"durward_pdp_from_dir":    &f.pdpFromDir,
		"durward_pdp_from_texts":  &f.pdpFromTexts,
		"durward_reload":          &f.reload,
		"durward_replace":         &f.replace,
		"durward_free_pdp":        &f.freePdp,
		"durward_decide":          &f.decide,
		"durward_decide_many":     &f.decideMany,
		"durward_decide_request":  &f.decideRequest,
		"durward_explain":         &f.explain,
		"durward_explain_request": &f.explainRequest,
		"durward_answer_text":     &f.answerText,
		"durward_answer_json":     &f.answerJSON,
		"durward_free_answer":     &f.freeAnswer,
		"durward_free_decisions":  &f.freeDecisions,
		"durward_watch_open":      &f.watchOpen,
		"durward_watch_next":      &f.watchNext,
		"durward_watch_close":     &f.watchClose,
		"durward_free_watch":      &f.freeWatch,
		"durward_error_message":   &f.errorMessage,
		"durward_free_error":      &f.freeFailure,
	}
}

// A text, policy and decision as the header has them.
type (
	nativeText struct {
		data unsafe.Pointer
		len  uintptr
	}
	nativePolicy struct {
		name, text nativeText
	}
	nativeDecision struct {
		outcome, code   int32
		answer, failure uintptr
	}
)

// empty is where a text of no bytes begins: a null pointer is no text.
var empty = new(byte)

// start is where a text begins.
func start(text string) unsafe.Pointer {
	if text == "" {
		return unsafe.Pointer(empty)
	}
	return unsafe.Pointer(unsafe.StringData(text))
}

// pinned gives a text within an array. Until it is unpinned, the collector leaves it where it is.
func pinned(pinner *runtime.Pinner, text string) nativeText {
	data := start(text)
	pinner.Pin(data)
	return nativeText{data, uintptr(len(text))}
}

// scratch is where a call puts its results. It lies on the heap, and is used again: a decision without obligations allocates nothing
// but the arguments of its call, which purego takes as a list.
//
// Handles are numbers here, not pointers: memory of C that was freed may become memory of Go, and the collector must not find a pointer to it.
type scratch struct {
	outcome         int32
	result, failure uintptr
	length          uintptr
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// check turns the code of a call into an error, and frees that of the library.
func (s *scratch) check(f *functions, code uintptr) error {
	if int32(code) == codeOK {
		return nil
	}
	failure := s.failure
	s.failure = 0
	defer purego.SyscallN(f.freeFailure, failure)
	return s.errorOf(f, int32(code), failure)
}

// errorOf is an error of the library, which stays.
func (s *scratch) errorOf(f *functions, code int32, failure uintptr) error {
	message := string(s.lent(f.errorMessage, failure))
	if message == "" {
		message = Code(code).Error()
	}
	return &Error{Code(code), message}
}

// lent copies a text of a handle.
func (s *scratch) lent(function, handle uintptr) []byte {
	s.length = 0
	data, _, _ := purego.SyscallN(function, handle, uintptr(unsafe.Pointer(&s.length)))
	if data == 0 {
		return nil
	}
	return append([]byte(nil), unsafe.Slice((*byte)(pointer(data)), s.length)...)
}

// pointer is an address of the library's memory, which the collector knows nothing of.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// decision takes what a call has put here, and frees it.
func (s *scratch) decision(f *functions) (Decision, error) {
	if s.result == 0 {
		return Decision{Outcome: Outcome(s.outcome)}, nil
	}
	answer := s.result
	s.result = 0
	defer purego.SyscallN(f.freeAnswer, answer)
	return decisionOf(Outcome(s.outcome), s.lent(f.answerText, answer))
}

package durward

import (
	"bytes"
	"encoding/json"
	"unsafe"
)

// Subscription is a question as SAPL has it. Any value that becomes such an object in JSON may be asked as well, such as a map or a struct of your own.
type Subscription struct {
	Subject     any `json:"subject"`
	Action      any `json:"action"`
	Resource    any `json:"resource"`
	Environment any `json:"environment,omitempty"`
}

// textOf writes a subscription as JSON. A json.RawMessage is that already, and copied: nobody changes it while it is read.
func textOf(subscription any) (string, error) {
	if text, ok := subscription.(json.RawMessage); ok {
		return string(text), nil
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(subscription); err != nil {
		return "", &Error{CodeQuestion, "the subscription has no JSON: " + err.Error()}
	}
	written := buffer.Bytes()
	if hasReplacement(written) {
		return "", &Error{CodeQuestion, "the subscription has a text that is not UTF-8"}
	}
	// Nobody else has the buffer.
	return unsafe.String(unsafe.SliceData(written), len(written)), nil
}

// hasReplacement says whether encoding/json has put the escape \ufffd where a text was not UTF-8: another question than the one that was asked. The
// character itself it writes as it is. Who writes the escape in a JSON of their own within the value is refused, too.
func hasReplacement(written []byte) bool {
	for at := 0; at < len(written); {
		next := bytes.IndexByte(written[at:], '\\')
		if next < 0 {
			return false
		}
		at += next
		if bytes.EqualFold(written[at:min(at+6, len(written))], []byte(`\ufffd`)) {
			return true
		}
		// An escape is two bytes at least; the second may be another backslash.
		at += 2
	}
	return false
}

package durward

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"unicode/utf8"
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
	if hasReplacement(written) && !isUTF8(reflect.ValueOf(subscription), 0) {
		return "", &Error{CodeQuestion, "the subscription has a text that is not UTF-8"}
	}
	// Nobody else has the buffer.
	return unsafe.String(unsafe.SliceData(written), len(written)), nil
}

// hasReplacement says whether there may be a U+FFFD that encoding/json has put where a text was not UTF-8, which would be another question than the one that was
// asked. It writes the character or its escape; so may somebody who means it.
func hasReplacement(written []byte) bool {
	for _, form := range []string{"\ufffd", `\ufffd`, `\uFFFD`} {
		if bytes.Contains(written, []byte(form)) {
			return true
		}
	}
	return false
}

// depthMax is how deep texts are looked for; encoding/json stops at this depth where a value holds itself.
const depthMax = 1_000

// isUTF8 says whether all texts of a value are, as encoding/json finds them.
func isUTF8(value reflect.Value, depth int) bool {
	if depth > depthMax {
		return false
	}
	if written, ok := writtenBy(value); ok {
		return utf8.Valid(written)
	}
	is := func(inner reflect.Value) bool { return isUTF8(inner, depth+1) }
	switch value.Kind() {
	case reflect.String:
		return utf8.ValidString(value.String())
	case reflect.Pointer, reflect.Interface:
		return is(value.Elem())
	case reflect.Slice, reflect.Array:
		for at := range value.Len() {
			if !is(value.Index(at)) {
				return false
			}
		}
	case reflect.Map:
		for entries := value.MapRange(); entries.Next(); {
			if !is(entries.Key()) || !is(entries.Value()) {
				return false
			}
		}
	case reflect.Struct:
		for at := range value.NumField() {
			field := value.Type().Field(at)
			if (field.IsExported() || field.Anonymous) && field.Tag.Get("json") != "-" && !is(value.Field(at)) {
				return false
			}
		}
	}
	return true
}

// writtenBy gives what a value writes itself as, if it does.
func writtenBy(value reflect.Value) ([]byte, bool) {
	if !value.IsValid() || !value.CanInterface() || (value.Kind() == reflect.Pointer && value.IsNil()) {
		return nil, false
	}
	forms := []any{value.Interface()}
	if value.CanAddr() {
		forms = append(forms, value.Addr().Interface())
	}
	for _, form := range forms {
		var written []byte
		var err error
		switch form := form.(type) {
		case json.Marshaler:
			written, err = form.MarshalJSON()
		case encoding.TextMarshaler:
			written, err = form.MarshalText()
		default:
			continue
		}
		if err != nil {
			written = []byte{0xff}
		}
		return written, true
	}
	return nil, false
}

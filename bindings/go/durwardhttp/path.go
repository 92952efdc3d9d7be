package durwardhttp

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"durward.io/durward"
)

// SubscriptionOf is what a guard asks by default: the subject of [WithSubject] or null, the method, and the path, decoded. It is nil for an address that a policy
// and whoever serves it could read in two ways.
func SubscriptionOf(request *http.Request) (any, error) {
	path, ok := pathOf(request)
	if !ok {
		return nil, nil
	}
	subject := request.Context().Value(subjectKey{})
	return durward.Subscription{Subject: subject, Action: request.Method, Resource: path}, nil
}

var (
	// A slash that is encoded is one to some, and none to others.
	encodedSlash = regexp.MustCompile(`(?i)%(2f|5c)`)
	// Characters and segments that routers take away.
	ambiguous = regexp.MustCompile(`[\\\x00;]|//|(^|/)\.{1,2}(/|$)`)
)

// pathOf is the whole path as it was sent, wherever the guard is mounted: http.StripPrefix changes the URL of a request, not its RequestURI.
func pathOf(request *http.Request) (string, bool) {
	raw := request.RequestURI
	if raw == "" {
		// No server has made this request.
		if request.URL == nil {
			return "", false
		}
		raw = request.URL.EscapedPath()
	} else if !strings.HasPrefix(raw, "/") {
		// A request to a proxy has a whole address there.
		address, err := url.ParseRequestURI(raw)
		if err != nil {
			return "", false
		}
		raw = address.EscapedPath()
	}
	if end := strings.IndexAny(raw, "?#"); end >= 0 {
		raw = raw[:end]
	}
	if encodedSlash.MatchString(raw) {
		return "", false
	}
	path, err := url.PathUnescape(raw)
	if err != nil || !utf8.ValidString(path) || !strings.HasPrefix(path, "/") || ambiguous.MatchString(path) {
		return "", false
	}
	return path, true
}

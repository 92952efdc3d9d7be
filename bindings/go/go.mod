// Decisions of policies in SAPL and XACML within a program in Go, by the C library.
module durward.io/durward

go 1.25.0

require github.com/ebitengine/purego v0.11.3

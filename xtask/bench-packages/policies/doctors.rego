package doctors

default allow := false

allow if {
	input.action == "read"
	input.subject.role == "doctor"
	input.resource.type == "record"
}

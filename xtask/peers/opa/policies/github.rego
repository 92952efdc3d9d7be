package scenario

# data.member_of says of everybody what they belong to, at any distance.

default allow := false

allow if {
	input.action == "read"
	data.member_of[input.subject][data.repos[input.resource].readers]
}

allow if {
	input.action in {"triage", "read"}
	data.member_of[input.subject][data.repos[input.resource].triagers]
}

allow if {
	input.action in {"write", "triage", "read"}
	data.member_of[input.subject][data.repos[input.resource].writers]
}

allow if {
	input.action in {"maintain", "write", "triage", "read"}
	data.member_of[input.subject][data.repos[input.resource].maintainers]
}

allow if {
	input.action in {"admin", "maintain", "write", "triage", "read"}
	data.member_of[input.subject][data.repos[input.resource].admins]
}

allow if {
	input.action == "read"
	data.member_of[input.subject][data.orgs[data.repos[input.resource].owner].readers]
}

allow if {
	input.action in {"write", "triage", "read"}
	data.member_of[input.subject][data.orgs[data.repos[input.resource].owner].writers]
}

allow if {
	input.action in {"admin", "maintain", "write", "triage", "read"}
	data.member_of[input.subject][data.orgs[data.repos[input.resource].owner].admins]
}

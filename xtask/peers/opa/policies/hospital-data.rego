package scenario

# The policies of all departments as one rule over data, as one would write them by hand: data.permissions has roles,
# types and actions of each department, data.emergency types and actions.

default allow := false

allow if {
	permitted
	not denied
}

permitted if {
	data.permissions[input.resource.department][input.subject.role][input.resource.type][input.action]
	data.member_of[input.subject.id][input.resource.department]
}

permitted if {
	input.subject.role == "emergency"
	data.emergency[input.resource.type][input.action]
}

denied if {
	data.sensitive[input.resource.department]
	input.resource.sensitivity > input.subject.clearance
}

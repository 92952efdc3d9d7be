package scenario

# data.member_of says of everybody what they belong to, at any distance.

default allow := false

allow if {
	input.action in {"CreateList", "GetLists"}
	input.resource == "Application::TinyTodo"
}

allow if input.subject == data.lists[input.resource].owner

allow if {
	input.action == "GetList"
	data.member_of[input.subject][data.lists[input.resource].readers]
}

allow if {
	input.action == "GetList"
	data.member_of[input.subject][data.lists[input.resource].editors]
}

allow if {
	input.action in {"UpdateList", "CreateTask", "UpdateTask", "DeleteTask"}
	data.member_of[input.subject][data.lists[input.resource].editors]
}

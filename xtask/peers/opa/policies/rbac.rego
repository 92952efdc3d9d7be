package scenario

default allow := false

allow if {"type": input.resource.type, "action": input.action} in data.permissions[input.subject.role]

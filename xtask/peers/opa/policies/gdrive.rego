package scenario

# data.member_of says of everything what it lies below, at any distance, itself included.

default allow := false

allow if {
	input.action == "read"
	data.member_of[input.resource][data.users[input.subject].documentsAndFoldersWithViewAccess]
}

allow if {
	input.action == "read"
	data.docs[input.resource].isPublic
}

allow if {
	input.action in {"read", "write", "share"}
	some folder in data.users[input.subject].ownedFolders
	data.member_of[input.resource][folder]
}

allow if {
	input.action in {"read", "write", "share"}
	some document in data.users[input.subject].ownedDocuments
	data.member_of[input.resource][document]
}

allow if {
	input.action == "changeOwner"
	some document in data.users[input.subject].ownedDocuments
	data.member_of[input.resource][document]
}

allow if {
	input.action == "createDocument"
	some folder in data.users[input.subject].ownedFolders
	data.member_of[input.resource][folder]
}

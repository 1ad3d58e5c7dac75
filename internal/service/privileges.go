package service

// Privileges are all that the program of the service on Windows keeps of the system's: to ask for users' tokens, to read the environment of
// a user as that user, and to start programs with the tokens.
var Privileges = []string{
	"SeTcbPrivilege", "SeImpersonatePrivilege", "SeAssignPrimaryTokenPrivilege", "SeIncreaseQuotaPrivilege", "SeChangeNotifyPrivilege",
}

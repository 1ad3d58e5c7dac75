package health

// Ends of texts that several share.
const (
	reread = "[; then have the agent read it again (kill -HUP {agent}, or POST /v1/reload), which keeps the old one until then]"
	again  = "run this again in some seconds; if it stays so, restart "
)

// English has a text for every code. It tells the other languages which arguments there are.
var English = Texts{
	AgentRuns: {Message: "the agent runs as process {pid}, for {age}"},
	AgentNotRunning: {
		"no agent runs for this user, so the client is told nothing",
		"start it with 'sidetone run --catalogue FILE', as the user who runs the client",
	},
	AgentSilent: {
		"the agent of this user does not answer",
		"end it and start it again; if somebody has stopped it (kill -STOP, Ctrl-Z, a debugger), let it go on",
	},
	AgentUnreachable: {
		"the agent could not be asked: {reason}",
		"run this as the user who runs the agent; if that is so already, restart the agent",
	},
	AgentVersion: {
		"the agent that runs (process {pid}) is version {version}, this command is {own}",
		"restart the agent, so that both are of one version",
	},
	AgentNotAsked: {
		"all that follows was read by this command itself, once",
		"start the agent and run this again to see what the vendor's software pushes and what clients have",
	},

	Unexplained: {Message: "{reason}"},

	SettingsFine:     {Message: "settings and the catalogue {path} are in order; it has {products|product|products} of {vendor}"},
	SettingsMistake:  {"{mistake}", "correct it, until 'sidetone config check' finds nothing" + reread},
	CatalogueMistake: {"{mistake}", "correct it, until 'sidetone catalogue check {path}' finds nothing" + reread},
	ReloadRefused: {
		"the old settings and catalogue stay in force: {reason}",
		"correct what is named, then have the agent read it again (kill -HUP {agent}, or POST /v1/reload)",
	},
	CatalogueMissing: {
		"no catalogue is set, so no device can be recognised",
		"say which devices are yours: --catalogue FILE, SIDETONE_CATALOGUE or 'catalogue:' in the settings file",
	},
	CatalogueOther: {
		"the agent uses another catalogue than the settings here, which name {path}",
		"if that is the one you mean, restart the agent with it",
	},
	CatalogueOtherMistake: {
		"{mistake}",
		"correct it, until 'sidetone catalogue check {path}' finds nothing, or leave it out: the agent has another",
	},

	SourcesNone: {
		"nothing is asked for devices",
		"set sources.audio or sources.camera to true, or name a file in sources.files; " +
			"on Windows and macOS only such files are read so far",
	},
	SourceWorks:    {Message: "the source {subject} works; it lists {endpoints|endpoint|endpoints}"},
	StateFileWorks: {Message: "the source {subject} works; it pushes what its file says"},
	SourceStarting: {"the source {subject} has not answered yet", again + "the sound server"},
	SourceUnreadable: {
		"the source {subject} cannot be read, so what it would list is unknown[: {because}]",
		"correct sources.* in the settings; 'sidetone config show' lists them",
	},
	SourceRemark: {"the source {subject} says: {because}", "correct sources.* in the settings; 'sidetone config show' lists them"},

	SourcesNotOpened: {"{reason}", "correct sources.* in the settings; 'sidetone config show' lists them"},
	SoundServerAway: {
		"{reason}",
		"start the sound server ('systemctl --user start pipewire-pulse' or 'pulseaudio --start'); " +
			"if it runs elsewhere, name it in sources.pulse_server",
	},
	CamerasUnreadable: {"{reason}", "unplug the camera and plug it in again; if you have none, set sources.camera to false"},
	EndpointFileWrong: {"{reason}", "correct {path}, or take it out of sources.files"},
	StateFileWrong: {
		"{reason}; what it said before ends with its lease",
		"have the vendor's software write the file anew, or take it out of push.state_file",
	},
	StateFileOld: {
		"{path}: written before this machine was started: what the devices have done since is not known, " +
			"so it says nothing until it is written again",
		"have the vendor's software write the file anew, or take it out of push.state_file",
	},
	StateRefused: {"{place}: {reason}", "have the vendor's software write the file anew, or take it out of push.state_file"},
	AccessDenied: {
		"{reason}",
		"[let this user read {path}: log in at the machine itself, or join the group that 'ls -l {path}' shows, and log in again]" +
			"{path?|run 'ls -l' on the file that is named, and join the group that it belongs to}",
	},

	SoundCardUnreadable: {"the switches of a sound card are unknown: {because}", "unplug the device and plug it in again"},
	MiniaudioHangs: {
		"miniaudio hangs; the sound server's own list is used alone", "nothing to do: the sound server's own list is used",
	},
	MiniaudioFails: {"{reason}; the sound server's own list is used alone", "nothing to do: the sound server's own list is used"},
	CameraDenied: {
		"{path} ({camera}) is left out: {reason}; " +
			"this user needs read access to the node: a session at the machine itself or membership of the node's group",
		"let this user read {path}: log in at the machine itself, or join the group that 'ls -l {path}' shows, and log in again",
	},
	CameraHidden: {
		"{path} ({camera}) is left out: {reason}; the node is hidden from this process, as a container does, or was never made",
		"run the agent outside of the container, or give the container the node",
	},
	CameraUnreadable: {
		"{path} ({camera}) is left out: {reason}; unplug the camera and plug it in again",
		"unplug the camera and plug it in again; if you have none, set sources.camera to false",
	},
	HIDLeftOut:       {"{device} is left out: {because}", "unplug the device and plug it in again"},
	EndpointFileKept: {"{reason}; keeping the last good content", "correct {path}, or take it out of sources.files"},

	FileUnwatched: {
		"changes of {path} cannot be watched, it is read every {every}: {reason}",
		"move it to a file system of this machine",
	},
	PlugsUnheard: {
		"kernel device events cannot be heard, a plugged {device} may go unnoticed: {reason}", "restart the agent after the device is plugged in",
	},
	AccessUnwatched:  {"a change of access to a {device} goes unnoticed: {reason}", "restart the agent after such a change"},
	DevicesUnwatched: {"{device}s are no longer watched: {reason}; restart to watch again", "restart the agent"},

	HIDWorks:     {Message: "the HID device {subject} is read; sources of the catalogue that look at it: {sources}"},
	HIDNotListed: {"HID devices cannot be looked for: {reason}", "restart the agent; if it stays so, set sources.hid to false and report it"},
	HIDDenied: {
		"no permission to read {path}: install the udev rule ('sidetone catalogue udev FILE' prints it) and plug the device in again",
		"put the output of 'sidetone catalogue udev [{catalogue}]{catalogue?|FILE}' into /etc/udev/rules.d/70-sidetone-hid.rules, " +
			"and plug the device in again; a user who is logged in at the machine itself may then read it",
	},
	HIDHidden: {
		"{reason}; the node is hidden from this process, as a container does, or was never made",
		"run the agent outside of the container, or give the container the node",
	},
	HIDFails: {"{reason}; unplug the device and plug it in again", "unplug the device and plug it in again"},
	HIDUnreadable: {
		"the HID device {subject} cannot be read, so its buttons are not noticed: {because}",
		"unplug the device and plug it in again",
	},

	DevicePlugged: {Message: "{product} is plugged in, as {endpoints}"},
	DevicesNone: {
		"no product of the catalogue is plugged in, as far as can be seen",
		"plug one in; if one is, see what 'sidetone devices' and the system's sound settings show, and try another cable or socket",
	},
	DevicesNoneYet: {
		"no product of the catalogue is plugged in, as far as can be seen",
		"run this again in some seconds, when all sources have answered",
	},
	DevicesNoneSeen: {
		"no product of the catalogue is plugged in, as far as can be seen",
		"look at the source that does not work first: what it would list is unknown",
	},
	DeviceWithheld: {
		`{type} "{subject}" is not reported: {reason}`,
		"if it should be reported, change endpoints, virtual_endpoints or id_scheme of its product in {path}; " +
			"'sidetone devices' shows its facts",
	},
	DeviceJackEmpty: {`{type} "{subject}" is not reported: {reason}`, "push the plug all the way into the jack"},
	DeviceNotKnown: {
		`"{subject}" (USB id {vid}:{pid}) is of this vendor, but no product of the catalogue matches it`,
		`if it is a product of yours, add the id "{pid}" to the pids of its link in {path}; if it is there, ` +
			"look at the link's kind, os and name_regex" +
			"[; then have the agent read it again (kill -HUP {agent}, or POST /v1/reload), which keeps the old one until then]",
	},
	DevicesOfOneID: {
		`{devices|device|devices} of type {type} go by the one id "{subject}" and are one to the client, ` +
			"which shows a mute only if all are muted",
		"unplug all but one, or give each a name of its own in the system's sound settings; the client then shows a mute of each",
	},
	DeviceNameLong: {
		`the name of "{subject}" has {bytes} bytes, of which {sent} are sent; the client may cut it at another place`,
		"give it a shorter name in the system's sound settings, if the client shows nothing for it",
	},
	DeviceNamedDefault: {
		`the name of "{subject}" begins with "default", and the client may take it for its entry "Default" and show nothing for it`,
		"rename it in the system's sound settings, so that its name begins with another word",
	},

	MuteKnown: {
		`the microphone "{subject}" is {muted?muted|not muted}{shared?| on the hardware}, says {origin}`,
		"press the button and run this again: if this line stays the same, that source does not see the button; see 'sidetone explain'",
	},
	MuteStale: {
		`that "{subject}" is {muted?muted|not muted}{shared?| on the hardware} is the last word of a source that fails now ({origin})`,
		"see why the source fails, above; until it works again a press of the button is not noticed",
	},
	MuteUnknown: {
		`nobody knows whether "{subject}" is muted, so the client is not told: {because}`,
		"see 'sidetone explain {endpoint}' and the sources of {product} in the catalogue",
	},
	MuteNotSent: {
		`the mute of "{subject}" is not sent: the setting report.fields leaves it out`,
		"add hardware_mute to report.fields in the settings" + reread,
	},
	MuteSourceless: {
		`the client is never told of a mute of "{subject}": the catalogue names no source for it, and nobody pushes it`,
		"if it has a mute button, name a source of hardware_mute for {product} in the catalogue, " +
			"or have the vendor's software push it ('sidetone push {product} hardware_mute=true')",
	},
	MuteInSoftware: {
		`the mute of "{subject}" is the one that the system does in software, as the catalogue allows; it says that the button moves it`,
		"nothing to do if the button of {model} is known to set it; else take out 'require_hardware_support: false'",
	},
	FlagsUnknown: {
		`of "{subject}" this is not sent, because the sources that the catalogue names do not know it: {flags}`,
		"nothing to do if the device has no such processing on this endpoint; else see 'sidetone explain {endpoint}', " +
			"or push it from the vendor's software",
	},

	WhyNotSaid:       {Message: "it does not know"},
	WhyRuleUnknown:   {Message: "its kind is not known, because {path} cannot be read or has changed since the agent read it"},
	WhyOtherUnit:     {Message: "the HID device that knows it is a part of another unit, as far as can be told"},
	WhyEffectUnknown: {Message: "the system does not say whether {effect} is active on this endpoint"},
	WhyMuteUnknown:   {Message: "the system does not tell the mute of this endpoint"},
	WhyMuteInSoftware: {
		"the system's mute of this endpoint is no switch in the device, and the catalogue demands one",
		"push the state from the vendor's software ('sidetone push {product} hardware_mute=true'); " +
			"only if the button is known to set this mute too, set 'require_hardware_support: false'",
	},
	WhyMixerUnreadable: {
		`the switches of the device's mixer cannot be read, such as "{control}"`,
		"look at what the source audio says above; if it may not open the sound card's controls, let this user read /dev/snd",
	},
	WhyControlValue: {Message: `the control "{control}" of the device's mixer is "{value}", which is neither on nor off in the catalogue`},
	WhyControlKind: {
		`the control "{control}" of the device's mixer is of another kind`,
		"a switch has neither 'on' nor 'off' in the catalogue, any other control has both",
	},
	WhyControlMissing: {
		`the device's mixer tells no one value of a control "{control}"[; of others it has {others}]`,
		"correct the name in the catalogue's {rule} of {product}" + reread,
	},
	WhySwitchMissing: {
		`the device's mixer has no switch "{control}"[; it has {others}]`,
		"correct the name in the catalogue's {rule} of {product}" + reread,
	},
	WhySwitchAmbiguous: {Message: `the channels of the switch "{control}" of the device's mixer differ, or it cannot be read`},
	WhyHIDUnreadable:   {"its HID device {node} cannot be read", "unplug the device and plug it in again"},
	WhyHIDRemark:       {"{node}: {remark}", "compare the source with what the device sends: 'sidetone learn' shows that"},
	WhyHIDMuteNotShown: {
		"the device ({node}) has not shown it since it was plugged in, or since the agent runs",
		"press the button once; if that does not help, unplug the device and plug it in again",
	},
	WhyHIDSwitchNotShown: {
		"the device ({node}) has not shown it since it was plugged in, or since the agent runs",
		"switch it once on the device",
	},
	WhyHIDNotRead: {
		"the agent reads no HID devices",
		"set sources.hid to true and restart the agent; on another system than Linux push the state from the vendor's software",
	},
	WhyHIDMissing: {Message: "no HID device of the product is there that sends what this source reads"},

	PushInForce: {
		Message: "what {subject} pushes for {product} is in force: {flags}[, for another {lease}]" +
			"{lease?|, for as long as its connection lives}",
	},
	PushWaits: {
		"what {subject} pushes for {product} waits: no such product is plugged in",
		"plug the product in; if it is, compare the product's id, and the serial, with what 'sidetone devices' shows",
	},
	PushOtherSerials: {
		"what {subject} pushes for {product} waits: what is plugged in of that product has other serial numbers: " +
			"[{serials}]{serials?|none is known}",
		"have the software give one of those, or plug that unit in",
	},
	PushAmbiguous: {
		"what {subject} pushes for {product} has no effect: {units|product|products} that are plugged in could be meant",
		"the software has to give the serial of the one that it means ([{serials}]{serials?|none is known}), " +
			"or say it again when the others are unplugged",
	},
	PushNoEffect: {
		"what {subject} pushes for {product} has no effect on {flags}: somebody who pushed later decides, or it is not sent at all",
		"'sidetone explain' of its microphone shows who decides; a flag may also be left out by report.fields, " +
			"and a product without a microphone has none",
	},

	ClientServed: {Message: "{subject} has accepted the latest list, of {devices|device|devices}, {age} ago"},
	ClientBehind: {"{subject} is connected, but has not accepted the latest list yet", again + "the client"},
	ClientLate: {
		"{subject} is told of changes late: it {latest?has the latest list|does not have the latest list yet}" +
			"[, and takes the next one in {wait}]",
		"allow ipc in rpc.transports, or have an origin registered and set it in the catalogue",
	},
	ClientSlow: {
		"{subject} hangs, and may show an older state: no answer for {age}[, may take for muted: {muted}]",
		"wait: the newest list is sent as soon as it answers; if it stays so, restart the client",
	},
	ClientConnecting: {
		"{subject} was found, but has no list yet: {other_way?what was tried last: |}[{because}]{because?|it has not answered yet}",
		again + "the client",
	},
	ClientUnsupported: {"{subject} does not know certified devices[: {because}]", "use the official client"},
	ClientRefuses: {
		"{subject} refuses[: {because}]",
		"restart the client; if it refuses again, save 'sidetone bundle FILE.zip --yes' for support",
	},
	ClientForeign: {"{subject} belongs to another user and is told nothing", "run an agent in that user's session"},
	ClientWaiting: {
		"{subject} is not served: another client is, or it may be the same one",
		"nothing to do if it is the client that is served already; to report to all, set rpc.clients to all",
	},
	ClientsSearched: {"the search for clients has just begun, none has been found yet", "run this again in some seconds"},
	ClientsMissing:  {"{because}", "start the client; it is found by itself"},
	ClientRemark:    {"where a client might be: {because}", "do as it says, then restart the client"},

	ClientNotReady: {"{reason}", "the client is not ready, for example at its login screen; the next try is automatic"},
	ClientBusy:     {"{reason}", "the client lets nobody in for now: others have used up its connections; the next try is automatic"},
	ClientIDRefused: {
		"{reason}",
		"check vendor.client_id in the catalogue; the client says the same when it cannot reach its own servers, " +
			"so the next try is automatic",
	},
	OriginRefused: {
		"{reason}",
		"set vendor.rpc_origin in the catalogue to an origin registered for the application, " +
			"unless another transport works, which is tried by itself",
	},
	TokenRevoked:    {"{reason}", "restart the client"},
	VersionRefused:  {"{reason}", "this client speaks another protocol version; update the agent"},
	EncodingRefused: {"{reason}", "this client speaks another encoding; update the agent"},
	NotAuthorized:   {"{reason}", "this transport needs an authorization that the application lacks; another one is tried"},
	ListRefused:     {"{reason}", "run 'sidetone catalogue check'; one bad device rejects the whole list"},
	BadData:         {"{reason}", "report this: the client did not understand the message"},
	CommandUnknown:  {"{reason}", "use the official client; this one does not know certified devices"},
	NotCertified:    {"{reason}", "use the official client; this one is tried again when it restarts"},
	NoAnswer:        {"{reason}", "the client did not greet or answer: it may hang or be busy; the next try is automatic"},
	Retried:         {"{reason}", "the next try is automatic"},
	ClientUnanswering: {
		"the client has not answered since {since}",
		"wait: the newest list is sent as soon as it answers; if it stays so, restart the client",
	},
	ClientOverHTTP: {
		"it is told over HTTP[: {reason}]",
		"over HTTP this client takes one update in {every}; " +
			"it needs IPC, or an origin that is registered and authorized, to be told at once",
	},
	ClientHeldBack: {
		"another client is served, or this may be the same one",
		"nothing to do: another client is served, or this may be the same one",
	},
	OwnerUnknown: {
		"whose the socket is cannot be told", "run the client and the agent as the same user, and neither of them as administrator",
	},
	OtherOwner: {"it belongs to user {owner}, the agent runs as user {own}", "run an agent in that user's session"},

	ClientsNone: {
		"no client found on {sockets?any IPC socket|}{both?, nor on |}[ports {ports} of 127.0.0.1][port {port} of 127.0.0.1]" +
			"[ (another program holds {held})]",
		"start the client; it is looked for again by itself",
	},
	NobodyThere:       {"{reason}", "start the client; it is looked for again by itself"},
	SocketUnreachable: {"{path}: {reason}", "do as it says, then restart the client"},
	PortHeld: {
		"port {port} is held by another program: {program}[: {reason}]",
		"nothing to do while a client is served; else end that program, then restart the client",
	},
	FolderUnreadable: {
		"{path} cannot be looked into for a client's socket ({reason}): let this user enter it, or leave it out of the folders",
		"do as it says, then restart the client",
	},
	SocketLinkBroken: {
		"{path} is a link that cannot be followed ({reason}): remove it, or let this user follow it",
		"do as it says, then restart the client",
	},
	SocketIsNone: {
		"{path} is {folder?a folder|}{file?a file|}{other?a pipe or a device|} and not a client's socket: remove it and restart the client",
		"do as it says, then restart the client",
	},

	UserInput: {
		`the client shows a mute of "{subject}" only while that is selected, and never while "Default" is`,
		`in the client's settings, Voice & Video, set the input device to "{subject}" itself`,
	},
	UserDefaultInput: {
		`"{subject}" is the system's default microphone: with "Default" the client records from it and still shows nothing, a likely trap`,
		`set it to "{subject}", although the sound is the same`,
	},
	UserInCall: {
		"the notice of a mute is shown only in a call, only if you are not muted in the client, and only if it is not switched off there",
		"join a voice channel, unmute yourself in the client, see that its settings do not switch the notice off, " +
			"then press the mute button of the device",
	},
}

# What every script of the package @NAME@ may call. It runs as root; what concerns a user is done as that user.

program=/usr/lib/@NAME@/@NAME@
enabled=/var/lib/@NAME@/enabled

# processes PROGRAM: those that run a program of the package, also one that an upgrade has replaced.
processes() {
	# One find, since a process for each one that runs takes seconds on a machine with many.
	find /proc/[0-9]*/exe -prune \( -lname "$1" -o -lname "$1[ .;]*" \) 2>/dev/null | while read -r exe; do
		# Those of a container, or outside this chroot, have the same path and belong to another system.
		# shellcheck disable=SC3013 # dash, bash and busybox have -ef
		[ "${exe%exe}root" -ef / ] || continue
		pid=${exe#/proc/} && echo "${pid%/exe}"
	done
}

# users PROGRAM: the ids of those whose processes they are.
users() {
	for pid in $(processes "$1"); do
		sed -n 's/^Uid:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$pid/status" 2>/dev/null || true
	done | sort -u
}

# managers: the ids of users who have a service manager.
managers() {
	for socket in /run/user/[0-9]*/systemd/private; do
		[ -S "$socket" ] || continue
		id=${socket#/run/user/}
		echo "${id%/systemd/private}"
	done
}

# as_user SECONDS UID COMMAND...: runs a command in the user's session, without this terminal. The limit is root's: a user could stop
# a process that runs as the user.
as_user() {
	seconds=$1 uid=$2
	shift 2
	entry=$(timeout -k 5 30 getent passwd "$uid") || return 1
	user=${entry%%:*}
	home=$(echo "$entry" | cut -d: -f6)
	set -- PATH=/usr/bin:/bin HOME="$home" "$@"
	[ ! -d "/run/user/$uid" ] || set -- XDG_RUNTIME_DIR="/run/user/$uid" "$@"
	setsid --wait timeout -k 5 "$seconds" runuser -u "$user" -- env -i "$@" </dev/null >/dev/null 2>&1
}

# everyone IDS SECONDS COMMAND...: as_user for each of them, all at once: who hangs keeps the others waiting no longer than that. It
# prints the ids of those for whom the command failed.
everyone() {
	ids=$1 limit=$2
	shift 2
	for id in $ids; do
		{ as_user "$limit" "$id" "$@" || echo "$id"; } &
	done
	wait
}

# reload: service managers and udev read what has changed.
reload() {
	everyone "$(managers)" 30 systemctl --user daemon-reload >/dev/null
	if [ -S /run/udev/control ]; then
		udevadm control --reload || true
		udevadm trigger --subsystem-match=hidraw --action=change || true
	fi
}

# installed: agents that run go on with the new program; the first time, they are enabled and started, unless a preset of the
# administrator says no. Whatever part of it was done before may be done again.
installed() {
	reload
	for id in $(everyone "$(users "$program")" 60 "$program" upgrade); do
		echo "@NAME@: the agent of user $id goes on as it was until the next log-in" >&2
	done
	[ ! -e "$enabled" ] || return 0
	command -v systemctl >/dev/null || return 0
	systemctl --global preset @NAME@.service >/dev/null 2>&1 || true
	if systemctl --global is-enabled --quiet @NAME@.service 2>/dev/null; then
		everyone "$(managers)" 30 systemctl --user start --no-block @NAME@.service >/dev/null
	fi
	mkdir -p "${enabled%/*}"
	: >"$enabled"
}

# end: no process of the package is left, and no client has a list of it.
end() {
	everyone "$(users "$program")" 30 "$program" stop --empty >/dev/null
	everyone "$(managers)" 30 systemctl --user stop @NAME@.service >/dev/null
	for signal in TERM TERM KILL; do
		left="$(processes "$program") $(processes "$program-tray")"
		[ "$left" != " " ] || break
		# shellcheck disable=SC2086 # several processes
		kill -s "$signal" $left 2>/dev/null || true
		# An agent takes 500 ms to say farewell.
		sleep 1
	done
	# What an administrator has disabled is not enabled again if the removal is broken off from here on.
	! systemctl --global is-enabled --quiet @NAME@.service 2>/dev/null || rm -f "$enabled"
	systemctl --global disable @NAME@.service >/dev/null 2>&1 || true
}

# removed: the files are gone, and nothing is remembered.
removed() {
	reload
	rm -f "$enabled"
	rmdir "${enabled%/*}" 2>/dev/null || true
}

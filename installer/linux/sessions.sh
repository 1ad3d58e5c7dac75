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

# reload: service managers and udev read what has changed.
reload() {
	for uid in $(managers); do
		as_user 30 "$uid" systemctl --user daemon-reload || true
	done
	if [ -S /run/udev/control ]; then
		udevadm control --reload || true
		udevadm trigger --subsystem-match=hidraw --action=change || true
	fi
}

# installed: agents that run go on with the new program; the first time, they are enabled and started. Whatever part of it was done
# before may be done again.
installed() {
	reload
	for uid in $(users "$program"); do
		as_user 200 "$uid" "$program" upgrade ||
			echo "@NAME@: the agent of user $uid goes on as it was until the next log-in" >&2
	done
	[ ! -e "$enabled" ] || return 0
	command -v systemctl >/dev/null || return 0
	systemctl --global preset @NAME@.service >/dev/null 2>&1 || true
	for uid in $(managers); do
		as_user 30 "$uid" systemctl --user start --no-block @NAME@.service || true
	done
	mkdir -p "${enabled%/*}"
	: >"$enabled"
}

# end: no process of the package is left, and no client has a list of it.
end() {
	for uid in $(users "$program"); do
		as_user 30 "$uid" "$program" stop --empty || true
	done
	for uid in $(managers); do
		as_user 30 "$uid" systemctl --user stop @NAME@.service || true
	done
	for signal in TERM TERM KILL; do
		left="$(processes "$program") $(processes "$program-tray")"
		[ "$left" != " " ] || break
		# shellcheck disable=SC2086 # several processes
		kill -s "$signal" $left 2>/dev/null || true
		# An agent takes 500 ms to say farewell.
		sleep 1
	done
	if command -v systemctl >/dev/null; then
		systemctl --global disable @NAME@.service >/dev/null 2>&1 || true
	fi
	rm -f "$enabled"
	rmdir "${enabled%/*}" 2>/dev/null || true
}

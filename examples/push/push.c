/* push.c tells Sidetone's agent whether the headset itself has muted its microphone.
   Linux: cc -o push push.c     Windows: cl push.c advapi32.lib     Usage: push PRODUCT true|false */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define VENDOR "acme" /* vendor.id in your catalogue */
#ifdef _WIN32
#include <windows.h>
#include <sddl.h>
#include <io.h>
#define read _read
#define write _write
static int dial(char *address, size_t size) { /* the pipe's name has this user's SID and session in it */
    union { TOKEN_USER owner; char room[256]; } user;
    HANDLE token, pipe;
    DWORD n;
    DWORD session;
    char *sid;
    if (!ProcessIdToSessionId(GetCurrentProcessId(), &session) || !OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) ||
        !GetTokenInformation(token, TokenUser, &user, sizeof user, &n) ||
        !ConvertSidToStringSidA(user.owner.User.Sid, &sid)) return -1;
    snprintf(address, size, "\\\\.\\pipe\\sidetone-" VENDOR "-%s-%lu", sid, session);
    WaitNamedPipeA(address, 5000); /* while others use it; at once where no agent runs */
    pipe = CreateFileA(address, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS, NULL);
    return pipe == INVALID_HANDLE_VALUE ? -1 : _open_osfhandle((intptr_t)pipe, 0);
}
#else
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
static int dial(char *address, size_t size) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = 10};
    const char *folder = getenv("XDG_RUNTIME_DIR");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address, size, "%s/sidetone/" VENDOR "/agent.sock", folder ? folder : "");
    snprintf(to.sun_path, sizeof to.sun_path, "%s", address);
    signal(SIGPIPE, SIG_IGN); /* an agent that ends must not end us */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return connect(fd, (struct sockaddr *)&to, sizeof to) ? -1 : fd;
}
#endif
static int fail(const char *what, const char *detail) { return fprintf(stderr, "push: %s%s\n", what, detail), 1; }

int main(int argc, char **argv) {
    char address[256] = "", body[128], request[512], answer[8192] = "", *text;
    int fd, n, got = 0;
    if (argc != 3 || (strcmp(argv[2], "true") && strcmp(argv[2], "false"))) return fail("usage: push PRODUCT true|false", "");
    /* A lease: say it again every 30 s, before ttl_ms runs out, and at once after a failure or on a new "instance" of the status. */
    snprintf(body, sizeof body, "{\"owner\": \"acme-suite\", \"ttl_ms\": 60000, \"state\": {\"hardware_mute\": %s}}", argv[2]);
    n = snprintf(request, sizeof request, "PUT /v1/states/%s HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                 argv[1], (int)strlen(body), body);
    if ((fd = dial(address, sizeof address)) < 0) return fail("no agent runs (start it with 'sidetone run'): ", address);
    if (n >= (int)sizeof request || write(fd, request, n) != n) return fail("cannot send to ", address);
    while (got < (int)sizeof answer - 1 && (n = read(fd, answer + got, sizeof answer - 1 - got)) > 0) got += n;
    text = strstr(answer, "\r\n\r\n"); /* HTTP/1.0: the answer ends where the connection does */
    if (!text || strncmp(answer + 8, " 200 ", 5)) return fail("the agent refuses: ", text ? text + 4 : "no answer");
    return printf("%s\n", text + 4) < 0;
}

// push.cpp tells Sidetone's agent whether the headset itself has muted its microphone.
// Linux: c++ -std=c++17 -o push push.cpp     Usage: push PRODUCT true|false
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static const char vendor[] = "acme"; // vendor.id in your catalogue

// ask sends a request to the agent and returns the whole answer.
static std::string ask(const std::string &request) {
    const char *folder = std::getenv("XDG_RUNTIME_DIR");
    const std::string address = std::string(folder ? folder : "") + "/sidetone/" + vendor + "/agent.sock";
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    if (address.size() >= sizeof to.sun_path) throw std::runtime_error("path too long: " + address);
    std::memcpy(to.sun_path, address.c_str(), address.size());

    struct Socket { // closes itself
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        ~Socket() { close(fd); }
    } agent;
    const timeval limit{10, 0};
    setsockopt(agent.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(agent.fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(agent.fd, reinterpret_cast<sockaddr *>(&to), sizeof to))
        throw std::runtime_error("no agent runs (start it with 'sidetone run'): " + address + ": " + std::strerror(errno));
    if (send(agent.fd, request.data(), request.size(), MSG_NOSIGNAL) != ssize_t(request.size()))
        throw std::runtime_error("cannot send to " + address + ": " + std::strerror(errno));
    std::string answer; // HTTP/1.0: it ends where the connection does
    char part[4096];
    for (ssize_t n; (n = read(agent.fd, part, sizeof part)) > 0;) answer.append(part, n);
    return answer;
}

// push returns the agent's answer, and throws if it refuses.
static std::string push(const std::string &product, const std::string &muted) {
    // A lease: say it again every 30 s, before ttl_ms runs out, and at once after a failure or on a new "instance" of the status.
    const std::string body = R"({"owner": "acme-suite", "ttl_ms": 60000, "state": {"hardware_mute": )" + muted + "}}";
    const std::string answer = ask("PUT /v1/states/" + product + " HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: " +
                                   std::to_string(body.size()) + "\r\n\r\n" + body);
    const auto head = answer.find("\r\n\r\n");
    if (head == std::string::npos) throw std::runtime_error("the agent refuses: no answer");
    if (answer.compare(8, 5, " 200 ") != 0) throw std::runtime_error("the agent refuses: " + answer.substr(head + 4));
    return answer.substr(head + 4);
}

int main(int argc, char **argv) try {
    if (argc != 3 || (std::strcmp(argv[2], "true") && std::strcmp(argv[2], "false"))) throw std::runtime_error("usage: push PRODUCT true|false");
    std::cout << push(argv[1], argv[2]) << '\n';
} catch (const std::exception &e) {
    std::cerr << "push: " << e.what() << '\n';
    return 1;
}

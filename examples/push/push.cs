// push.cs tells Sidetone's agent whether the headset itself has muted its microphone.
// Linux and Windows: dotnet new console, with this as Program.cs; or mcs -r:System.Core push.cs
// Usage: push PRODUCT true|false
using System;
using System.Diagnostics;
using System.IO;
using System.IO.Pipes;
using System.Net.Sockets;
using System.Security.Principal;
using System.Text;

static class Push {
    const string Vendor = "acme"; // vendor.id in your catalogue

    // Connects to the vendor's agent of this user.
    static Stream Dial() {
        string address = "";
        try {
            if (Environment.OSVersion.Platform == PlatformID.Win32NT) {
                address = "sidetone-" + Vendor + "-" + WindowsIdentity.GetCurrent().User.Value + "-" + Process.GetCurrentProcess().SessionId;
                var pipe = new NamedPipeClientStream(".", address, PipeDirection.InOut, PipeOptions.None, TokenImpersonationLevel.Anonymous);
                pipe.Connect(5000);
                return pipe;
            }
            address = Environment.GetEnvironmentVariable("XDG_RUNTIME_DIR") + "/sidetone/" + Vendor + "/agent.sock";
            var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified) { SendTimeout = 10000, ReceiveTimeout = 10000 };
            socket.Connect(new UnixDomainSocketEndPoint(address));
            return new NetworkStream(socket, true);
        } catch (Exception e) {
            throw new IOException("no agent runs (start it with 'sidetone run'): " + address + ": " + e.Message);
        }
    }

    // Returns the agent's answer, and throws if it refuses.
    static string Send(string product, string muted) {
        // A lease: say it again every 30 s, before ttl_ms runs out, and at once after a failure or on a new "instance" of the status.
        string body = "{\"owner\": \"acme-suite\", \"ttl_ms\": 60000, \"state\": {\"hardware_mute\": " + muted + "}}";
        byte[] request = Encoding.ASCII.GetBytes("PUT /v1/states/" + Uri.EscapeDataString(product) + " HTTP/1.0\r\n" +
            "Content-Type: application/json\r\nContent-Length: " + body.Length + "\r\n\r\n" + body);
        using (Stream agent = Dial()) {
            agent.Write(request, 0, request.Length);
            string answer = new StreamReader(agent).ReadToEnd(); // HTTP/1.0: it ends where the connection does
            int head = answer.IndexOf("\r\n\r\n", StringComparison.Ordinal);
            if (head < 0) throw new IOException("the agent refuses: no answer");
            if (answer.Substring(8, 5) != " 200 ") throw new IOException("the agent refuses: " + answer.Substring(head + 4));
            return answer.Substring(head + 4);
        }
    }

    static int Main(string[] args) {
        try {
            if (args.Length != 2 || (args[1] != "true" && args[1] != "false")) throw new ArgumentException("usage: push PRODUCT true|false");
            Console.WriteLine(Send(args[0], args[1]));
            return 0;
        } catch (Exception e) {
            Console.Error.WriteLine("push: " + e.Message);
            return 1;
        }
    }
}

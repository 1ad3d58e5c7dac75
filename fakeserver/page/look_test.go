package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

func TestCardsShowWhatIsReported(t *testing.T) {
	srv := client(t, fakeserver.Options{Name: "PTB"})
	b := open(t, show(t, srv), 1440, "light")
	b.Shows(".empty .lead", "No certified device is reported.")
	require.Equal(t, "PTB", b.Text("h2"))
	require.Equal(t, "documented", b.Text(".fact.profile dd"))
	require.Equal(t, strings.TrimPrefix(srv.URL(), "http://"), b.Text(".fact.address dd"))

	report(t, srv, list("n-1", headset(true), speaker, webcam))
	b.Until(`document.querySelectorAll(".card").length === 3`)
	const mic = ".card.audioinput "
	require.Equal(t, "Acme Headset 700", b.Text(mic+"h4"))
	require.Equal(t, "Acme Audio", b.Text(mic+".vendor"))
	require.Equal(t, "Microphone", b.Text(mic+".kind"))
	require.Equal(t, "✓ Certified", b.Text(mic+".badge"))
	require.Equal(t, "Hardware muted. Unmute on the device.", b.Text(mic+".notice"))
	require.Contains(t, b.Text(mic+".mute"), "only in a call")
	require.Equal(t, "Related\nAcme Headset 700 (speaker)", b.Text(mic+".related"))
	require.Contains(t, b.Text(mic+".id"), "Acme Headset 700 Mono")
	require.Equal(t, []string{
		"Echo cancellation On The client’s own switch is locked",
		"Noise suppression Off The client’s own switch is free",
		"Automatic gain control Unknown The client’s own switch is free",
	}, b.flags())
	var links []string
	b.Eval(`[...document.querySelectorAll(".card.audioinput a")].map((a) => a.href)`, &links)
	require.Equal(t, []string{"https://acme.example/headset-700", "https://acme.example/"}, links)

	require.Equal(t, "Speaker", b.Text(".card.audiooutput .kind"))
	require.Equal(t, "(none)", b.Text(".card.audiooutput .flags"))
	require.Equal(t, "Related\ngone (not in the list)", b.Text(".card.videoinput .related"))
	require.Equal(t, "3", b.Text(".devices .count"))

	report(t, srv, list("n-2", headset(false), speaker, webcam))
	b.Shows(mic+".mute-state", "Not muted on the device")
	b.Shows("#announce", "Acme Headset 700: no longer hardware muted")
	report(t, srv, list("n-3", headset(true)))
	b.Until(`document.querySelectorAll(".card").length === 1`)
	require.Contains(t, b.Text("#announce"), "Acme Headset 700: hardware muted")
	report(t, srv, list("n-4"))
	b.Shows(".empty .lead", "No certified device is reported.")
	b.Shows("#announce", "Acme Headset 700: no longer reported")
}

// flags are the voice features of the microphone, one line each.
func (b *tab) flags() (lines []string) {
	b.t.Helper()
	b.Eval(`[...document.querySelectorAll(".flags li")].map((li) => [...li.children].map((part) => part.innerText).join(" "))`, &lines)
	return lines
}

func TestTimelineTellsOfEachPayload(t *testing.T) {
	srv := client(t, fakeserver.Options{})
	b := open(t, show(t, srv), 1440, "light")
	report(t, srv, list("first", headset(false)))
	report(t, srv, list("second", headset(true)))
	report(t, srv, list("third", noVendor))
	report(t, srv, "{not json \u202e")
	b.Until(`document.querySelectorAll(".entry").length === 4`)

	var numbers []string
	b.Eval(`[...document.querySelectorAll(".entry")].map((li) => li.dataset.seq)`, &numbers)
	require.Equal(t, []string{"4", "3", "2", "1"}, numbers, "the newest first")
	entry := func(seq int) string { return b.Text(fmt.Sprintf(`[data-seq="%d"]`, seq)) }
	require.Contains(t, entry(1), "✓ Taken")
	require.Contains(t, entry(1), "HTTP")
	require.Contains(t, entry(1), "connection 1")
	require.Contains(t, entry(1), "nonce first")
	require.Contains(t, entry(2), "hardware_mute false → true")
	require.Contains(t, entry(3), "✕ Rejected")
	require.Contains(t, entry(3), "code 4000")
	require.Contains(t, entry(3), "devices[0].vendor: missing")
	require.Contains(t, entry(4), "code 1003")
	require.Contains(t, b.Text("#announce"), "Payload 3 rejected: devices[0].vendor: missing")
	require.Equal(t, "2", b.Text(".fact.rejected dd"))

	b.TabTo(`[data-seq="3"] summary`)
	b.Press(kb.Enter)
	b.Shows(`[data-seq="3"] pre`, "  \"nonce\": \"third\",\n")
	b.TabTo(`[data-seq="4"] summary`)
	b.Press(kb.Enter)
	b.Shows(`[data-seq="4"] pre`, `not JSON: "{not json \u202e"`)

	setFault(t, srv, "no-answer")
	conn := dial(t, srv) // over which nobody has to wait for an answer
	require.NoError(t, conn.WriteMessage(websocket.TextMessage,
		[]byte(list("fifth", `{"type":"audiooutput","id":"é","vendor":{},"model":{},"related":[],"hardware_mute":true}`))))
	b.Shows(`[data-seq="5"]`, "fault: no-answer")
	require.Contains(t, entry(5), "Warning: devices[0].hardware_mute: only for an audioinput device, ignored")
	require.Contains(t, entry(5), "Warning: message: non-ASCII byte")
}

func TestTimelineIsBounded(t *testing.T) {
	srv := client(t, fakeserver.Options{})
	for i := range maxShown + 5 {
		report(t, srv, list(fmt.Sprint(i), headset(i%2 == 0)))
	}
	b := open(t, show(t, srv), 1440, "light")
	b.Until(fmt.Sprintf(`document.querySelectorAll(".entry").length === %d`, maxShown))
	report(t, srv, list("last"))
	b.Shows(".entry", "nonce last")
	var n int
	b.Eval(`document.querySelectorAll(".entry").length`, &n)
	require.Equal(t, maxShown, n)
	require.Equal(t, fmt.Sprintf("latest %d of %d", maxShown, maxShown+6), b.Text(".received .count"))
}

func TestFaultsAndOrdersByKeyboard(t *testing.T) {
	srv := client(t, fakeserver.Options{})
	b := open(t, show(t, srv), 1440, "light")
	pressed := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll(".fault[aria-pressed=true]")].map((b) => b.textContent).join() === %q`, name)
	}
	fault := func() string { return srv.Fault().String() }
	b.Until(pressed("none"))

	b.TabTo(`[data-fault="squatter"] button`)
	b.Press(kb.Enter)
	b.Until(pressed("squatter"))
	require.Equal(t, "squatter", fault())
	require.Equal(t, "Active: squatter", b.Text(".active"))
	b.Press(" ")
	b.Until(pressed("none"))
	require.Equal(t, "none", fault())

	b.TabTo(`[data-fault="error"] button`)
	b.Press(kb.Enter)
	b.Until(pressed("error"))
	require.Equal(t, "error=4006:Not authenticated", fault())
	b.TabTo(`[data-fault="answer-late"] input`)
	b.Expect("422") // the browser reports the answer, rightly
	b.Press("1" + kb.Enter)
	b.Shows(".said", `cannot read "1"`)
	require.Equal(t, "error=4006:Not authenticated", fault())
	b.Press("m" + kb.Enter)
	b.Until(pressed("answer-late"))
	require.Equal(t, "answer-late=1m0s", fault())
	require.Empty(t, b.Text(".said"))

	setFault(t, srv, "3*http/bad-json")
	b.Until(pressed("bad-json"))
	require.Equal(t, "Active: 3*http/bad-json", b.Text(".active"))
	b.TabTo(`[data-fault="none"] button`)
	b.Press(kb.Enter)
	b.Until(pressed("none"))

	press := func(verb string) {
		b.Eval(fmt.Sprintf(`[...document.querySelectorAll(".verbs button")].find((b) => b.textContent === %q).focus()`, verb), nil)
		b.Press(kb.Enter)
	}
	press("Stop")
	b.Shows(".who .pill", "Stopped: the client is not there")
	require.False(t, srv.Running())
	press("Resume")
	b.Shows(".who .pill", "No reporter connected")
	require.True(t, srv.Running())
	report(t, srv, list("muted", headset(true)))
	b.Shows(".notice", "Hardware muted")
	press("Restart")
	b.Shows(".mute-state", "Not muted on the device") // as at each start of the client (rule R51)
	conn := dial(t, srv)
	b.Shows(".who .pill", "Connected over WebSocket")
	press("Drop connections")
	b.Shows(".who .pill", "No reporter connected")
	_, _, err := conn.ReadMessage()
	require.Error(t, err)
	press("Freeze")
	b.Shows(".who .pill", "Frozen: the client does nothing")
	require.True(t, srv.Frozen())
	press("Thaw")
	b.Shows(".who .pill", "No reporter connected")
	require.False(t, srv.Frozen())
}

// TestCardsOfAStoppedClientDoNotLookLive: nobody sees anything of a client that is not there.
func TestCardsOfAStoppedClientDoNotLookLive(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			srv := full(t)
			b := open(t, show(t, srv), 1080, scheme)
			b.Until(`document.querySelectorAll(".card").length === 3 && document.querySelector(".past").hidden`)
			look := func() (shown []string) {
				b.Eval(`[".card", ".mute", ".badge", ".state.on"].map((part) => {
					const style = getComputedStyle(document.querySelector(part));
					return [style.borderStyle, style.backgroundColor, style.color].join(" ");
				})`, &shown)
				return shown
			}
			live := look()
			srv.Stop()
			b.Until(`!document.querySelector(".past").hidden && document.querySelector(".client").classList.contains("gone")`)
			for i, part := range look() {
				require.NotEqual(t, live[i], part)
				require.Contains(t, part, "dashed")
			}
			b.fits()
			var weak []string
			b.Eval(contrasts, &weak)
			require.Empty(t, weak)
			require.NoError(t, srv.Resume())
			b.Until(`document.querySelector(".past").hidden && !document.querySelector(".client").classList.contains("gone")`)
		})
	}
}

func TestSeveralClientsAndApplications(t *testing.T) {
	stable, canary := client(t, fakeserver.Options{Name: "Stable"}), client(t, fakeserver.Options{})
	b := open(t, show(t, stable, canary), 1440, "light")
	report(t, stable, list("a", headset(true)))
	reportAs(t, stable, "876543210987654321", list("b", webcam))
	report(t, canary, list("c", noVendor))
	b.Until(`document.querySelectorAll(".client:not([hidden]) .card").length === 2`)
	b.Shows(".app", "Application 876543210987654321")
	b.Shows("#announce", "Payload 1 rejected")
	require.Equal(t, "Stable\nClient 2", strings.TrimSpace(b.Text("#clients")))

	b.Eval(`document.querySelectorAll(".tab")[1].focus()`, nil)
	b.Press(kb.Enter)
	b.Until(`document.querySelector(".tab[aria-current]").textContent === "Client 2"`)
	require.Equal(t, "Client 2", b.Text(".client:not([hidden]) h2"))
	require.Contains(t, b.Text(".client:not([hidden]) .timeline"), "devices[0].vendor: missing")
}

// The focus stays where it is when a card changes under it.
func TestFocusSurvivesAChange(t *testing.T) {
	srv := client(t, fakeserver.Options{})
	report(t, srv, list("1", headset(false), speaker))
	b := open(t, show(t, srv), 1440, "light")
	b.TabTo(".card.audioinput .vendor a")
	report(t, srv, list("2", headset(true), speaker))
	b.Shows(".notice", "Hardware muted")
	var still bool
	b.Eval(`document.activeElement.matches(".card.audioinput .vendor a")`, &still)
	require.True(t, still)
}

func TestSaysThatTheServerIsGone(t *testing.T) {
	p := show(t, client(t, fakeserver.Options{}))
	b := open(t, p, 360, "light")
	b.Expect("ERR_") // the browser reports what it cannot load, rightly
	require.NoError(t, p.Close())
	b.Shows("#live", "Connection lost. Trying again…")
	b.Eval(`document.querySelector(".fault").click()`, nil)
	b.Shows(".said", "The fake client cannot be reached.")
	b.Do(chromedp.Navigate("about:blank"))
}

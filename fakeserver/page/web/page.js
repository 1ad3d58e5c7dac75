// The live page of the fake client. It holds no truth: the server sends
// everything once and then each change, and what arrives is drawn.
"use strict";

const token = meta("page-token");
const start = meta("page-start");
const maxShown = 200; // payloads of one client
const stateWords = { on: "On", off: "Off", unknown: "Unknown" };

const clients = []; // a Client for each client
let chosen = 0;
let pending = false; // drawing is due

function meta(name) {
  return document.querySelector(`meta[name="${name}"]`).content;
}

// el makes an element. What comes from a device only ever becomes a text node.
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// foreign shows a text of unknown direction that cannot turn its surroundings around.
function foreign(text, attributes) {
  return el("bdi", attributes, text);
}

// wide reports whether there is room for the faults beside the rest.
function wide() {
  return matchMedia("(min-width: 1080px)").matches;
}

function count(n, noun) {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function announce(text) {
  const box = document.getElementById("announce");
  box.append(el("p", null, text));
  while (box.childElementCount > 5) box.firstElementChild.remove();
}

// ---- one client -------------------------------------------------------------

class Client {
  constructor(index, faults) {
    this.index = index;
    this.head = null;
    this.lists = [];
    this.waiting = []; // payloads that are not drawn yet
    this.latest = "none"; // when the last payload came, and how
    this.cards = new Map(); // by key: { node, source }
    this.fresh = true; // nothing was drawn yet, so nothing is news
    this.listsChanged = true;
    this.build(faults);
  }

  build(faults) {
    const id = (name) => `${name}-${this.index}`;
    this.name = el("h2", { id: id("name") });
    this.link = el("p", { class: "pill" });
    this.facts = {};
    const facts = el("dl", { class: "facts" });
    for (const [key, label] of [["profile", "Profile"], ["address", "TCP"], ["socket", "IPC socket"], ["payloads", "Payloads"], ["rejected", "Rejected"], ["latest", "Latest"]]) {
      this.facts[key] = el("dd");
      facts.append(el("div", { class: `fact ${key}` }, el("dt", null, label), this.facts[key]));
    }
    this.deviceCount = el("span", { class: "count" });
    this.devices = el("div", { class: "lists" });
    this.past = el("p", { class: "past", hidden: true }, "The client is stopped. This is what it held last; nothing of it is shown to anybody.");
    this.timelineCount = el("span", { class: "count" });
    this.timeline = el("ol", { class: "timeline" });
    this.timelineEmpty = el("p", { class: "empty small" }, "Nothing was received yet.");
    this.panel = el("section", { class: "client", "aria-labelledby": id("name") },
      el("div", { class: "head" }, el("div", { class: "who" }, this.name, this.link), facts),
      el("section", { class: "devices", "aria-labelledby": id("devices") },
        el("h3", { id: id("devices") }, "Certified devices ", this.deviceCount), this.past, this.devices),
      this.controls(id, faults),
      el("section", { class: "received", "aria-labelledby": id("received") },
        el("h3", { id: id("received") }, "Timeline ", this.timelineCount), this.timelineEmpty, this.timeline));
    this.tab = el("button", { type: "button", class: "tab" });
    this.tab.addEventListener("click", () => choose(this.index));
  }

  controls(id, faults) {
    this.said = el("p", { class: "said", role: "alert" });
    const verbs = el("div", { class: "verbs" });
    this.verbs = {};
    for (const [verb, label] of [["restart", "Restart"], ["stop", "Stop"], ["resume", "Resume"], ["drop", "Drop connections"], ["freeze", "Freeze"], ["thaw", "Thaw"]]) {
      const button = el("button", { type: "button" }, label);
      button.addEventListener("click", () => {
        if (button.getAttribute("aria-disabled") !== "true") this.order({ do: verb });
      });
      this.verbs[verb] = button;
      verbs.append(button);
    }
    this.activeFault = el("p", { class: "active" });
    this.faults = [];
    const list = el("ul", { class: "faults" });
    for (const fault of [{ name: "none", help: "the client behaves" }, ...faults]) list.append(this.fault(id, fault));
    return el("section", { class: "controls", "aria-labelledby": id("controls") },
      el("h3", { id: id("controls") }, "Controls"), verbs, this.said,
      this.activeFault, el("details", { class: "drawer", open: wide() }, el("summary", null, el("h3", null, "Faults")), list));
  }

  fault(id, fault) {
    const help = el("span", { class: "help", id: id(`help-${fault.name}`) }, fault.help);
    const button = el("button", { type: fault.want ? "submit" : "button", class: "fault", "aria-pressed": "false", "aria-describedby": help.id }, fault.name);
    const row = { name: fault.name, button, input: null, applied: null };
    const press = () => {
      const argument = row.input ? row.input.value.trim() : "";
      const same = button.getAttribute("aria-pressed") === "true" && (!row.input || row.applied === argument);
      row.applied = same ? null : argument;
      this.order({ do: "fault", fault: same ? "none" : row.input ? `${fault.name}=${argument}` : fault.name });
    };
    let face = button;
    if (fault.want) {
      row.input = el("input", { type: "text", value: fault.preset, "aria-label": `${fault.name}: ${fault.want}`, title: fault.want, autocomplete: "off", spellcheck: "false" });
      face = el("form", null, button, row.input);
      face.addEventListener("submit", (event) => {
        event.preventDefault();
        press();
      });
    } else {
      button.addEventListener("click", press);
    }
    this.faults.push(row);
    return el("li", { "data-fault": fault.name }, face, help);
  }

  // order has the server do something and says so when it does not.
  async order(what) {
    setText(this.said, "");
    try {
      const answer = await fetch("do", {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Page-Token": token },
        body: JSON.stringify({ client: this.index, ...what }),
      });
      if (!answer.ok) setText(this.said, (await answer.text()).trim());
    } catch {
      setText(this.said, "The fake client cannot be reached.");
    }
  }

  take(news) {
    this.head = news.head;
    if (news.lists !== undefined) {
      if (!this.fresh) this.announceMutes(this.lists, news.lists || []);
      this.lists = news.lists || [];
      this.listsChanged = true;
    }
    for (const payload of news.payloads || []) {
      if (!this.fresh && payload.rejected) {
        const reason = payload.reasons[0];
        announce(`Payload ${payload.seq} rejected: ${[reason.path, reason.text].filter(Boolean).join(": ")}`);
      }
      this.waiting.push(payload);
      this.latest = `${payload.time.slice(0, 8)} over ${payload.transport}`;
    }
    this.waiting.splice(0, this.waiting.length - maxShown);
    this.fresh = false;
  }

  // forget makes room for everything, which the server sends again.
  forget() {
    this.waiting = [];
    this.timeline.replaceChildren();
    this.fresh = true;
  }

  announceMutes(before, after) {
    const mutes = (lists) => new Map(lists.flatMap((list) => list.devices).filter((d) => d.mute).map((d) => [d.key, d]));
    const was = mutes(before);
    for (const [key, device] of mutes(after)) {
      const old = was.get(key);
      if (device.mute === "on" && (!old || old.mute !== "on")) announce(`${device.title}: hardware muted`);
      if (device.mute !== "on" && old && old.mute === "on") announce(`${device.title}: no longer hardware muted`);
    }
    for (const [key, device] of was) {
      if (device.mute === "on" && !mutes(after).has(key)) announce(`${device.title}: no longer reported`);
    }
  }

  draw() {
    this.drawHead();
    if (this.listsChanged) this.drawDevices();
    this.listsChanged = false;
    if (this.waiting.length > 0) this.drawTimeline();
    this.timelineEmpty.hidden = this.timeline.childElementCount > 0;
  }

  drawHead() {
    const head = this.head;
    setText(this.name, head.name);
    setText(this.tab, head.name);
    setText(this.link, head.link_text);
    this.link.className = `pill ${head.link}`;
    setText(this.facts.profile, head.profile);
    setText(this.facts.address, head.address);
    setText(this.facts.socket, head.socket);
    for (const key of ["profile", "address", "socket"]) this.facts[key].parentElement.hidden = head[key] === "";
    setText(this.facts.payloads, String(head.payloads));
    setText(this.facts.rejected, String(head.rejected));
    setText(this.facts.latest, this.latest);
    this.facts.rejected.parentElement.classList.toggle("bad", head.rejected > 0);
    setText(this.timelineCount, head.payloads > maxShown ? `latest ${maxShown} of ${head.payloads}` : "");
    setText(this.activeFault, head.fault_kind === "" ? "No fault: the client behaves." : `Active: ${head.fault}`);
    this.activeFault.classList.toggle("on", head.fault_kind !== "");
    for (const row of this.faults) {
      const pressed = row.name === (head.fault_kind || "none");
      row.button.setAttribute("aria-pressed", String(pressed));
      if (!pressed) row.applied = null;
    }
    this.panel.classList.toggle("gone", !head.running);
    this.past.hidden = head.running || this.lists.length === 0;
    const possible = {
      restart: true, stop: head.running, resume: !head.running, drop: head.running, freeze: head.running && !head.frozen, thaw: head.frozen,
    };
    for (const [verb, button] of Object.entries(this.verbs)) button.setAttribute("aria-disabled", String(!possible[verb]));
  }

  drawDevices() {
    const total = this.lists.reduce((sum, list) => sum + list.devices.length + (list.more || 0), 0);
    setText(this.deviceCount, total === 0 ? "" : String(total));
    const focus = this.devices.contains(document.activeElement) ? document.activeElement.dataset.place : null;
    const cards = new Map();
    const nodes = this.lists.map((list) => {
      const grid = el("ul", { class: "cards" });
      for (const device of list.devices) {
        const source = JSON.stringify(device);
        const old = this.cards.get(device.key);
        const card = old && old.source === source ? old : { source, node: cardOf(device) };
        cards.set(device.key, card);
        grid.append(card.node);
      }
      return el("div", { class: "list" },
        this.lists.length > 1 && el("p", { class: "app" }, "Application ", foreign(list.app)),
        grid,
        list.more && el("p", { class: "more" }, `and ${count(list.more, "more device")}; the raw JSON below has them all`));
    });
    this.cards = cards;
    this.devices.replaceChildren(...(total === 0 ? [nothing(this.head)] : nodes));
    if (focus) {
      const place = [...this.devices.querySelectorAll("[data-place]")].find((node) => node.dataset.place === focus);
      if (place) place.focus();
    }
  }

  drawTimeline() {
    for (const payload of this.waiting) this.timeline.prepend(entryOf(this.index, payload));
    this.waiting = [];
    while (this.timeline.childElementCount > maxShown) this.timeline.lastElementChild.remove();
  }
}

// nothing is shown in place of cards.
function nothing(head) {
  return el("div", { class: "empty" },
    el("p", { class: "lead" }, "No certified device is reported."),
    el("p", null, head.payloads === 0
      ? "Start the agent, or any reporter, and plug in a device of its catalogue. It finds this client by itself. Cards appear here as soon as a list is taken."
      : "The last list was empty, or none was taken yet. The timeline tells what was received and what was wrong with it."));
}

function cardOf(device) {
  const place = (name) => `${device.key} ${name}`;
  const model = device.model.name === undefined ? { ...device.model, name: device.title } : device.model;
  return el("li", { class: `card ${device.type}`, "data-key": device.key },
    el("div", { class: "card-head" },
      el("span", { class: device.mute === "on" ? "icon muted" : "icon", "aria-hidden": "true" }, el("i")),
      el("div", { class: "what" },
        el("p", { class: "kind" }, device.word),
        el("h4", null, linked(model, place("model"))),
        linkable(device.vendor) && el("p", { class: "vendor" }, linked(device.vendor, place("vendor")))),
      el("span", { class: "badge" }, el("span", { "aria-hidden": "true" }, "✓ "), "Certified")),
    muteOf(device),
    device.flags && el("ul", { class: "flags" }, ...device.flags.map(flagOf)),
    device.related && el("div", { class: "related" }, el("span", { class: "label" }, "Related"),
      el("ul", null, ...device.related.map(relatedOf), device.more && el("li", null, `and ${device.more} more`))),
    el("p", { class: "id" }, el("span", { class: "label" }, "Id"), el("code", null, foreign(device.id))));
}

function linkable(named) {
  return named.name !== undefined || named.href !== undefined || named.text !== undefined;
}

// linked is a name; a link only when the server found its address to be of the web.
function linked(named, place) {
  const parts = document.createDocumentFragment();
  const name = named.name || named.href;
  if (named.href) {
    parts.append(el("a", { href: named.href, target: "_blank", rel: "noopener noreferrer nofollow", "data-place": place }, foreign(name)));
  } else if (name) {
    parts.append(foreign(name));
  }
  if (named.text) parts.append(el("span", { class: "no-link" }, "No web address: ", foreign(named.text)));
  return parts;
}

function muteOf(device) {
  switch (device.mute) {
    case "on":
      return el("div", { class: "mute" },
        el("p", { class: "notice" }, "Hardware muted. Unmute on the device."),
        el("p", null, "The real client shows this only in a call, and only when this very device is selected as input, not “Default”."));
    case "off":
      return el("p", { class: "mute-state" }, "Not muted on the device");
    case "unknown":
      return el("p", { class: "mute-state" }, "Hardware mute is not reported");
  }
  return null;
}

function flagOf(flag) {
  return el("li", null,
    el("span", { class: "flag-name" }, flag.name),
    el("span", { class: `state ${flag.state}` }, stateWords[flag.state]),
    el("span", { class: "switch" }, flag.state === "on" ? "The client’s own switch is locked" : "The client’s own switch is free"));
}

function relatedOf(other) {
  return other.word
    ? el("li", null, foreign(other.name), ` (${other.word})`)
    : el("li", null, el("code", null, foreign(other.name)), " (not in the list)");
}

function entryOf(client, payload) {
  const verdict = payload.rejected ? "Rejected" : "Taken";
  const raw = el("pre", { tabindex: "0", role: "group", "aria-label": `Raw JSON of payload ${payload.seq}` }, "Loading…");
  const details = el("details", null, el("summary", null, "Raw JSON", el("span", { class: "unseen" }, ` of payload ${payload.seq}`)), raw);
  let asked = false;
  details.addEventListener("toggle", async () => {
    if (asked || !details.open) return;
    asked = true;
    try {
      const answer = await fetch(`raw?client=${client}&seq=${payload.seq}`);
      raw.textContent = await answer.text();
    } catch {
      asked = false;
      raw.textContent = "The fake client cannot be reached.";
    }
  });
  return el("li", { class: payload.rejected ? "entry rejected" : "entry", "data-seq": String(payload.seq) },
    el("p", { class: "line" },
      el("time", { datetime: payload.stamp }, payload.time),
      el("span", { class: "verdict" }, el("span", { "aria-hidden": "true" }, payload.rejected ? "✕ " : "✓ "), verdict),
      el("span", { class: "chip" }, payload.transport),
      payload.code ? el("span", { class: "chip code" }, `code ${payload.code}`) : null,
      payload.fault && el("span", { class: "chip faulty" }, `fault: ${payload.fault}`)),
    payload.change && el("p", { class: "change" }, foreign(payload.change)),
    reasonsOf(payload.reasons, "reasons"),
    reasonsOf(payload.warnings, "warnings", "Warning: "),
    el("p", { class: "meta" },
      `connection ${payload.conn} · ${count(payload.bytes, "byte")} · nonce `, payload.nonce ? el("code", null, foreign(payload.nonce)) : "none",
      " · application ", payload.app ? el("code", null, foreign(payload.app)) : "none"),
    details);
}

function reasonsOf(reasons, kind, label) {
  if (!reasons) return null;
  return el("ul", { class: kind }, ...reasons.map((reason) => el("li", null,
    label && el("strong", null, label),
    reason.path && el("code", null, foreign(reason.path)), reason.path && ": ", foreign(reason.text))));
}

// ---- all clients ------------------------------------------------------------

function choose(index) {
  chosen = index;
  for (const client of clients) {
    client.panel.hidden = client.index !== chosen;
    if (client.index === chosen) client.tab.setAttribute("aria-current", "true");
    else client.tab.removeAttribute("aria-current");
  }
}

function everything(message) {
  if (message.start !== start) {
    location.reload(); // another start of the server: its token and perhaps its page differ
    return;
  }
  if (clients.length === 0) {
    for (const news of message.clients) clients.push(new Client(news.client, message.faults));
    document.getElementById("main").replaceChildren(...clients.map((client) => client.panel));
    const tabs = document.getElementById("clients");
    tabs.replaceChildren(...clients.map((client) => client.tab));
    tabs.hidden = clients.length < 2;
    choose(0);
  } else {
    for (const client of clients) client.forget();
  }
  change(message);
}

function change(message) {
  for (const news of message.clients) clients[news.client].take(news);
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    for (const client of clients) client.draw();
  });
}

function live(state, text) {
  const pill = document.getElementById("live");
  pill.className = `pill ${state}`;
  setText(pill, text);
}

const source = new EventSource("events");
source.addEventListener("state", (event) => {
  live("connected", "Live");
  everything(JSON.parse(event.data));
});
source.addEventListener("change", (event) => change(JSON.parse(event.data)));
source.addEventListener("error", () => {
  if (source.readyState === EventSource.CLOSED) live("stopped", "Disconnected. Load the page again.");
  else live("stopped", "Connection lost. Trying again…");
});

// Keeps the page as its server sees what runs. Only parts that changed are replaced, so that
// the page does not grow, scroll or lose the reader's place. data-shows names what of a state
// the page shows: all that runs, or what of it confirms a suspect of a history.
(() => {
  "use strict";
  const main = document.querySelector("main[data-events]"), shows = main.dataset.shows;
  const live = document.getElementById("live"), link = document.getElementById("link"), says = document.getElementById("says");
  const texts = { live: "Live.", lost: "Connection lost; trying again.", refused: "The server refuses this page: reload it.", waiting: "Connecting …" };
  const show = (state) => { link.dataset.state = state; link.textContent = texts[state]; };
  let source = null, spoken = 0;

  // keeping does what replaces parts of the page, and gives the keyboard its place back: the link
  // that had the focus, or what stands in its part now.
  function keeping(change) {
    const held = document.activeElement;
    if (!live.contains(held)) return change();
    const part = held.closest("[data-part]"), run = held.closest("section");
    change();
    if (live.contains(held)) return;
    const same = [...live.querySelectorAll("a,[tabindex]")].find((x) => ["href", "aria-label"].every((k) => x.getAttribute(k) === held.getAttribute(k)));
    const there = run && part && document.getElementById(run.id) && document.getElementById(run.id).querySelector(`[data-part="${part.dataset.part}"] a`);
    if (same || there) (same || there).focus({ preventScroll: true });
  }

  // The marks of a plan are one stop of the Tab key; arrows lead along them.
  live.addEventListener("keydown", (e) => {
    const mark = e.target.closest(".strip a"), all = mark && [...mark.closest(".strip").querySelectorAll("a")];
    const to = mark && { ArrowRight: all.indexOf(mark) + 1, ArrowLeft: all.indexOf(mark) - 1, Home: 0, End: all.length - 1 }[e.key];
    if (to === undefined || to === null || !all[to]) return;
    e.preventDefault();
    all[to].focus();
  });

  function renew(html) {
    const next = document.createElement("div");
    next.innerHTML = html; // made by the server's templates, which escape all that studies and stacks say
    // One that is not under way any more has a verdict, which the figures of a new page show.
    for (const e of live.querySelectorAll("[data-confirms]")) {
      if (![...next.querySelectorAll("[data-confirms]")].some((x) => x.dataset.confirms === e.dataset.confirms)) return location.reload();
    }
    keeping(() => replace(next));
  }

  function replace(next) {
    const shape = (root) => [...root.querySelectorAll("[data-part]")].map((e) => e.dataset.part).join(" ");
    if (shape(live) !== shape(next)) return live.replaceChildren(...next.childNodes);
    const old = live.querySelectorAll("[data-part]");
    next.querySelectorAll("[data-part]").forEach((e, i) => { if (!e.isEqualNode(old[i])) old[i].replaceWith(e); });
  }

  // At most every 10 s is anything said aloud.
  function speak(text) {
    if (Date.now() - spoken < 10000 || says.textContent === text) return;
    spoken = Date.now();
    says.textContent = text;
  }

  function open() {
    if (source || document.hidden) return;
    show("waiting");
    source = new EventSource(main.dataset.events);
    source.onopen = () => show("live");
    source.addEventListener("state", (e) => { const x = JSON.parse(e.data); renew(x[shows]); speak(x.says); });
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return show("lost");
      // The server answered, and not with a stream: too many pages watch, or it has a new token.
      close();
      show("refused");
      setTimeout(open, 5000);
    };
  }
  function close() {
    if (source) source.close();
    source = null;
  }
  // A hidden page holds no connection: browsers open six to a server.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
})();

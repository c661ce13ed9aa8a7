// Keeps text and form of a study alike while one of them is edited, says what keeps it from
// running, and suggests words. The server does the work; without this script its buttons do.
(() => {
  "use strict";
  const form = document.getElementById("study"), text = document.getElementById("text");
  const suggest = document.getElementById("suggest");
  let words = [], turn = 0, timer = 0;

  // ask sends the form, and shows what the server makes of it unless it was changed meanwhile.
  async function ask(doing) {
    const mine = ++turn, sent = text.value, body = new URLSearchParams(new FormData(form));
    body.set("do", doing);
    const answer = await fetch(form.action, { method: "POST", body }).catch(() => null);
    const say = document.getElementById("done");
    if (!answer || !answer.ok) return void (say.textContent = "The server does not answer: " + (answer ? answer.status : "it is gone"));
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== turn || text.value !== sent) return;
    say.textContent = next.getElementById("done").textContent;
    form.elements.key.value = next.querySelector("[name=key]").value;
    if (doing === "apply") text.value = next.getElementById("text").value;
    const focused = document.activeElement && document.activeElement.name;
    for (const id of ["answer", "fields", "agree"]) {
      const old = document.getElementById(id), fresh = next.getElementById(id);
      if (old && fresh && !old.isEqualNode(fresh)) old.replaceChildren(...fresh.childNodes);
    }
    const again = focused && document.activeElement === document.body && form.elements[focused];
    if (again && again.focus) again.focus();
    form.dataset.turn = turn;
  }
  const soon = (doing) => { clearTimeout(timer); timer = setTimeout(() => ask(doing), 200); };

  text.addEventListener("input", () => { soon("look"); complete(); });
  for (const kind of ["keyup", "click"]) text.addEventListener(kind, complete);
  form.addEventListener("change", (e) => {
    if (e.target.name === "value" && !form.elements.add.value) return;
    if (e.target.name === "value" || (e.target.name || "").startsWith("set.")) soon("apply");
  });
  form.addEventListener("submit", (e) => {
    const doing = e.submitter ? e.submitter.value : "apply"; // Enter in a line of the form
    if (doing === "save" || doing === "start") return;
    e.preventDefault();
    clearTimeout(timer);
    ask(doing);
  });

  // A fault leads to its line.
  form.addEventListener("click", (e) => {
    const link = e.target.closest("a[data-line]");
    if (!link) return;
    e.preventDefault();
    const lines = text.value.split("\n"), n = Number(link.dataset.line) - 1;
    const from = lines.slice(0, n).reduce((sum, x) => sum + x.length + 1, 0);
    text.focus();
    text.setSelectionRange(from, from + (lines[n] || "").length);
    text.scrollTop = (n - 3) * (text.scrollHeight / lines.length);
  });

  // under are the words that may stand at a line: those below the key it is indented under.
  function under(before) {
    const lines = before.split("\n"), indent = lines[lines.length - 1].match(/^ */)[0].length;
    if (!indent) return words;
    for (const line of lines.reverse().slice(1)) {
      const key = line.match(/^( *)([\w.-]+):/);
      if (key && key[1].length < indent) return (words.find((w) => w.key === key[2]) || {}).inside || [];
    }
    return [];
  }

  // complete shows what may be written at the caret.
  function complete() {
    const at = text.selectionStart, before = text.value.slice(0, at), line = before.slice(before.lastIndexOf("\n") + 1);
    const key = line.match(/^ *([\w.-]*)$/), value = line.match(/^ *([\w.-]+): *(?:\[(?:[^\]]*, *)?)?([\w.-]*)$/);
    const item = line.match(/^ *- ([\w.-]*)$/);
    let found = [], begun = "", tail = "";
    const has = (k) => !line.startsWith(" ") && text.value.split("\n").some((l) => l.startsWith(k + ":"));
    if (key) [found, begun, tail] = [under(before).map((w) => w.key).filter((k) => !has(k)), key[1], ": "];
    else if (value) [found, begun] = [(under(before).find((w) => w.key === value[1]) || {}).options || [], value[2]];
    else if (item) {
      const parent = before.split("\n").reverse().find((x) => /^ *[\w.-]+:\s*$/.test(x)) || "";
      begun = item[1];
      for (const w of words) for (const x of [w, ...(w.inside || [])]) if (x.key === parent.trim().slice(0, -1)) found = x.options || found;
    }
    found = found.filter((x) => x.startsWith(begun) && x !== begun).slice(0, 12);
    suggest.hidden = !found.length;
    suggest.replaceChildren(...found.map((x) => {
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = x;
      b.tabIndex = -1; // Tab leads past them to the buttons
      b.addEventListener("click", () => {
        text.setRangeText(x + tail, at - begun.length, at, "end");
        text.focus();
        text.dispatchEvent(new Event("input"));
      });
      return b;
    }));
  }
  text.addEventListener("keydown", (e) => {
    if (e.key === " " && e.ctrlKey && !suggest.hidden) { e.preventDefault(); suggest.firstChild.focus(); }
  });
  suggest.addEventListener("keydown", (e) => {
    if (e.key === "Escape") return text.focus();
    const to = { ArrowRight: "nextElementSibling", ArrowDown: "nextElementSibling", ArrowLeft: "previousElementSibling", ArrowUp: "previousElementSibling" }[e.key];
    if (!to || !e.target[to]) return;
    e.preventDefault();
    e.target[to].focus();
  });
  document.getElementById("keys").hidden = false;
  fetch("words.json").then((a) => a.json()).then((w) => { words = w; form.dataset.words = w.length; }).catch(() => {});
})();

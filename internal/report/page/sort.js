// A click on a column's head sorts its table, another turns it round.
(() => {
  "use strict";
  const factor = { G: 1e9, M: 1e6, k: 1e3, m: 1e-3, "µ": 1e-6, n: 1e-9, p: 1e-12, f: 1e-15 };
  // The number a cell begins with, its prefix minded: 12.3 µs; text if there is none.
  function key(cell) {
    const text = cell.textContent.trim();
    const m = /^[±×]?[<>]?([-−]?[\d.]+(?:e[-+]?\d+)?)\s*(?:([GMkmµnpf])(?=[A-Za-z/]))?/.exec(text);
    const n = m ? Number(m[1].replace("−", "-")) : NaN; // 802.15.4 is none
    return Number.isNaN(n) ? text : n * (factor[m[2]] || 1);
  }
  const empty = (k) => k === "" || k === "–";
  function compare(a, b) {
    const numbers = (typeof b === "number") - (typeof a === "number");
    return numbers || (typeof a === "number" ? a - b : a.localeCompare(b));
  }
  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0];
    if (!table.tHead || !body || body.rows.length < 2) continue;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const h of heads) h.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", turn === 1 ? "ascending" : "descending");
        const rows = [...body.rows].map((row) => [key(row.cells[column]), row]);
        rows.sort(([a], [b]) => empty(a) - empty(b) || (empty(a) ? 0 : turn * compare(a, b)));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }
})();

// The approval card. Text from the model or a tool enters only through textContent.

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function bodyOf(view) {
  const pre = element("pre", "mewcode-approval-body");
  pre.tabIndex = 0;
  pre.setAttribute("aria-label", view.tool);
  if (view.language !== "diff") {
    pre.textContent = view.body;
    return pre;
  }
  const lines = view.body.split("\n");
  // The file names before the first hunk begin with the same marks as changes.
  const start = lines.findIndex((line) => line.startsWith("@@ "));
  for (const [index, line] of lines.entries()) {
    const mark = index < start ? "" : { "+": "added", "-": "removed" }[line[0]] || "";
    pre.append(element("span", mark && `mewcode-approval-${mark}`, line + "\n"));
  }
  return pre;
}

function render({ model, el }) {
  const view = model.get("view");
  const words = view.words;
  const card = element("section", "mewcode-approval");
  card.setAttribute("role", "group");
  card.setAttribute("aria-label", `${words.card_title} ${view.title}`);
  const head = element("div", "mewcode-approval-head");
  head.append(element("strong", "", words.card_title), element("span", "", ` ${view.title}`));
  head.append(element("span", "mewcode-approval-tool", ` (${words.tool}: ${view.tool})`));
  card.append(head);
  if (view.risks.length) {
    const risks = element("ul", "mewcode-approval-risks");
    risks.setAttribute("aria-label", words.risks);
    for (const risk of view.risks) risks.append(element("li", "", risk));
    card.append(element("div", "mewcode-approval-warning", `${words.risks}:`), risks);
  }
  if (view.body) card.append(bodyOf(view));
  if (view.rest) card.append(element("p", "mewcode-approval-warning", view.rest));

  const reason = element("input", "mewcode-approval-reason");
  reason.type = "text";
  reason.maxLength = 500;
  reason.placeholder = words.reason;
  reason.setAttribute("aria-label", words.reason);
  const status = element("span", "mewcode-approval-status");
  status.setAttribute("role", "status");

  const buttons = [];
  let used = false;
  // A page that is loaded again gets no outputs of a running cell: the kernel would wait in vain.
  const gone = () => model.send({ kind: "gone", nonce: view.nonce });
  // That word may be lost with the connection, and a killed page says none: the kernel asks too. A
  // reply to a message comes from a hidden tab as well, where timers are slowed down.
  const alive = (content) => {
    if (content.kind !== "ping" || content.nonce !== view.nonce || used) return;
    model.send({ kind: "pong", nonce: view.nonce });
  };
  function close(text) {
    used = true;
    window.removeEventListener("pagehide", gone);
    status.textContent = text;
    reason.disabled = true;
    for (const button of buttons) button.setAttribute("aria-disabled", "true");
  }
  function answer(kind, label) {
    if (used || model.get("closed")) {
      status.textContent = words.closed;
      return;
    }
    close(words.sent.replace("{answer}", label));
    model.send({ kind: "answer", nonce: view.nonce, answer: kind, reason: reason.value });
  }
  const row = element("div", "mewcode-approval-row");
  function add(kind, label, hint) {
    const button = element("button", `mewcode-approval-${kind}`, label);
    button.type = "button";
    if (hint) button.title = hint;
    button.addEventListener("click", () => answer(kind, label));
    buttons.push(button);
    row.append(button);
  }
  add("allow", words.allow, "");
  if (view.covers) add("session", words.session, view.covers);
  add("deny", words.deny, "");
  card.append(row, reason, status);
  const notes = view.covers ? `${words.keys} ${words.session}: ${view.covers}.` : words.keys;
  card.append(element("div", "mewcode-approval-note", notes));

  // Front ends listen on the document while the event comes down (d d deletes the cell), so keys of
  // the card are taken at the window, before them. The card's own two do no harm outside it.
  function key(event) {
    if (!card.contains(event.target)) return;
    event.stopPropagation();
    if (event.target === reason || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "y") answer("allow", words.allow);
    if (event.key === "n") answer("deny", words.deny);
  }
  window.addEventListener("keydown", key, true);
  window.addEventListener("pagehide", gone);
  const closed = () => {
    if (model.get("closed")) close(model.get("closed"));
  };
  model.on("change:closed", closed);
  model.on("msg:custom", alive);
  closed();
  el.replaceChildren(card);
  // The front end attaches the element after this function has returned.
  const frame = requestAnimationFrame(() => card.scrollIntoView({ block: "nearest" }));
  model.send({ kind: "rendered", nonce: view.nonce });
  return () => {
    cancelAnimationFrame(frame);
    window.removeEventListener("keydown", key, true);
    window.removeEventListener("pagehide", gone);
    model.off("change:closed", closed);
    model.off("msg:custom", alive);
  };
}

export default { render };

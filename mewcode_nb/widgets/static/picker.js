// The session picker. Text from sessions enters only through textContent; live.js comes before this.

const ROW = 52;
const FOUND_ROW = 72;
const LIST_ROWS = 7;
const SPARE = 4;
const PREVIEW_DELAY = 120;
const PING_EVERY = 20_000;
const BIGGEST_FIRST = ["active", "created", "bytes", "turns"];

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function fill(pattern, values) {
  return pattern.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key]) : whole));
}

function fold(text) {
  return text.normalize("NFKC").toLowerCase();
}

function termsOf(query) {
  return fold(query).split(/\s+/).filter(Boolean);
}

function nameOf(row) {
  return row.title || row.prompt || row.id;
}

function entryOf(row) {
  const parts = [row.title, row.prompt, row.notebook, row.branch, row.model, row.id];
  return { row, hay: fold(parts.filter(Boolean).join("\n")) };
}

function sorted(entries, by) {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const order = BIGGEST_FIRST.includes(by)
    ? (a, b) => (b.row[by] || 0) - (a.row[by] || 0)
    : (a, b) => collator.compare(nameOf(a.row), nameOf(b.row));
  const pinned = (entry) => (entry.row.pinned ? 0 : 1);
  return [...entries].sort((a, b) => pinned(a) - pinned(b) || order(a, b));
}

function highlighted(className, text, terms) {
  const node = element("span", className);
  const low = text.toLowerCase();
  let at = 0;
  // Folding may change the length of a text; then the places found would be wrong.
  while (low.length === text.length && at < text.length) {
    const next = terms
      .map((term) => [low.indexOf(term, at), term.length])
      .filter(([place]) => place >= 0)
      .sort((a, b) => a[0] - b[0] || b[1] - a[1])[0];
    if (!next) break;
    node.append(text.slice(at, next[0]), element("mark", "", text.slice(next[0], next[0] + next[1])));
    at = next[0] + next[1];
  }
  node.append(text.slice(at));
  return node;
}

function metaOf(row, words) {
  const turns = row.turns || 0;
  return [
    row.age,
    turns === 1 ? words.turn : fill(words.turns, { count: turns }),
    row.tokens && fill(words.tokens, { count: row.tokens }),
    row.size,
    row.model,
    row.notebook,
    row.branch,
  ].filter(Boolean).join(" · ");
}

function marksOf(row, words) {
  const marks = [];
  if (row.pinned) marks.push([words.pinned, ""]);
  if (row.live) marks.push([words.live, ""]);
  if (row.fork) marks.push([words.fork_mark, ""]);
  const bad = row.unreadable ? words.unreadable : words.damaged;
  if (row.unreadable || row.damage) marks.push([row.damage ? `${bad}: ${row.damage}` : bad, "bad"]);
  return marks;
}

// The parts of the picker that stay, and the words on them.
function buildParts(view) {
  const { words } = view;
  const uid = `mewcode-picker-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
  const root = element("section", "mewcode-picker");
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", words.title);

  const head = element("div", "mewcode-picker-head");
  const count = element("span", "mewcode-picker-count");
  count.setAttribute("role", "status");
  head.append(element("span", "mewcode-picker-title", words.title), count);

  const filter = element("input", "mewcode-picker-filter");
  Object.assign(filter, { type: "text", placeholder: words.filter, maxLength: view.query_length });
  Object.assign(filter, { autocomplete: "off", spellcheck: false });
  const aria = { role: "combobox", "aria-label": words.filter, "aria-autocomplete": "list" };
  for (const [name, value] of Object.entries(aria)) filter.setAttribute(name, value);
  filter.setAttribute("aria-controls", uid);

  function choice(label, names, prefix, value) {
    const box = element("label", "", label);
    const select = element("select", "");
    for (const name of names) {
      const option = element("option", "", words[`${prefix}_${name}`]);
      option.value = name;
      select.append(option);
    }
    select.value = value;
    box.append(select);
    return [box, select];
  }
  const [sortBox, sort] = choice(words.sort, ["active", "created", "title", "bytes", "turns"], "sort", "active");
  const [scopeBox, scope] = choice(words.scope, ["notebook", "folder", "project"], "scope", view.scope);
  const tools = element("div", "mewcode-picker-tools");
  const search = element("button", "", words.search);
  search.type = "button";
  search.title = words.search_hint;
  const order = element("span", "mewcode-picker-order");
  order.append(sortBox, scopeBox);
  tools.append(filter, search, order);

  const list = element("div", "mewcode-picker-list");
  list.id = uid;
  list.tabIndex = -1;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", words.list);
  const rows = element("div", "mewcode-picker-rows");
  rows.setAttribute("role", "presentation");
  list.append(rows);
  const empty = element("div", "mewcode-picker-empty");
  const actions = element("div", "mewcode-picker-actions");
  const preview = element("div", "mewcode-picker-preview");
  preview.setAttribute("role", "region");
  preview.tabIndex = 0;
  const error = element("div", "mewcode-picker-error");
  error.setAttribute("role", "alert");
  const toast = element("div", "mewcode-picker-toast");
  toast.setAttribute("role", "status");
  const help = element("div", "mewcode-picker-help");
  help.setAttribute("role", "note");
  help.setAttribute("aria-label", words.help);
  for (const key of Object.keys(words).filter((name) => name.startsWith("key_"))) {
    help.append(element("span", "", words[key]));
  }
  for (const part of [empty, preview, error, toast]) part.hidden = true;
  root.append(head, tools, list, empty, actions, preview, error, toast, help);
  return { uid, root, count, filter, search, sort, scope, list, rows, empty, actions, preview, error, toast };
}

function render({ model, el }) {
  const view = model.get("view");
  const standIn = (bundle) => el.replaceChildren(element("pre", "", bundle["text/plain"] || ""));
  if (model.get("settled")) return watchEnd(model, standIn);
  const { words } = view;
  const parts = buildParts(view);
  const { root, filter, list } = parts;
  const state = {
    entries: view.rows.map(entryOf), // of the scope, as the kernel gave them
    ordered: [],
    shown: [], // what the filter or the search leaves
    at: 0, // index of the selected one
    top: 0, // the list's scroll position
    moved: false, // by arrow keys since the last typed character: then Space previews
    found: null, // a full-text search
    number: 0, // of the last search
    preview: "", // id
    renaming: null, // { id, input, … }
    stale: false, // results came during a renaming, which a redrawing would end
    deleted: [], // { id, name }, the last one last
    busy: "",
    resuming: false,
    scope: view.scope,
    over: false,
    pinged: 0,
    timer: 0,
  };
  const nodes = new Map();
  const send = (kind, content = {}) => model.send({ kind, nonce: view.nonce, ...content });
  const selected = () => state.shown[state.at] && state.shown[state.at].row;
  const rowHeight = () => (state.found ? FOUND_ROW : ROW);

  function statusText() {
    if (state.busy) return state.busy;
    const grouped = (number) => number.toLocaleString("en");
    const [total, shown] = [grouped(state.entries.length), grouped(state.shown.length)];
    if (state.found) {
      const facts = { ...state.found, found: shown };
      if (!state.found.finished) return fill(words.searching, facts);
      return fill(state.shown.length === 1 ? words.found_one : words.searched, facts);
    }
    if (filter.value.trim()) return fill(words.count, { shown, total });
    return state.entries.length === 1 ? words.count_one : fill(words.count_all, { total });
  }

  function rowNode(entry) {
    const { row } = entry;
    const terms = termsOf(state.found ? state.found.query : filter.value);
    const node = element("div", "mewcode-picker-row");
    node.dataset.session = row.id;
    node.setAttribute("role", "option");
    const line = element("div", "mewcode-picker-line");
    const style = row.title ? "mewcode-picker-name mewcode-picker-named" : "mewcode-picker-name";
    line.append(highlighted(style, nameOf(row), state.found ? [] : terms));
    for (const [text, kind] of marksOf(row, words)) {
      line.append(element("span", `mewcode-picker-mark ${kind && `mewcode-picker-mark-${kind}`}`, text));
    }
    const meta = metaOf(row, words);
    node.append(line, element("div", "mewcode-picker-meta", meta));
    if (row.snippet !== undefined) {
      const snippet = element("div", "mewcode-picker-snippet");
      snippet.append(highlighted("", row.snippet, terms));
      node.append(snippet);
    }
    node.title = [nameOf(row), row.title && row.prompt, meta, row.id, row.damage].filter(Boolean).join("\n");
    return node;
  }

  // Only the rows in sight are in the page, and the selected one, which assistive technology follows.
  function draw() {
    const height = rowHeight();
    const space = Math.min(LIST_ROWS, state.shown.length) * height;
    const first = Math.max(0, Math.floor(state.top / height) - SPARE);
    const last = Math.min(state.shown.length, Math.ceil((state.top + space) / height) + SPARE);
    const wanted = new Set([state.at]);
    for (let at = first; at < last; at += 1) wanted.add(at);
    const kept = new Set();
    for (const at of wanted) {
      const entry = state.shown[at];
      if (!entry) continue;
      let node = nodes.get(entry);
      if (!node) {
        node = rowNode(entry);
        nodes.set(entry, node);
        parts.rows.append(node);
      }
      kept.add(entry);
      node.id = `${parts.uid}-${at}`;
      Object.assign(node.style, { top: `${at * height}px`, height: `${height}px` });
      node.setAttribute("aria-selected", String(at === state.at));
      node.setAttribute("aria-setsize", String(state.shown.length));
      node.setAttribute("aria-posinset", String(at + 1));
    }
    for (const [entry, node] of nodes) {
      if (!kept.has(entry) && !(state.renaming && state.renaming.id === entry.row.id)) {
        node.remove();
        nodes.delete(entry);
      }
    }
    if (state.shown.length) filter.setAttribute("aria-activedescendant", `${parts.uid}-${state.at}`);
    else filter.removeAttribute("aria-activedescendant");
  }

  function scrollTo(top) {
    state.top = Math.max(0, top);
    list.scrollTop = state.top;
  }

  function reveal() {
    const height = rowHeight();
    const space = Math.min(LIST_ROWS, state.shown.length) * height;
    if (state.at * height < state.top) scrollTo(state.at * height);
    else if ((state.at + 1) * height > state.top + space) scrollTo((state.at + 1) * height - space);
  }

  // Everything anew from the data; the selection stays with its session where that is still shown.
  function refresh({ keep = "", resort = false } = {}) {
    state.stale = false;
    endRename(false);
    if (resort || !state.ordered.length) state.ordered = sorted(state.entries, parts.sort.value);
    const terms = termsOf(filter.value);
    const base = state.found ? state.found.entries : state.ordered;
    state.shown = state.found ? base : base.filter(({ hay }) => terms.every((term) => hay.includes(term)));
    const place = keep ? state.shown.findIndex(({ row }) => row.id === keep) : -1;
    state.at = place >= 0 ? place : Math.max(0, Math.min(state.at, state.shown.length - 1));
    for (const node of nodes.values()) node.remove();
    nodes.clear();
    const height = rowHeight();
    parts.rows.style.height = `${state.shown.length * height}px`;
    list.style.height = `${Math.min(LIST_ROWS, state.shown.length) * height + 2}px`;
    list.hidden = !state.shown.length;
    filter.setAttribute("aria-expanded", String(!!state.shown.length));
    reveal();
    draw();
    drawEmpty();
    drawAround();
  }

  function drawEmpty() {
    const query = filter.value.trim();
    parts.empty.hidden = !!state.shown.length || !!(state.found && !state.found.finished);
    if (parts.empty.hidden) return;
    const everywhere = state.scope === "project";
    let text = everywhere ? words.none : words.none_scope;
    if (state.entries.length && query) text = fill(words.no_match, { query });
    if (state.found) text = fill(words.no_hit, state.found);
    parts.empty.replaceChildren(element("div", "", text));
    if (state.found) parts.empty.append(button(words.back, leaveSearch));
    else if (query) parts.empty.append(button(words.search, search));
    if (!state.found && !everywhere) parts.empty.append(button(words.widen, () => chooseScope("project")));
  }

  function button(label, action, style = "", off = false) {
    const node = element("button", style, label);
    node.type = "button";
    if (off) node.setAttribute("aria-disabled", "true");
    node.addEventListener("click", () => {
      if (!state.over && (!off || usable())) action();
    });
    return node;
  }

  // The count, the buttons for the selected session, and whatever else goes with the selection.
  function drawAround() {
    const text = statusText();
    if (parts.count.textContent !== text) parts.count.textContent = text;
    root.setAttribute("aria-busy", String(!!state.busy));
    const row = selected();
    const focused = [...parts.actions.children].indexOf(document.activeElement);
    const wanted = [];
    if (state.found) wanted.push(button(words.back, leaveSearch));
    if (row) {
      wanted.push(
        button(words.resume, () => resume(false), "mewcode-picker-main", row.unreadable),
        button(words.fork, () => resume(true), "", row.unreadable),
        button(state.preview ? words.hide_preview : words.preview, togglePreview, "", row.unreadable),
        button(words.rename, beginRename, "", row.unreadable),
        button(row.pinned ? words.unpin : words.pin, pin, "", row.unreadable),
        button(words.delete, remove),
      );
    }
    wanted.push(button(words.close, close));
    parts.actions.replaceChildren(...wanted);
    if (focused >= 0) (wanted[focused] || wanted.at(-1)).focus();
  }

  function select(at) {
    if (!state.shown.length) return;
    hush();
    endRename(true);
    state.at = Math.max(0, Math.min(at, state.shown.length - 1));
    reveal();
    draw();
    drawAround();
    if (!state.preview) return;
    if (selected().unreadable) hidePreview();
    else askPreview(PREVIEW_DELAY);
  }

  function say(text) {
    parts.error.textContent = text;
    parts.error.hidden = !text;
  }

  // What was said of an earlier action goes with the next one; an undo stays as long as it can be.
  function hush() {
    say("");
    if (!state.deleted.length) parts.toast.hidden = true;
  }

  function begin(text) {
    state.busy = text;
    hush();
    drawAround();
  }

  // -- what the user may ask for

  function usable() {
    const row = selected();
    if (!row || state.over) return null;
    hush();
    if (!row.unreadable) return row;
    say(fill(words.is_unreadable, { reason: row.damage || words.unreadable }));
    return null;
  }

  function resume(on) {
    const row = usable();
    if (!row || state.resuming) return;
    state.resuming = true;
    begin(fill(words.busy_resume, { name: nameOf(row) }));
    send("resume", { id: row.id, on });
  }

  function hidePreview() {
    clearTimeout(state.timer);
    state.preview = "";
    parts.preview.hidden = true;
    drawAround();
  }

  function togglePreview() {
    if (state.preview) hidePreview();
    else if (usable()) askPreview(0);
  }

  function askPreview(delay) {
    const row = selected();
    state.preview = row.id;
    const heading = fill(words.last_turns, { name: nameOf(row) });
    parts.preview.setAttribute("aria-label", heading);
    parts.preview.replaceChildren(element("div", "", words.busy_preview));
    parts.preview.hidden = false;
    drawAround();
    clearTimeout(state.timer);
    state.timer = setTimeout(() => send("preview", { id: row.id }), delay);
  }

  function showPreview({ id, turns }) {
    if (id !== state.preview) return;
    const said = [];
    for (const turn of turns) {
      const calls = turn.calls === 1 ? words.call : fill(words.calls, { count: turn.calls });
      const agent = turn.calls ? `${words.agent} (${calls})` : words.agent;
      for (const [who, text] of [[words.you, turn.prompt], [agent, turn.answer || words.no_answer]]) {
        if (!text) continue;
        said.push(element("div", "mewcode-picker-who", who), element("div", "mewcode-picker-said", text));
      }
    }
    if (!said.length) said.push(element("div", "", words.empty_preview));
    parts.preview.replaceChildren(...said);
    parts.preview.scrollTop = parts.preview.scrollHeight; // the last turn matters most
  }

  function beginRename() {
    const row = usable();
    if (!row || state.renaming) return;
    const node = nodes.get(state.shown[state.at]);
    const input = element("input", "mewcode-picker-rename");
    Object.assign(input, { type: "text", value: row.title || "", maxLength: view.title_length });
    input.placeholder = row.prompt || row.id;
    input.setAttribute("aria-label", words.new_title);
    const line = node.firstChild;
    state.renaming = { id: row.id, input, line, before: [...line.childNodes], title: row.title || "" };
    line.replaceChildren(input);
    input.addEventListener("blur", () => endRename(true));
    input.focus();
    input.select();
  }

  function endRename(save) {
    const now = state.renaming;
    if (!now) return;
    state.renaming = null;
    const title = now.input.value.trim();
    const focused = document.activeElement === now.input;
    now.line.replaceChildren(...now.before);
    if (save && title !== now.title) send("rename", { id: now.id, title });
    if (focused) filter.focus();
    if (state.stale) refresh({ keep: now.id });
  }

  function pin() {
    const row = usable();
    if (row) send("pin", { id: row.id, on: !row.pinned });
  }

  function remove() {
    const row = selected();
    if (!row || state.over) return;
    hush();
    send("delete", { id: row.id });
  }

  function undo() {
    const last = state.deleted.at(-1);
    if (last) send("restore", { id: last.id });
  }

  function showToast(text) {
    const last = state.deleted.at(-1);
    const said = text || (last ? fill(words.moved, last) : "");
    parts.toast.hidden = !said;
    parts.toast.replaceChildren(element("span", "", said));
    if (last) parts.toast.append(button(words.undo, undo));
  }

  function search() {
    const query = filter.value.trim();
    if (!query) return filter.focus();
    hush();
    state.number += 1;
    state.found = { query, entries: [], done: 0, total: "?", finished: false };
    state.at = 0;
    scrollTo(0);
    refresh();
    filter.focus();
    send("search", { query, number: state.number });
  }

  function leaveSearch() {
    if (!state.found) return;
    if (!state.found.finished) send("search", { query: "", number: (state.number += 1) });
    state.found = null;
    state.at = 0;
    scrollTo(0);
    refresh();
    filter.focus();
  }

  function chooseScope(name) {
    parts.scope.value = name;
    begin(words.busy_rows);
    send("rows", { scope: name });
  }

  function cycle(box, change) {
    box.selectedIndex = (box.selectedIndex + 1) % box.options.length;
    change();
  }

  function close() {
    if (state.over) return;
    send("close");
  }

  function escape() {
    if (state.preview) hidePreview();
    else if (state.found) leaveSearch();
    else close();
  }

  // -- what the kernel says

  function takeRow({ row, restored }) {
    if (restored) state.deleted = state.deleted.filter(({ id }) => id !== row.id);
    const place = (entries) => entries.findIndex((entry) => entry.row.id === row.id);
    const at = place(state.entries);
    if (at >= 0) state.entries[at] = entryOf(row);
    else if (!state.found || restored) state.entries.push(entryOf(row));
    const hit = state.found ? place(state.found.entries) : -1;
    if (hit >= 0) state.found.entries[hit] = entryOf({ ...row, snippet: state.found.entries[hit].row.snippet });
    if (restored) showToast(fill(words.restored, { name: nameOf(row) }));
    refresh({ keep: row.id, resort: true });
  }

  function takeDeleted({ id }) {
    const all = state.found ? [...state.entries, ...state.found.entries] : state.entries;
    const gone = all.find(({ row }) => row.id === id);
    const others = ({ row }) => row.id !== id;
    state.entries = state.entries.filter(others);
    if (state.found) state.found.entries = state.found.entries.filter(others);
    state.deleted.push({ id, name: gone ? nameOf(gone.row) : id });
    showToast("");
    if (state.preview === id) hidePreview();
    refresh({ resort: true });
  }

  function takeFound({ number, done, total, rows, finished }) {
    if (!state.found || number !== state.number) return;
    const keep = selected() && selected().id;
    Object.assign(state.found, { done, total, finished });
    state.found.entries = [...state.found.entries, ...rows.map(entryOf)];
    if (state.renaming) state.stale = true;
    else if (rows.length || finished) refresh({ keep });
    else drawAround();
  }

  function takeRows({ rows, scope }) {
    const keep = selected() && selected().id;
    state.busy = "";
    Object.assign(state, { entries: rows.map(entryOf), scope });
    parts.scope.value = scope;
    refresh({ keep, resort: true });
  }

  function takeLine({ text }) {
    Object.assign(state, { busy: "", resuming: false });
    parts.scope.value = state.scope;
    say(text);
    if (state.found && !state.found.finished) state.found.finished = true;
    if (state.preview) hidePreview();
    drawAround();
    drawEmpty();
  }

  const takes = { row: takeRow, rows: takeRows, deleted: takeDeleted, preview: showPreview, search: takeFound, line: takeLine };
  const heard = (message) => {
    if (!state.over && message && takes[message.kind]) takes[message.kind](message);
  };

  // -- keys and clicks

  const page = () => LIST_ROWS - 1;
  const moves = {
    ArrowDown: () => state.at + 1,
    ArrowUp: () => state.at - 1,
    PageDown: () => state.at + page(),
    PageUp: () => state.at - page(),
    Home: () => 0,
    End: () => state.shown.length - 1,
  };
  const withAlt = {
    KeyP: pin,
    KeyZ: undo,
    KeyS: () => cycle(parts.sort, () => refresh({ keep: selected() && selected().id, resort: true })),
    KeyW: () => cycle(parts.scope, () => chooseScope(parts.scope.value)),
    Delete: remove,
    Backspace: remove,
  };

  function inFilter(event) {
    if (event.key in moves && !event.shiftKey) {
      return () => {
        state.moved = true;
        select(moves[event.key]());
      };
    }
    if (event.key === "Enter") return event.ctrlKey || event.metaKey ? search : () => resume(event.shiftKey);
    if (event.key === " " && (state.moved || !filter.value)) return togglePreview;
    return null;
  }

  function actionOf(event) {
    if (state.renaming && event.target === state.renaming.input) {
      if (event.key === "Enter") return () => endRename(true);
      return event.key === "Escape" ? () => endRename(false) : null;
    }
    if (event.altKey && !event.ctrlKey && !event.metaKey) return withAlt[event.code] || null;
    if (event.key === "Escape") return escape;
    if (event.key === "F2") return beginRename;
    return event.target === filter ? inFilter(event) : null;
  }

  function ping() {
    const now = Date.now();
    if (now - state.pinged < PING_EVERY) return;
    state.pinged = now;
    send("active");
  }

  // Front ends listen on the document while the event comes down (d d deletes the cell), so keys of
  // the picker are taken at the window, before them. Saving the notebook stays the front end's.
  function key(event) {
    if (state.over || !root.contains(event.target)) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") return;
    event.stopPropagation();
    ping();
    // A key that ends or moves in a composition (Chinese input) belongs to the input method.
    if (event.isComposing || event.keyCode === 229) return;
    const action = actionOf(event);
    if (!action) return;
    event.preventDefault();
    action();
  }

  function typed() {
    state.moved = false;
    state.at = 0;
    if (state.found) {
      if (!state.found.finished) send("search", { query: "", number: (state.number += 1) });
      state.found = null;
    }
    if (state.preview) hidePreview();
    hush();
    scrollTo(0);
    refresh();
  }

  const indexUnder = (event) => {
    const node = event.target.closest(".mewcode-picker-row");
    return node ? state.shown.findIndex(({ row }) => row.id === node.dataset.session) : -1;
  };
  list.addEventListener("mousedown", (event) => {
    if (event.target.tagName === "INPUT") return;
    const at = indexUnder(event);
    if (at < 0) return;
    event.preventDefault(); // the filter keeps the focus
    filter.focus();
    state.moved = true;
    select(at);
  });
  list.addEventListener("dblclick", (event) => {
    if (event.target.tagName !== "INPUT" && indexUnder(event) >= 0) resume(false);
  });
  list.addEventListener("scroll", () => {
    state.top = list.scrollTop;
    draw();
  });
  root.addEventListener("pointerdown", ping);
  filter.addEventListener("input", typed);
  parts.search.addEventListener("click", search);
  parts.sort.addEventListener("change", () => refresh({ keep: selected() && selected().id, resort: true }));
  parts.scope.addEventListener("change", () => chooseScope(parts.scope.value));
  window.addEventListener("keydown", key, true);
  model.on("msg:custom", heard);

  function stop() {
    state.over = true;
    clearTimeout(state.timer);
    window.removeEventListener("keydown", key, true);
    model.off("msg:custom", heard);
  }

  const unwatch = watchEnd(model, (bundle) => {
    stop();
    const home = root.contains(document.activeElement) && root.closest(".jp-Notebook");
    standIn(bundle);
    if (home) home.focus(); // else the keyboard would be dead until the next click
  });
  refresh();
  el.replaceChildren(root);
  // The front end attaches the element after this function has returned.
  const frame = requestAnimationFrame(() => {
    root.scrollIntoView({ block: "nearest" });
    if (!model.get("seen")) filter.focus({ preventScroll: true });
  });
  send("rendered");
  return () => {
    cancelAnimationFrame(frame);
    unwatch();
    stop();
  };
}

export default { render };

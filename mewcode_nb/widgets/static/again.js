// The line under a stored answer. Text enters only through textContent.

function render({ model, el }) {
  const view = model.get("view");
  const root = document.createElement("div");
  root.className = "mewcode-again";
  const words = document.createElement("span");
  words.textContent = `${view.text} `;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = view.label;
  button.title = view.hint;
  const status = document.createElement("span");
  status.setAttribute("role", "status");
  root.append(words, button, status);

  const pressed = () => {
    if (button.getAttribute("aria-disabled")) return;
    button.setAttribute("aria-disabled", "true");
    status.textContent = "";
    model.send({ kind: "again", nonce: view.nonce });
  };
  const heard = (content) => {
    if (content.kind !== "refused") return;
    button.removeAttribute("aria-disabled");
    status.textContent = ` ${content.text}`;
  };
  // Front ends take keys at the document (Enter edits the cell), so the button's own come first.
  const key = (event) => {
    if (event.target !== button || (event.key !== "Enter" && event.key !== " ")) return;
    event.stopPropagation();
    event.preventDefault();
    if (!event.repeat) pressed();
  };
  button.addEventListener("click", pressed);
  window.addEventListener("keydown", key, true);
  model.on("msg:custom", heard);
  function stop() {
    window.removeEventListener("keydown", key, true);
    model.off("msg:custom", heard);
  }
  const unwatch = watchEnd(model, (bundle) => {
    stop();
    root.replaceChildren(bundle["text/plain"] || "");
  });
  el.replaceChildren(root);
  model.send({ kind: "rendered", nonce: view.nonce });
  return () => {
    unwatch();
    stop();
  };
}

export default { render };

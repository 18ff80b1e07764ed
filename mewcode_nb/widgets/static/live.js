// Shared by live widgets: puts the static bundle in the widget's place when only the page can.

const VIEW = "application/vnd.jupyter.widget-view+json";

// Front ends of the JupyterLab family give the open notebook; elsewhere the kernel's update has to do.
function contextOf(model) {
  const manager = model.widget_manager;
  const context = manager && manager.context;
  return context && context.model && context.sessionContext ? context : null;
}

function replaceOutputs(context, identity, data) {
  for (const cell of context.model.cells || []) {
    const outputs = cell.outputs;
    if (!outputs || typeof outputs.set !== "function") continue;
    for (let at = 0; at < outputs.length; at += 1) {
      const output = outputs.get(at).toJSON();
      const view = output.data && output.data[VIEW];
      if (!view || view.model_id !== identity) continue;
      outputs.set(at, { output_type: "display_data", data, metadata: {} });
    }
  }
}

// A file that is saved while the widget is open gets the static bundle: whatever happens to kernel
// and page after that, nobody opens it to a widget whose model is gone.
const LIVE = Symbol.for("mewcode_nb.live");

function staticWhenSaved(context, identity, data) {
  const document = context.model;
  if (!document[LIVE] && typeof document.toJSON === "function") {
    const live = new Map();
    const toJSON = document.toJSON;
    document[LIVE] = live;
    document.toJSON = function savedWithoutLiveWidgets() {
      const saved = toJSON.call(document);
      if (!live.size || !saved || !Array.isArray(saved.cells)) return saved;
      return { ...saved, cells: saved.cells.map((cell) => cellSaved(cell, live)) };
    };
  }
  if (document[LIVE]) document[LIVE].set(identity, data);
  return () => document[LIVE] && document[LIVE].delete(identity);
}

function cellSaved(cell, live) {
  if (!Array.isArray(cell.outputs)) return cell;
  const outputs = cell.outputs.map((output) => {
    const view = output.data && output.data[VIEW];
    const data = view && live.get(view.model_id);
    return data ? { ...output, data: data(), metadata: {} } : output;
  });
  return { ...cell, outputs };
}

// Calls `closed` as soon as the widget is at its end; gives the function that stops watching.
function watchEnd(model, closed) {
  const context = contextOf(model);
  const identity = model.get("identity");
  let over = false;
  function settle() {
    if (over) return;
    over = true;
    stop();
    const data = model.get("static");
    closed(data);
    if (!context) return;
    // An output may not be changed while it is being drawn.
    setTimeout(() => {
      replaceOutputs(context, identity, data);
      saved();
    }, 0);
  }
  function settled() {
    if (model.get("settled")) settle();
  }
  function status(sender, now) {
    if (["restarting", "autorestarting", "terminating", "dead"].includes(now)) settle();
  }
  const saved = context ? staticWhenSaved(context, identity, () => model.get("static")) : () => {};
  function stop() {
    model.off("change:settled", settled);
    if (!context) return;
    context.sessionContext.statusChanged.disconnect(status);
    context.sessionContext.kernelChanged.disconnect(settle);
  }
  model.on("change:settled", settled);
  if (context) {
    context.sessionContext.statusChanged.connect(status);
    context.sessionContext.kernelChanged.connect(settle);
  }
  settled();
  return stop;
}

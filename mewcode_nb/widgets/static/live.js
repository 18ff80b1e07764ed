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
    // An output may not be changed while it is being drawn.
    if (context) setTimeout(() => replaceOutputs(context, identity, data), 0);
  }
  function settled() {
    if (model.get("settled")) settle();
  }
  function status(sender, now) {
    if (["restarting", "autorestarting", "terminating", "dead"].includes(now)) settle();
  }
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

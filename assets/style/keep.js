// A changed chart is a new one to Streamlit: it takes the old one out of the page and draws the new
// one into an empty place, which flashes. Here a copy of the old one stays until the new one is
// drawn. Both are known by the key of their element.
(() => {
  if (window.keepsPictures) return;
  window.keepsPictures = true;
  const done = new WeakSet(); // charts whose picture is kept, or no longer needed
  const hidden = new Map(); // the place that is shown, and the one hidden behind it

  function keep(place, picture) {
    const old = document.createElement("div");
    old.className = "js-plotly-plot old-picture";
    old.setAttribute("aria-hidden", "true");
    old.append(picture.cloneNode(true));
    place.append(old);
    place.style.minHeight = picture.querySelector(".svg-container")?.style.height;
    const end = performance.now() + 20000;
    const wait = () => {
      const drawn = ".js-plotly-plot:not(.old-picture) .cartesianlayer > *";
      const isAwaited = !place.querySelector(drawn) && performance.now() < end;
      if (old.isConnected && isAwaited) return requestAnimationFrame(wait);
      if (old.isConnected) done.add(old);
      place.style.removeProperty("min-height");
      old.remove();
    };
    requestAnimationFrame(wait);
  }

  const keyOf = (node) =>
    [...(node?.classList ?? [])].find((name) => name.startsWith("st-key-"));

  // Plotly empties a chart before or after it is taken out: the picture may be inside or apart.
  function takenOut(chart, picture) {
    if (done.has(chart)) return;
    done.add(chart);
    const key = keyOf(chart.closest("[class*=st-key-]"));
    const place = key && document.querySelector(`.${CSS.escape(key)}`);
    if (place) keep(place, picture);
  }

  // Hidden as long as the other one is there, but never for long.
  function hideBehind(node, place) {
    node.style.display = "none";
    hidden.set(place, node);
    setTimeout(() => showAgain(place), 1000);
  }

  function showAgain(place) {
    hidden.get(place)?.style.removeProperty("display");
    hidden.delete(place);
  }

  // Or both are there for a moment, one below the other.
  function putIn(place) {
    const key = place.querySelector?.(".plot-container") ? null : keyOf(place); // else only moved
    for (const other of key ? document.querySelectorAll(`.${CSS.escape(key)}`) : []) {
      const picture = other !== place && other.querySelector(".js-plotly-plot > .plot-container");
      if (!picture || done.has(picture.parentElement)) continue;
      done.add(picture.parentElement);
      keep(place, picture);
      hideBehind(other, place);
    }
  }

  new MutationObserver((changes) => {
    for (const { target, addedNodes, removedNodes } of changes) {
      addedNodes.forEach(putIn);
      for (const node of removedNodes) {
        if (node.classList?.contains("plot-container")) takenOut(target, node);
        for (const picture of node.querySelectorAll?.(".js-plotly-plot > .plot-container") ?? [])
          takenOut(picture.parentElement, picture);
      }
    }
    for (const place of [...hidden.keys()]) if (!place.isConnected) showAgain(place);
  }).observe(document.body, { childList: true, subtree: true });
})();

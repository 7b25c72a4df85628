// The words of a sentence in a row: drag one, or use its arrows. Tells Python the new order.
export default function ({ data, parentElement, setTriggerValue }) {
  const list = parentElement.querySelector("ol");
  list.replaceChildren(...data.words.map(chip));
  const order = () => [...list.children].map((item) => Number(item.dataset.unit));
  const tell = () => {
    if (order().some((unit, place) => unit !== data.words[place].unit)) {
      setTriggerValue("order", order());
    }
  };

  function chip({ unit, text }, place) {
    const item = document.createElement("li");
    const word = document.createElement("span");
    word.textContent = text;
    item.dataset.unit = unit;
    item.title = data.drag;
    item.append(
      arrow("‹", data.earlier, text, place === 0, () => move(item, -1)),
      word,
      arrow("›", data.later, text, place === data.words.length - 1, () => move(item, 1)),
    );
    item.addEventListener("pointerdown", (event) => drag(item, event));
    return item;
  }

  function arrow(sign, label, text, isEnd, onClick) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    button.setAttribute("aria-label", label.replace("{word}", text));
    button.disabled = isEnd;
    button.addEventListener("click", onClick);
    return button;
  }

  function move(item, by) {
    if (by < 0) item.previousElementSibling.before(item);
    else item.nextElementSibling.after(item);
    tell();
  }

  // The document listens, because an element that is moved loses the pointer.
  function drag(item, { target, pointerId }) {
    if (target.closest("button")) return;
    const listening = new AbortController();
    const on = (name, action) =>
      document.addEventListener(
        name,
        (event) => event.pointerId === pointerId && action(event),
        listening,
      );
    const end = () => {
      listening.abort();
      item.classList.remove("dragged");
      tell();
    };
    item.classList.add("dragged");
    on("pointerup", end);
    on("pointercancel", end);
    on("pointermove", ({ clientX, clientY }) => {
      const over = list.getRootNode().elementFromPoint(clientX, clientY); // of the shadow root
      const other = over?.closest("li");
      if (!other || other === item || other.parentElement !== list) return;
      const { left, width } = other.getBoundingClientRect();
      if (clientX < left + width / 2) other.before(item);
      else other.after(item);
    });
  }
}

"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const by = (id) => document.getElementById(id);
  root.classList.add("js");

  // Light and dark: what the system says, until the switch is used.
  const theme = by("theme");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
  const showTheme = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(isDark()));
  };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    showTheme();
  });
  systemDark.addEventListener("change", showTheme);
  showTheme();

  // The statement is folded on screens; paper has it, and so has a page without script.
  const statement = by("statement") && by("statement").closest("details");
  if (statement) {
    let wasOpen = (statement.open = false);
    addEventListener("beforeprint", () => { wasOpen = statement.open; statement.open = true; });
    addEventListener("afterprint", () => { statement.open = wasOpen; });
  }

  // The tree: lines in preorder, each with its level; a closed line hides the deeper ones that follow.
  const nodes = all(".node");
  const level = (node) => Number(node.dataset.level);
  const isOpen = (node) => node.getAttribute("aria-expanded") === "true";
  const isInner = (node) => node.hasAttribute("aria-expanded");
  const refresh = () => {
    let closedAt = Infinity;
    for (const node of nodes) {
      const mine = level(node);
      if (mine <= closedAt) closedAt = Infinity;
      node.hidden = closedAt !== Infinity;
      if (!node.hidden && isInner(node) && !isOpen(node)) closedAt = mine;
    }
  };
  const setOpen = (node, open) => {
    if (!isInner(node)) return;
    node.setAttribute("aria-expanded", String(open));
    refresh();
  };
  const focus = (node) => {
    if (!node) return;
    nodes.forEach((other) => { other.tabIndex = other === node ? 0 : -1; });
    node.focus();
  };
  const visible = () => nodes.filter((node) => !node.hidden);
  const parent = (node) => {
    for (let i = nodes.indexOf(node) - 1; i >= 0; i--) if (level(nodes[i]) < level(node)) return nodes[i];
    return null;
  };
  const keys = {
    ArrowDown: (node, shown) => focus(shown[shown.indexOf(node) + 1]),
    ArrowUp: (node, shown) => focus(shown[shown.indexOf(node) - 1]),
    Home: (node, shown) => focus(shown[0]),
    End: (node, shown) => focus(shown[shown.length - 1]),
    ArrowRight: (node, shown) =>
      isInner(node) && !isOpen(node) ? setOpen(node, true) : isInner(node) && focus(shown[shown.indexOf(node) + 1]),
    ArrowLeft: (node) => (isInner(node) && isOpen(node) ? setOpen(node, false) : focus(parent(node))),
    Enter: (node) => setOpen(node, !isOpen(node)),
    " ": (node) => setOpen(node, !isOpen(node)),
  };
  const peek = by("peek");
  const tell = (node) => {
    const says = document.createElement("b");
    says.textContent = node.dataset.says;
    const tests = [];
    for (let at = node; at && at.dataset.test; at = parent(at)) tests.unshift(at.dataset.test);
    const way = node.dataset.path ?? (tests.join(" and ") || "all rows");
    const rest = node.dataset.title === undefined ? `. ${way}` : `. Cluster ${node.dataset.title}: ${way}`;
    peek.replaceChildren(says, rest);
  };
  for (const node of nodes) {
    node.addEventListener("click", () => {
      if (String(getSelection()) !== "") return;  // somebody selects text
      focus(node);
      setOpen(node, !isOpen(node));
    });
    node.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act(node, visible());
    });
    node.addEventListener("focus", () => tell(node));
    node.addEventListener("mouseenter", () => tell(node));
  }
  by("open-all").addEventListener("click", () => { nodes.filter(isInner).forEach((n) => n.setAttribute("aria-expanded", "true")); refresh(); });
  by("close-all").addEventListener("click", () => { nodes.filter(isInner).forEach((n) => n.setAttribute("aria-expanded", "false")); refresh(); focus(nodes[0]); });

  // Copying: the clipboard, else the old way, else the text is selected for the reader to copy.
  const said = by("said");
  const oldWay = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.cssText = "position:fixed;top:0;left:-999px";
    document.body.append(area);
    area.select();
    let done = false;
    try { done = document.execCommand("copy"); } catch { done = false; }
    area.remove();
    return done;
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return oldWay(text);
    }
  };
  for (const button of all("button.copy")) {
    button.addEventListener("click", async () => {
      const done = await copy((button.dataset.before ?? "") + by("statement").textContent + (button.dataset.after ?? ""));
      const before = button.textContent;
      const now = done ? "Copied" : "Select it below";
      if (!done) {
        statement.open = true;
        getSelection().selectAllChildren(by("statement"));
      }
      if (before === now) return;
      button.textContent = said.textContent = now;
      setTimeout(() => { button.textContent = before; said.textContent = ""; }, 1600);
    });
  }
})();

// The theme: that of the system, or what was chosen. The server learns of it by cookies, so that it draws in the right
// colors from the first moment; charts are told when it changes.
(() => {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const keep = (name, value) => {
    document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=strict`;
  };
  const chosen = () => (document.cookie.match(/(?:^|; )headgate_theme=(light|dark)/) || [])[1] || "system";
  const isDark = () => (chosen() === "system" ? system.matches : chosen() === "dark");
  const tell = () => {
    keep("headgate_system", system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    if (window.emitEvent) window.emitEvent("theme", isDark());
  };
  window.headgate = {
    isDark,
    choose(theme) {
      keep("headgate_theme", theme);
      tell();
    },
  };
  system.addEventListener("change", tell);
  document.addEventListener("visibilitychange", () => {
    if (window.emitEvent) window.emitEvent("hidden", document.hidden);
  });
  keep("headgate_system", system.matches ? "dark" : "light");
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
})();

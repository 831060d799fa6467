"""The few pages that people see. No script or style comes from elsewhere."""

from __future__ import annotations

SIGN_IN = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in to Memoranda</title>
<style>
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6477; --paper: #f6f5f1; --card: #ffffff; --line: #dcd9d0; --accent: #2f5d50; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e9e7e1; --soft: #a3a9b6; --paper: #16181d; --card: #1f2229; --line: #343841; --accent: #7fb8a4; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { width: min(26rem, calc(100vw - 2rem)); background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 2rem; }
h1 { font-size: 1.25rem; margin: 0 0 .35rem; letter-spacing: -.01em; }
p { margin: 0 0 1.25rem; color: var(--soft); text-wrap: pretty; }
button { width: 100%; padding: .7rem 1rem; border: 0; border-radius: 9px; background: var(--accent); color: var(--card); font: inherit;
  font-weight: 600; cursor: pointer; }
button:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px; }
button[disabled] { opacity: .6; cursor: default; }
code { display: block; margin-top: .5rem; padding: .6rem .7rem; background: var(--paper); border: 1px solid var(--line); border-radius: 8px;
  overflow-wrap: anywhere; color: var(--ink); font-size: .85rem; }
#told { margin: 1.1rem 0 0; color: var(--ink); } #told:empty { display: none; }
</style></head>
<body><main>
<h1>Sign in to Memoranda</h1>
<p>This link works once, and signs this browser in.</p>
<button id="go" type="button">Sign in</button>
<p id="told" role="status" aria-live="polite"></p>
<noscript><p>Signing in needs JavaScript, which is off in this browser.</p></noscript>
</main>
<script>
const link = new URLSearchParams(location.search).get("link") || "";
history.replaceState(null, "", location.pathname);
const told = document.getElementById("told"), go = document.getElementById("go");
if (!link) { go.disabled = true; told.textContent = "This address has no link in it. Make a new one with: memoranda sign-in"; }
go.addEventListener("click", async () => {
  go.disabled = true; told.textContent = "Signing in…";
  try {
    const answer = await fetch("/v1/sign-in", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ link }) });
    const body = await answer.json();
    if (!answer.ok) { told.textContent = body.detail + ". " + (body.mend || ""); return; }
    told.textContent = "You are signed in as " + body.name + ". This page can be closed. To review claims, sign your terminal in with:";
    const command = document.createElement("code"); command.textContent = "memoranda sign-in --here"; told.append(command);
    go.textContent = "Signed in";
  } catch (error) { told.textContent = "The server did not answer. Try again."; go.disabled = false; }
});
</script></body></html>
"""

/** The style of the file that `spool proof --html` writes. */
export const proofStyle = `
:root {
  color-scheme: light dark;
  --background: #f6f7f9; --surface: #ffffff; --text: #1b1f24; --quiet: #57606a; --line: #d8dee4;
  --good: #116329; --bad: #a40e26; --warn: #7d4e00;
  --chart-1: #0969da; --chart-2: #bf5700; --chart-3: #6639ba;
}
@media (prefers-color-scheme: dark) {
  :root {
    --background: #0d1117; --surface: #161b22; --text: #e6edf3; --quiet: #9198a1; --line: #30363d;
    --good: #56d364; --bad: #ff7b72; --warn: #e3b341;
    --chart-1: #58a6ff; --chart-2: #f0883e; --chart-3: #bc8cff;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--background); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; overflow-wrap: anywhere; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
.hash { white-space: nowrap; }
.quiet { color: var(--quiet); font-weight: normal; }
.reason { color: var(--warn); }
.result { font-size: 1.15rem; font-weight: 600; margin: 0.5rem 0 0; }
.state { font-weight: 600; white-space: nowrap; }
.proven { color: var(--good); }
.failing { color: var(--bad); }
.open, .stale, .linked, .unlinked { color: var(--warn); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; background: var(--surface); }
table { border-collapse: collapse; width: 100%; min-width: 34rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.7rem; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
figure { margin: 1rem 0; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; break-inside: avoid; }
svg { display: block; width: 100%; height: auto; }
.tasks { list-style: none; padding: 0; }
footer { margin-top: 2rem; color: var(--quiet); font-size: 0.9em; }
@media print {
  :root {
    --background: #fff; --surface: #fff; --text: #000; --quiet: #444; --line: #bbb;
    --good: #116329; --bad: #a40e26; --warn: #7d4e00;
    --chart-1: #0969da; --chart-2: #bf5700; --chart-3: #6639ba;
  }
  body { font-size: 11px; }
  .scroll { overflow: visible; }
  table { min-width: 0; }
  tr { break-inside: avoid; }
}
`;

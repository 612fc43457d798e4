import { createHash } from "node:crypto";
import {
  problemCode,
  problemCodes,
  type ProblemSlug,
  problemTypeBase,
} from "../protocol/problem_codes.ts";
import { problemExplanations, problemsToCome } from "../protocol/problem_explanations.ts";

/**
 * The page of a problem, to which its `type` leads, or null where no problem has this slug. The
 * prefix is the path at which the app is mounted.
 */
export function problemPage(slug: string, prefix = ""): string | null {
  if (!isProblemSlug(slug)) return null;
  const { status, title } = problemCodes[slug];
  const note = problemsToCome.has(slug) ? "\n<p>Not answered by this version yet.</p>" : "";
  return page(
    title,
    `<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(problemExplanations[slug])}</p>${note}
<dl>
<dt>Status</dt><dd>${status}</dd>
<dt>Code</dt><dd><code>${problemCode(slug)}</code></dd>
<dt>Type</dt><dd><code>${escapeHtml(prefix + problemTypeBase)}${slug}</code></dd>
</dl>
<p><a href="${escapeHtml(prefix + problemTypeBase)}">All problems</a></p>`,
  );
}

/** The page of all problem types of this service, at `/__service/problems/`. */
export function problemIndexPage(prefix = ""): string {
  const rows = Object.entries(problemCodes).map(([slug, { status, title }]) =>
    `<tr><td>${status}</td><td><a href="${escapeHtml(prefix + problemTypeBase)}${slug}">` +
    `${escapeHtml(title)}</a></td><td><code>${slug}</code></td></tr>`
  );
  return page(
    "Problems",
    `<h1>Problems</h1>
<p>An answer that is an error has the media type <code>application/problem+json</code> and one of
these types.</p>
<table>
<thead><tr><th>Status</th><th>Title</th><th>Type</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>`,
  );
}

const style = `
:root { color-scheme: light dark; --ink: #1c1e21; --faint: #5d646d; --line: #d9dde2; --paper: #fff;
  --link: #0b57a4 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6e9; --faint: #9aa2ab; --line: #363b41; --paper: #16181b; --link: #7db8f5 }
}
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, sans-serif }
main { max-width: 44rem; margin: 0 auto; padding: 3rem 1.25rem }
h1 { margin: 0 0 1rem; font-size: 1.75rem; line-height: 1.25 }
a { color: var(--link) }
code { font: 0.9em/1.4 ui-monospace, monospace; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1.5rem; margin: 2rem 0;
  padding: 1rem 0; border: solid var(--line); border-width: 1px 0 }
dt { color: var(--faint) }
dd { margin: 0 }
table { width: 100%; border-collapse: collapse; margin-top: 1.5rem }
th, td { padding: 0.4rem 1rem 0.4rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: baseline }
th { color: var(--faint); font-weight: normal }
`;

/**
 * The Content-Security-Policy of the problem pages: no script, nothing loaded, one style sheet
 * known by its hash.
 */
export const problemPageSecurityPolicy: string = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function isProblemSlug(slug: string): slug is ProblemSlug {
  return Object.hasOwn(problemCodes, slug);
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

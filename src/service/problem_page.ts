import {
  problemCode,
  problemCodes,
  type ProblemSlug,
  problemTypeBase,
} from "../protocol/problem_codes.ts";
import { futureProblems, problemExplanations } from "../protocol/problem_explanations.ts";
import { escapeHtml } from "../protocol/escape_html.ts";
import { htmlPage } from "./html_page.ts";

/**
 * Returns the page about a problem type, to which the problem's member `type` leads. Returns null
 * if no problem has this slug. `prefix` is the mount path of the app.
 */
export function problemPage(slug: string, prefix = ""): string | null {
  if (!isProblemSlug(slug)) return null;
  const { status, title } = problemCodes[slug];
  const note = futureProblems.has(slug) ? "\n<p>Not answered by this version yet.</p>" : "";
  return htmlPage(
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

/** Returns the page that lists all problem types, at `/__service/problems/`. */
export function problemIndexPage(prefix = ""): string {
  const rows = Object.entries(problemCodes).map(([slug, { status, title }]) =>
    `<tr><td>${status}</td><td><a href="${escapeHtml(prefix + problemTypeBase)}${slug}">` +
    `${escapeHtml(title)}</a></td><td><code>${slug}</code></td></tr>`
  );
  return htmlPage(
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

function isProblemSlug(slug: string): slug is ProblemSlug {
  return Object.hasOwn(problemCodes, slug);
}

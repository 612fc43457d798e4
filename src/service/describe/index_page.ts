import type { FieldSchema } from "../../openapi/fields.ts";
import type { IndexEntry, ServiceIndex } from "../../openapi/service_index.ts";
import { escapeHtml, htmlPage } from "../html_page.ts";

/** The index of a service as a page for a browser. */
export function indexPage({ resources }: ServiceIndex): string {
  const content = resources.length === 0
    ? "<p>There is nothing here that you have a right to.</p>"
    : resources.map(section).join("\n");
  return htmlPage("Resources", `<h1>Resources</h1>\n${content}`);
}

function section({ name, path, primaryKey, fields, relations, requests }: IndexEntry): string {
  const reads = requests.some(({ operation }) => operation === "list");
  const link = reads ? `<a href="${escapeHtml(path)}">${escapeHtml(name)}</a>` : escapeHtml(name);
  const related = relations.map(({ name, type, resource }) =>
    `<dt>${escapeHtml(name)}</dt><dd>${type} <code>${escapeHtml(resource)}</code></dd>`
  );
  return `<h2>${link}</h2>
<table>
<thead><tr><th>Field</th><th>Type</th></tr></thead>
<tbody>
${fields.map((field) => row(field, primaryKey)).join("\n")}
</tbody>
</table>
${related.length === 0 ? "" : `<dl>\n${related.join("\n")}\n</dl>`}
<table>
<thead><tr><th>Request</th><th>Operation</th></tr></thead>
<tbody>
${
    requests.map(({ method, path, operation }) =>
      `<tr><td><code>${method} ${escapeHtml(path)}</code></td><td>${
        escapeHtml(operation)
      }</td></tr>`
    ).join("\n")
  }
</tbody>
</table>`;
}

function row(field: FieldSchema, primaryKey: readonly string[]): string {
  const { name, type, nullable, required, readOnly } = field;
  const facts = [
    type,
    ...(primaryKey.includes(name) ? ["key"] : []),
    ...(nullable ? ["nullable"] : []),
    ...(required ? ["required"] : []),
    ...(readOnly ? ["read only"] : []),
    ...(field.enum === undefined ? [] : [`one of ${field.enum.join(", ")}`]),
  ];
  return `<tr><td><code>${escapeHtml(name)}</code></td><td>${
    escapeHtml(facts.join(", "))
  }</td></tr>`;
}

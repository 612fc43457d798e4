import { quoteName } from "../../filter/syntax/quoted_name.ts";
import type { FieldSchema } from "../../openapi/fields.ts";
import type { IndexEntry, IndexRequest, ServiceIndex } from "../../openapi/service_index.ts";
import type { RelationSchema } from "../../openapi/service_schema.ts";
import { escapeHtml } from "../../protocol/escape_html.ts";
import { htmlPage } from "../../protocol/html_page.ts";

export function indexPage({ resources }: ServiceIndex): string {
  const content = resources.length === 0
    ? "<p>There is nothing here that you have a right to.</p>"
    : [contents(resources), ...resources.map(section)].join("\n");
  return htmlPage("Resources", `<h1>Resources</h1>\n${content}`);
}

function contents(resources: readonly IndexEntry[]): string {
  return `<p>${resources.map(({ path, name }) => link(`#${path}`, name)).join(", ")}</p>`;
}

function section(entry: IndexEntry): string {
  const { name, description, path, primaryKey, fields, relations, requests } = entry;
  const list = requests.find(({ operation }) => operation === "list")?.path ?? null;
  return `<h2 id="${escapeHtml(path)}">${list === null ? escapeHtml(name) : link(list, name)}</h2>
${description === undefined ? "" : `<p>${escapeHtml(description)}</p>`}
${table(["Field", "Type"], fields.map((field) => fieldCells(field, primaryKey)))}
${
    relations.length === 0 ? "" : table(
      ["Relation", "To", "By"],
      relations.map((relation) => relationCells(relation, list)),
    )
  }
${table(["Request", "Operation"], requests.map(requestCells))}`;
}

/** Returns an HTML table. The cells must be HTML already, because they are not escaped. */
function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
  return `<table>
<thead>${line(titles, "th")}</thead>
<tbody>
${rows.map((cells) => line(cells, "td")).join("\n")}
</tbody>
</table>`;
}

function fieldCells(field: FieldSchema, primaryKey: readonly string[]): readonly string[] {
  const { name, type, nullable, required, readOnly } = field;
  const facts = [
    type,
    ...(primaryKey.includes(name) ? ["key"] : []),
    ...(nullable ? ["nullable"] : []),
    ...(required ? ["required"] : []),
    ...(readOnly ? ["read only"] : []),
    ...(field.enum === undefined ? [] : [`one of ${field.enum.join(", ")}`]),
  ];
  const comment = field.description === undefined ? [] : [field.description];
  return [code(name), escapeHtml([facts.join(", "), ...comment].join(": "))];
}

function relationCells(
  { name, type, resource, path, filterable, on }: RelationSchema,
  list: string | null,
): readonly string[] {
  const included = `${list}?include=${encodeURIComponent(quoteName(name))}&limit=3`;
  const facts = [
    type,
    ...(on === undefined
      ? []
      : [`${[on.field].flat().join(", ")} = ${[on.references].flat().join(", ")}`]),
    ...(filterable ? ["filterable"] : []),
  ];
  return [
    list === null ? code(name) : link(included, name),
    link(`#${path}`, resource),
    escapeHtml(facts.join(", ")),
  ];
}

function requestCells({ method, path, operation }: IndexRequest): readonly string[] {
  const request = `${method} ${path}`;
  const isLink = operation === "list" || operation === "count";
  return [isLink ? link(path, request) : code(request), escapeHtml(operation)];
}

function link(path: string, text: string): string {
  return `<a href="${escapeHtml(path)}">${code(text)}</a>`;
}

function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`;
}

import type { ResourceDescription } from "../service/facts.ts";
import type { Rows } from "../service/resources.ts";
import { joinNames } from "../service/names.ts";
import { CallError } from "../service/call.ts";
import { send } from "../service/session.ts";
import { withoutFormulas } from "./csv_formulas.ts";
import type { ListQuery } from "./list_query.ts";

/** Saves all rows of a list as CSV. `progress` is called with the number of characters so far. */
export async function exportCsv(
  { rows, resource, query, select }: {
    readonly rows: Rows;
    readonly resource: ResourceDescription;
    readonly query: ListQuery;
    readonly select: readonly string[];
  },
  progress: (characters: number) => void,
): Promise<void> {
  const parameters = new URLSearchParams({ select: joinNames(select) });
  if (query.filter) parameters.set("filter", query.filter);
  if (query.orderBy) parameters.set("orderBy", query.orderBy);
  if (query.withDeleted) parameters.set("withDeleted", "true");
  const response = await send(`${rows.urlOf(resource)}?${parameters}`, {
    headers: { ...rows.headers, accept: "text/csv" },
  });
  const type = response.headers.get("content-type") ?? "";
  if (!response.ok || response.body === null || !type.startsWith("text/csv")) {
    const detail = await response.json().then((body) => body?.detail, () => null);
    throw new CallError(response.status, detail ?? "The service gives no CSV of this resource");
  }
  const parts: string[] = [];
  let length = 0;
  const text = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(withoutFormulas());
  for await (const part of text) {
    parts.push(part);
    progress(length += part.length);
  }
  save(new Blob(parts, { type: "text/csv" }), `${resource.title.replaceAll("/", "-")}.csv`);
}

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

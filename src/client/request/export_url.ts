import { handle } from "../../api/handle.ts";
import type { FilterInput, Offers } from "../../api/checked_text.ts";
import type { ListOptions } from "../../api/read_options.ts";
import type { ApiResource, IncludeOf, PathOf } from "../../api/rows.ts";
import { queryString } from "./query_string.ts";

/** The rows of an export, and the format of its file. */
export interface ExportOptions<
  R extends ApiResource = ApiResource,
  Filter extends FilterInput = FilterInput,
> extends
  Pick<
    ListOptions<R, PathOf<R>, IncludeOf<R>, Filter>,
    "filter" | "orderBy" | "select" | "limit" | "withDeleted" | "signal" | "timeoutMs"
  > {
  /** The format of the file. Default: `csv`. */
  readonly format?: "csv" | "ndjson" | undefined;
  /** The separator of a CSV. Default: a comma. */
  readonly delimiter?: "," | ";" | "|" | ":" | "tab" | undefined;
  /** True for spreadsheets: adds a byte order mark, and escapes values that would be formulas. */
  readonly bom?: boolean | undefined;
}

/**
 * Returns a URL that downloads an export with the rights of the client's token. The download needs
 * no header. The URL is valid for one minute.
 *
 * @example
 * ```ts ignore
 * button.onclick = async () => {
 *   location.href = await exportUrl(api.notes, { filter: "status==open", bom: true });
 * };
 * ```
 */
export async function exportUrl<R extends ApiResource, const Filter extends FilterInput>(
  resource: Offers<R, "export">,
  { signal, timeoutMs, format = "csv", ...query }: ExportOptions<R, Filter> = {},
): Promise<string> {
  const { transport, path } = resource[handle];
  const response = await transport.send({
    method: "GET",
    path: path + queryString({ format, ...query, link: true }),
    signal,
    timeoutMs,
  });
  const { link }: { readonly link?: string } = await response.json();
  // Without `enableExport`, the service ignores `link` and returns a page of the list.
  if (!link) throw new TypeError(`Cannot export ${path}: the resource has no enableExport`);
  return transport.baseUrl + path + link;
}

import type { Offers } from "../../api/checked_text.ts";
import { handle, type HasHandle } from "../../api/handle.ts";
import type { ListOptions, RequestOptions } from "../../api/read_options.ts";
import type { ConditionalOptions, RowVersion } from "../../api/resource_client.ts";
import type { ApiResource, Page, Tagged } from "../../api/rows.ts";
import { type Call, createCalls } from "./call.ts";
import { type KeyInput, keyPath } from "./key_path.ts";

/**
 * Returns a page of the versions of a row, the newest first. The resource needs the option
 * `history`.
 *
 * @example
 * ```ts ignore
 * const { items } = await rowHistory(api.notes, 1, { limit: 20 });
 * await revertRow(api.notes, 1, items[1].version, { ifMatch: etag });
 * ```
 */
export async function rowHistory<R extends ApiResource>(
  resource: Offers<R, "history">,
  key: R["key"],
  options?: RequestOptions & Pick<ListOptions<R>, "limit" | "cursor">,
): Promise<Page<RowVersion<R["row"]>>> {
  // The cast is safe: the service writes this page.
  return await callOfRow({ resource, key }, "GET", "/history", "")({ ...options }) as Page<
    RowVersion<R["row"]>
  >;
}

/** Changes a row back to a version of {@link rowHistory}, and returns the row with its ETag. */
export async function revertRow<R extends ApiResource>(
  resource: Offers<R, "history">,
  key: R["key"],
  version: string,
  options?: ConditionalOptions<R>,
): Promise<Tagged<R["row"]>> {
  const call = callOfRow({ resource, key }, "POST", "/revert");
  // The cast is safe: the response is the changed row.
  return await call({ ...options }, { version }) as Tagged<R["row"]>;
}

function callOfRow(
  { resource, key }: { readonly resource: HasHandle<ApiResource>; readonly key: unknown },
  method: string,
  place: string,
  member?: string,
): Call<unknown> {
  // The cast is safe: `keyPath` checks the key, because a program in JavaScript can pass anything.
  const path = `/${keyPath(key as KeyInput)}${place}`;
  return createCalls(resource[handle])(method, path, member);
}

import type { ApiResource } from "../../api/rows.ts";
import type { ResourceClient } from "../../api/resource_client.ts";
import { liveList, type LiveListQuery } from "./list_source.ts";
import type { LiveSeed } from "./live_messages.ts";

/**
 * Reads the rows of a live list once, as a seed with which another list can start, such as a list
 * in a page that a server has rendered. Rejects if the list cannot be opened.
 */
export function prefetch<R extends ApiResource>(
  resource: ResourceClient<R>,
  query: LiveListQuery<R> = {},
): Promise<LiveSeed> {
  const list = liveList(resource, query);
  return new Promise((resolve, reject) => {
    const end = list.subscribe(({ error }) => {
      const seed = list.seed();
      if (seed === null && error === null) return;
      // The store calls the listener before `subscribe` returns `end`, so the call of `end` waits.
      queueMicrotask(() => end());
      if (seed !== null) resolve(seed);
      else reject(error);
    });
  });
}

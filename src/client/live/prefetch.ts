import type { ApiResource } from "../../api/api.ts";
import type { ResourceClient } from "../../api/resource_client.ts";
import { liveList, type LiveListQuery } from "./live_list.ts";
import type { LiveSeed } from "./live_messages.ts";

/**
 * Reads the rows of a live list once, for the seed of a list in another process: a page that was
 * rendered by a server continues where that has read. Rejects with the error of a list that cannot
 * be opened.
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
      // Not before `subscribe` has returned what ends it.
      queueMicrotask(() => end());
      if (seed !== null) resolve(seed);
      else reject(error);
    });
  });
}

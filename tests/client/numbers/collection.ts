import { createCollection } from "@tanstack/db";
import { liveCollectionOptions } from "../../../src/client/bindings/tanstack_db.ts";
import type { World } from "./snow_service.ts";

/** Runs `work` with the rows as a collection of TanStack DB. */
export async function withCollection<T>(
  api: World["api"],
  work: (rows: ReturnType<typeof collectionOf>) => Promise<T>,
): Promise<T> {
  const collection = collectionOf(api);
  await collection.preload();
  const result = await work(collection);
  await collection.cleanup();
  // Its timers end then.
  await new Promise((resolve) => setTimeout(resolve, 20));
  return result;
}

const collectionOf = (api: World["api"]) =>
  createCollection({
    ...liveCollectionOptions(api.snow, { getKey: ({ id }) => id }),
    gcTime: 0,
  });

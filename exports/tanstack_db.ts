/**
 * Collections of TanStack DB that contain the rows of a resource.
 *
 * @example
 * ```ts ignore
 * import { createCollection } from "@tanstack/db";
 * import { liveCollectionOptions } from "@svc/resource-api/tanstack-db";
 *
 * const notes = createCollection(
 *   liveCollectionOptions(api.notes, { getKey: (note) => note.id }),
 * );
 * const update = notes.update(1, (draft) => void (draft.title = "Buy green tea"));
 * await update.isPersisted.promise; // rejects if the service refuses the write
 * ```
 *
 * @module
 */
export {
  type CollectionRow,
  type LiveCollectionOptions,
  liveCollectionOptions,
} from "../src/client/bindings/tanstack_db.ts";

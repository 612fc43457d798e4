import type { LiveRow, LiveRowId } from "../live/live_messages.ts";

/** An unconfirmed write, which live lists show before their stream contains it. */
export interface Overlay {
  /** The `Service-Optimistic-Id` of the write, which the confirming event contains. */
  readonly id: string;
  /** The path of the resource, for example `/api/posts`. */
  readonly resource: string;
  readonly kind: "create" | "update" | "delete";
  /** The id of the row. Null for a new row, and for a row that `of` identifies. */
  readonly key: LiveRowId | null;
  /** The id of the overlay that creates the changed row, if the row has no key yet. */
  readonly of?: string | null;
  /** The fields that the write sets. The other fields of the row are missing. */
  readonly fields: LiveRow;
  /** Returns values of fields that only the service computes, for a row with the write's effect. */
  readonly computed?: ((row: LiveRow, resource: string) => LiveRow | undefined) | undefined;
}

import type { LiveRow, LiveRowId } from "../live/live_messages.ts";

/** An unconfirmed write. Live lists show it before their stream contains it. */
export interface Overlay {
  /** The `Service-Optimistic-Id` of the write. The event that confirms the write contains it. */
  readonly id: string;
  readonly resource: string;
  readonly kind: "create" | "update" | "delete";
  /** The id of the row. Null for a new row, and for a row that `of` identifies. */
  readonly key: LiveRowId | null;
  /** The id of the overlay that creates the row. Set if the changed row has no key yet. */
  readonly of?: string | null;
  /** The fields that the write sets, without the other fields of the row. */
  readonly fields: LiveRow;
  /** Returns the values of fields that only the service computes, for a row after the write. */
  readonly computed?: ((row: LiveRow, resource: string) => LiveRow | undefined) | undefined;
}

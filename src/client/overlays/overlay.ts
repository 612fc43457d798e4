import type { LiveRow } from "../live/live_messages.ts";

export interface Overlay {
  readonly id: string;
  readonly resource: string;
  readonly kind: "create" | "update" | "replace" | "delete";
  /** The id of the row, as `rowIdText` writes it. Null for a row that has no key yet. */
  readonly key: string | null;
  /** The id of the overlay that creates the row. Set if the changed row has no key yet. */
  readonly of?: string | null;
  readonly fields: LiveRow;
  readonly computed?: ((row: LiveRow, resource: string) => LiveRow | undefined) | undefined;
}

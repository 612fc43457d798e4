import type { LiveRow, LiveRowId } from "../live/live_messages.ts";

/** A write that live lists show although no stream has confirmed it yet. */
export interface Overlay {
  /** Its `Service-Optimistic-Id`, by which a stream confirms it. */
  readonly id: string;
  /** The path of its resource: `/api/posts`. */
  readonly path: string;
  readonly kind: "create" | "update" | "delete";
  /** The row that it changes; null for a new row, and for one that `of` names. */
  readonly key: LiveRowId | null;
  /** The overlay that creates the row that this one changes, where no key is known yet. */
  readonly of?: string | null;
  /** The fields that it sets, and no others. */
  readonly fields: LiveRow;
}

import type { LiveMessage } from "../live/live_messages.ts";

/** A message between tabs. `tab` is the id of the other tabs' sender or receiver. */
export type TabMessage =
  /** The sender is the new leader. Other tabs then send their subscriptions. */
  | { readonly kind: "leader" }
  /** The sender is hidden, and asks a visible tab to become the leader. */
  | { readonly kind: "hidden" }
  | { readonly kind: "visible" }
  /** Asks the leader to retry waiting subscriptions immediately. */
  | { readonly kind: "wake" }
  | FollowRequest
  | { readonly kind: "remove"; readonly tab: string; readonly key: string }
  /** An event from the leader for a subscription of `tab`. */
  | {
    readonly kind: "event";
    readonly tab: string;
    readonly key: string;
    /** The number of the tab's request to which the event belongs. */
    readonly asked: number;
    readonly message: LiveMessage;
  };

/** A subscription that a tab sends to the leader. It replaces an earlier one with the same key. */
export interface FollowRequest {
  readonly kind: "add";
  readonly tab: string;
  readonly key: string;
  readonly path: string;
  readonly token: string | null;
  /** The number of streams that the tab has requested so far, including this one. */
  readonly asked: number;
}

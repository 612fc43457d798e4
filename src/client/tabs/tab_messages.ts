import type { LiveMessage } from "../live/live_messages.ts";

/** A message between the tabs of an origin. `tab` is the id of the sender or the receiver. */
export type TabMessage =
  /** The sender is now the leader. The other tabs respond with their subscriptions. */
  | { readonly kind: "leader" }
  /** The sender is hidden, and asks a visible tab to become the leader. */
  | { readonly kind: "hidden" }
  | { readonly kind: "visible" }
  /** The leader must retry waiting subscriptions immediately. */
  | { readonly kind: "wake" }
  | FollowRequest
  | { readonly kind: "remove"; readonly tab: string; readonly key: string }
  /** The leader sends an event for a subscription of `tab`. */
  | {
    readonly kind: "event";
    readonly tab: string;
    readonly key: string;
    /** The number of the request to which the event belongs. */
    readonly asked: number;
    readonly message: LiveMessage;
  };

/** A request of a tab to the leader. A later request with the same key replaces it. */
export interface FollowRequest {
  readonly kind: "add";
  readonly tab: string;
  readonly key: string;
  readonly path: string;
  readonly token: string | null;
  /** The number of streams that the tab has requested, including this request. */
  readonly asked: number;
}

import type { LiveMessage } from "../live/live_messages.ts";

/** A message between the tabs of an origin; `tab` is the id of a tab. */
export type TabMessage =
  /** The sender is the leader now. The other tabs respond with their subscriptions. */
  | { readonly kind: "leader" }
  /** The sender is hidden, and asks for a visible tab. */
  | { readonly kind: "hidden" }
  | { readonly kind: "visible" }
  /** Waiting subscriptions must be tried again immediately. */
  | { readonly kind: "wake" }
  | FollowRequest
  | { readonly kind: "remove"; readonly tab: string; readonly key: string }
  /** An event for a subscription of `tab`, sent by the leader. */
  | {
    readonly kind: "event";
    readonly tab: string;
    readonly key: string;
    /** Number of the request. */
    readonly asked: number;
    readonly message: LiveMessage;
  };

/** A request of a tab to the leader. The last request with a key is valid. */
export interface FollowRequest {
  readonly kind: "add";
  readonly tab: string;
  readonly key: string;
  readonly path: string;
  readonly token: string | null;
  /** Number of streams that the tab had requested, including this one. */
  readonly asked: number;
}

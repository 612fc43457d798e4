import type { LiveMessage } from "../live/live_messages.ts";

/** What the tabs of an origin send each other; `tab` is the id of a tab. */
export type TabMessage =
  /** The sender has the streams now: the others answer with what they follow. */
  | { readonly kind: "leader" }
  /** The sender is hidden, and asks for one that is not. */
  | { readonly kind: "hidden" }
  | { readonly kind: "visible" }
  /** Waiting subscriptions are to be tried again at once. */
  | { readonly kind: "wake" }
  | FollowRequest
  | { readonly kind: "remove"; readonly tab: string; readonly key: string }
  /** For a subscription of `tab`, from the tab that has the streams. */
  | {
    readonly kind: "event";
    readonly tab: string;
    readonly key: string;
    /** That of the request. */
    readonly asked: number;
    readonly message: LiveMessage;
  };

/** What a tab asks of the one that has the streams; the last request with a key counts. */
export interface FollowRequest {
  readonly kind: "add";
  readonly tab: string;
  readonly key: string;
  readonly path: string;
  readonly token: string | null;
  /** How many streams the tab had asked for, this one included. */
  readonly asked: number;
}

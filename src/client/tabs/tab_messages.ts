import type { LiveMessage } from "../live/live_messages.ts";

/** What the tabs of an origin send each other; `tab` is the id of a tab. */
export type TabMessage =
  /** A tab has begun to exist: the one that has the streams answers. */
  | { readonly kind: "hello"; readonly tab: string }
  /** This tab has the streams now: the others answer with what they follow. */
  | { readonly kind: "leader"; readonly tab: string }
  /** The tab that has the streams is hidden. */
  | { readonly kind: "hidden"; readonly tab: string }
  /** This tab is visible. */
  | { readonly kind: "visible"; readonly tab: string }
  | TabRequest
  /** For a subscription of `tab`, from the tab that has the streams. */
  | {
    readonly kind: "event";
    readonly from: string;
    readonly tab: string;
    readonly key: string;
    /** How often the tab had asked for a new stream when this one was asked for. */
    readonly asked: number;
    readonly message: LiveMessage;
  };

/** What a tab asks of the one that has the streams. */
export type TabRequest =
  | {
    readonly kind: "add";
    readonly tab: string;
    readonly key: string;
    readonly path: string;
    readonly token: string | null;
    readonly asked: number;
  }
  | { readonly kind: "remove"; readonly tab: string; readonly key: string };

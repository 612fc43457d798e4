import type { MaybePromise } from "./maybe_promise.ts";
import type { Row } from "../schema/table_info.ts";

/** How rows are shown to a subscriber; handed in by the resource, which alone masks. */
export interface LiveView {
  /** Views of one resource with the same key show rows alike, so that their frames are shared. */
  readonly key: string;
  /** Whole rows → what is shown of them, in the same order. A promise only where it must read. */
  present(rows: readonly Row[]): MaybePromise<readonly Row[]>;
}

/** For those who are shown what was made of rows, and no row. */
export const noRowsShown: LiveView = Object.freeze({ key: "", present: () => [] });

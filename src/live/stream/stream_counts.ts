/** How many streams of one kind a hub has opened and ended since it began, and how many it refused. */
export interface StreamCounts {
  opened: number;
  ended: number;
  refused: number;
}

/** The counts of a hub: of streams of rows, and of streams of groups. */
export interface HubCounts {
  readonly rows: StreamCounts;
  readonly aggregates: StreamCounts;
  /** Those of rows that began at a resume token. */
  resumed: number;
}

/** Counts that begin at none. */
export function noCounts(): HubCounts {
  const none = { opened: 0, ended: 0, refused: 0 };
  return { rows: { ...none }, aggregates: { ...none }, resumed: 0 };
}

/** Counts whether a stream was opened or refused. */
export async function countOpening<T>(counts: StreamCounts, opening: Promise<T>): Promise<T> {
  try {
    const opened = await opening;
    counts.opened++;
    return opened;
  } catch (error) {
    counts.refused++;
    throw error;
  }
}

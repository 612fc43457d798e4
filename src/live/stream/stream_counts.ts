/** The numbers of streams of one kind (rows or aggregates) that were opened, ended, refused. */
export interface StreamCounts {
  opened: number;
  ended: number;
  refused: number;
}

export interface HubCounts {
  readonly rows: StreamCounts;
  readonly aggregates: StreamCounts;
  /** The number of row streams that continued after a resume token. */
  resumed: number;
}

export function noCounts(): HubCounts {
  const none = { opened: 0, ended: 0, refused: 0 };
  return { rows: { ...none }, aggregates: { ...none }, resumed: 0 };
}

/** Counts an attempt to open a stream as opened or refused. */
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

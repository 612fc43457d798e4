export type HubCounts = ReturnType<typeof noCounts>;

export function noCounts() {
  const none = { opened: 0, ended: 0, refused: 0 };
  return { rows: { ...none }, aggregates: { ...none }, resumed: 0 };
}

export async function countOpening<T>(counts: HubCounts["rows"], opening: Promise<T>): Promise<T> {
  try {
    const opened = await opening;
    counts.opened++;
    return opened;
  } catch (error) {
    counts.refused++;
    throw error;
  }
}
